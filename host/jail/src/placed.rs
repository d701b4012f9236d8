//! A person's configuration on the disk: files that are put in place, or taken away, in one step.
//!
//! Each path is one that a person named, or lies beside it; no path of a model ever comes here, and
//! no server calls it: `harness plugin` alone does. Whoever watches a file sees all of it or none.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, PermissionsExt};

use crate::handles;
use crate::private::ensure_directory;

/// Permission bits of a file that was not there before: a configuration may hold a key.
const FILE_MODE: u32 = 0o600;

/// Makes `bytes` the whole content of the file at `path`, in one step and synced. Its directory is
/// made when it is missing, for this user alone. A file that is there keeps its permissions; where
/// a link leads is what is replaced.
///
/// # Errors
/// What the system says; `InvalidInput` when `path` names no file.
pub fn put_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let real = crate::look::real_path(path);
    let (parent, name) = parts(&real)?;
    let directory = Dir::open_ambient_dir(ensure_directory(parent)?, ambient_authority())?;
    let before = handles::stat_at(&directory, name).ok();
    let temporary = format!(".{}-{}.new", name.to_string_lossy(), std::process::id());
    let temporary = OsStr::new(&temporary);
    let mut file = handles::create_file_at(&directory, temporary, FILE_MODE)?;
    let mode = cap_std::fs::Permissions::from_mode(before.map_or(FILE_MODE, |stat| stat.mode));
    let written = file
        .write_all(bytes)
        .and_then(|()| file.set_permissions(mode))
        .and_then(|()| file.sync_all())
        .and_then(|()| handles::replace_at(&directory, temporary, name));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = handles::remove_file_at(&directory, temporary);
    }
    written
}

/// Takes the file at `path` away; one that is missing is fine. A link is taken away, not what it
/// leads to.
///
/// # Errors
/// What the system says; `InvalidInput` when `path` names no file.
pub fn take_file(path: &Path) -> io::Result<()> {
    let (parent, name) = parts(path)?;
    let taken = Dir::open_ambient_dir(parent, ambient_authority())
        .and_then(|directory| handles::remove_file_at(&directory, name));
    match taken {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(()),
        taken => taken,
    }
}

fn parts(path: &Path) -> io::Result<(&Path, &OsStr)> {
    let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "not the path of a file");
    path.parent().zip(path.file_name()).ok_or_else(no_file)
}
