//! A look at the operator's own paths: could a server work with them?
//!
//! Changes nothing and starts nothing. What it says may be over at once, so nobody relies on it:
//! it is told to a person. No path of a model ever comes here.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, statvfs};

use crate::private::PrivateDir;

/// What was seen of a directory of the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Whether it is there.
    pub exists: bool,
    /// Whether files can be made in it, or it can be made itself.
    pub is_writable: bool,
    /// Bytes that its file system has left for this user.
    pub free_bytes: u64,
}

/// Looks at a directory that belongs to the server, or at where it would be made.
///
/// # Errors
/// `PermissionDenied` when another user owns it or may enter it; otherwise what the system says.
pub fn look_at_directory(path: &Path) -> io::Result<Look> {
    let exists = match PrivateDir::existing(path) {
        Ok(_) => true,
        Err(err) if err.kind() == io::ErrorKind::NotFound => false,
        Err(err) => return Err(err),
    };
    // The parents are made too, so the nearest one that is there decides.
    let there = path.ancestors().find(|place| place.exists()).unwrap_or(path);
    let is_writable = access(there, Access::WRITE_OK | Access::EXEC_OK).is_ok();
    let system = statvfs(there)?;
    Ok(Look { exists, is_writable, free_bytes: system.f_bavail.saturating_mul(system.f_frsize) })
}

/// By what a file is seen to have changed, without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(u64, u64, u64, u64, u64);

impl Stamp {
    /// Of the file that `path` leads to; None where there is none that can be looked at.
    pub fn of(path: &Path) -> Option<Stamp> {
        let stat = rustix::fs::stat(path).ok()?;
        let moment = |seconds: i64, nanoseconds: u64| {
            u64::try_from(seconds).unwrap_or_default() * 1_000_000_000 + nanoseconds
        };
        let modified = moment(stat.st_mtime, stat.st_mtime_nsec);
        let changed = moment(stat.st_ctime, stat.st_ctime_nsec);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Some(Stamp(stat.st_dev, stat.st_ino, size, modified, changed))
    }
}

/// The canonical form of a path of the operator's; as it stands where it has none.
pub fn real_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// What is in a directory of the operator's, by name, be it a file or not; nothing where there is no
/// directory.
///
/// # Errors
/// What the system says.
#[expect(
    clippy::disallowed_methods,
    reason = "files belong to this crate, and the directory is the operator's"
)]
pub fn files_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(directory) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    files.sort();
    Ok(files)
}

/// Every file below a directory of the operator's, with how it looks now, by path. What `is_wanted`
/// refuses by its name is left out, a directory with all that is in it; links are not followed, and
/// what cannot be looked at is left out too.
#[expect(
    clippy::disallowed_methods,
    reason = "files belong to this crate, and the directory is the operator's"
)]
pub fn stamps_below(
    directory: &Path,
    is_wanted: &impl Fn(&str) -> bool,
) -> Vec<(PathBuf, Option<Stamp>)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        match entry.file_name().to_str().is_some_and(is_wanted) {
            true if kind.is_dir() => found.extend(stamps_below(&path, is_wanted)),
            true if kind.is_file() => found.push((path.clone(), Stamp::of(&path))),
            true | false => {}
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Where a program lies in the directories of `path`, a `PATH`.
pub fn find_program(name: &str, path: &str) -> Option<PathBuf> {
    let directories = path.split(':').filter(|directory| directory.starts_with('/'));
    let mut places = directories.map(|directory| Path::new(directory).join(name));
    places.find(|place| place.is_file() && access(place.as_path(), Access::EXEC_OK).is_ok())
}
