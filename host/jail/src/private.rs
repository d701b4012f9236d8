//! Directories of the server's own, and files that configure it.
//!
//! A [`PrivateDir`] belongs to the user the server runs as and is closed to everyone else. It has
//! nothing to do with a workspace: no path of a model ever comes here.

mod rolling;
mod stage;

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, File};
use nix::unistd::geteuid;

use crate::handles;

pub use rolling::RollingFile;

/// Permission bits of the directory.
const DIR_MODE: u32 = 0o700;

/// Permission bits that let others in.
const OTHERS: u32 = 0o077;

/// Permission bits of files in it.
const FILE_MODE: u32 = 0o600;

/// A directory that only the server's user can enter.
#[derive(Debug)]
pub struct PrivateDir {
    dir: Dir,
    path: PathBuf,
}

impl PrivateDir {
    /// Opens `path`, creating it and its parents when missing. One that is there is never changed.
    ///
    /// # Errors
    /// `PermissionDenied` when another user owns it or may enter it; otherwise what the system says.
    pub fn open(path: &Path) -> io::Result<PrivateDir> {
        PrivateDir::check(open_or_create(path)?, path.to_owned())
    }

    /// Opens one that is there; makes nothing.
    ///
    /// # Errors
    /// As [`PrivateDir::open`], and `NotFound`.
    pub fn existing(path: &Path) -> io::Result<PrivateDir> {
        PrivateDir::check(Dir::open_ambient_dir(path, ambient_authority())?, path.to_owned())
    }

    /// Opens the directory `name` in this one, creating it when missing.
    ///
    /// # Errors
    /// As [`PrivateDir::open`]; `InvalidInput` when `name` is not a single name.
    pub fn subdirectory(&self, name: &str) -> io::Result<PrivateDir> {
        let os_name = OsStr::new(name);
        let dir = match handles::open_dir_at(&self.dir, os_name) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                create(&self.dir, os_name)?;
                handles::open_dir_at(&self.dir, os_name)?
            }
            opened => opened?,
        };
        PrivateDir::check(dir, self.path.join(name))
    }

    /// The handle alone.
    pub(crate) fn into_dir(self) -> Dir {
        self.dir
    }

    /// The path on the host, for what has to be opened by path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes `bytes` the whole content of the file `name`, in one step and synced.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` when `name` is not a single name.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".new-{}-{number}", std::process::id());
        let temporary = OsStr::new(&temporary);
        let mut file = handles::create_file_at(&self.dir, temporary, FILE_MODE)?;
        let written = file
            .write_all(bytes)
            .and_then(|()| file.sync_all())
            .and_then(|()| handles::replace_at(&self.dir, temporary, OsStr::new(name)));
        if written.is_err() {
            // The first error is the one to tell; a name that stays harms nobody.
            let _ = handles::remove_file_at(&self.dir, temporary);
        }
        written
    }

    /// What is in the file `name`.
    ///
    /// # Errors
    /// `FileTooLarge` beyond `max_bytes`, `InvalidInput` for what is no regular file or no single
    /// name, otherwise what the system says.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Vec<u8>> {
        read_whole(handles::open_file_at(&self.dir, OsStr::new(name))?, max_bytes)
    }

    /// The files in it, with when each was last changed, in milliseconds since 1970. Names that are
    /// not UTF-8 are left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn files(&self) -> io::Result<Vec<(String, u64)>> {
        found_in(&self.dir, crate::entry::EntryKind::File)
    }

    /// Removes the file or the whole tree `name`; one that is missing is fine. Links are removed,
    /// not followed.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` when `name` is not a single name.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let os_name = OsStr::new(name);
        let removed = match handles::stat_at(&self.dir, os_name) {
            Ok(stat) if stat.kind == crate::entry::EntryKind::Directory => {
                self.dir.remove_dir_all(os_name)
            }
            Ok(_) => handles::remove_file_at(&self.dir, os_name),
            Err(err) => Err(err),
        };
        match removed {
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    /// Removes the directory with all that is in it.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_tree(self) -> io::Result<()> {
        self.dir.remove_open_dir_all()
    }

    fn check(dir: Dir, path: PathBuf) -> io::Result<PrivateDir> {
        let stat = handles::stat_of(&dir)?;
        if stat.uid != geteuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("directory `{}` belongs to another user", path.display()),
            ));
        }
        if stat.mode & OTHERS != 0 {
            let (path, mode) = (path.display(), stat.mode & 0o777);
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!("directory `{path}` is open to other users (mode {mode:o}), expected 700"),
            ));
        }
        Ok(PrivateDir { dir, path })
    }
}

/// Creates `path` and its parents when missing, for this user alone; one that is there is left as
/// it is. Returns its canonical form.
///
/// # Errors
/// What the system says.
pub fn ensure_directory(path: &Path) -> io::Result<PathBuf> {
    open_or_create(path)?;
    path.canonicalize()
}

/// Removes the directory `name` in `parent` with all that is in it; one that is missing is fine.
/// Links are removed, not followed.
///
/// # Errors
/// What the system says; `InvalidInput` when `name` is not a single name.
pub fn remove_directory(parent: &Path, name: &str) -> io::Result<()> {
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    let name = OsStr::new(name);
    match handles::stat_at(&parent, name) {
        Ok(stat) if stat.kind == crate::entry::EntryKind::Directory => parent.remove_dir_all(name),
        Ok(_) => Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory")),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(err) => Err(err),
    }
}

/// The directories in `parent`, with when each was last changed, in milliseconds since 1970. Names
/// that are not UTF-8 are left out.
///
/// # Errors
/// What the system says.
pub fn directories_in(parent: &Path) -> io::Result<Vec<(String, u64)>> {
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    found_in(&parent, crate::entry::EntryKind::Directory)
}

fn found_in(parent: &Dir, kind: crate::entry::EntryKind) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for entry in parent.entries()? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        let Ok(stat) = handles::stat_at(parent, OsStr::new(&name)) else { continue };
        if stat.kind == kind {
            found.push((name, stat.modified_ms()));
        }
    }
    Ok(found)
}

fn open_or_create(path: &Path) -> io::Result<Dir> {
    match Dir::open_ambient_dir(path, ambient_authority()) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Err(err);
            };
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            Dir::create_ambient_dir_all(parent, ambient_authority())?;
            create(&Dir::open_ambient_dir(parent, ambient_authority())?, name)?;
            Dir::open_ambient_dir(path, ambient_authority())
        }
        opened => opened,
    }
}

/// Creates a directory; one that is there already is fine.
fn create(parent: &Dir, name: &OsStr) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.mode(DIR_MODE);
    match parent.create_dir_with(name, &builder) {
        Err(err) if err.kind() != io::ErrorKind::AlreadyExists => Err(err),
        _ => Ok(()),
    }
}

/// Reads a file of the operator's, a configuration or a plugin, by its host path.
///
/// # Errors
/// `FileTooLarge` beyond `max_bytes`, `InvalidInput` for what is no regular file, otherwise what
/// the system says.
pub fn read_capped(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    use cap_std::fs::{OpenOptions, OpenOptionsExt};
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(nix::libc::O_NONBLOCK);
    read_whole(File::open_ambient_with(path, &options, ambient_authority())?, max_bytes)
}

fn read_whole(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    if handles::stat_of(&file)?.kind != crate::entry::EntryKind::File {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file is larger than the limit of {max_bytes} bytes"),
        ));
    }
    Ok(bytes)
}
