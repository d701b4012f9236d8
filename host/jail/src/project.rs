//! A plugin author's project on the disk: made once, and given what was built of it.
//!
//! Its files are ordinary ones, open to whoever the system's settings let in. Nothing that is there
//! is overwritten but the component that was built before.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::handles;

/// Permission bits of what was built.
const FILE_MODE: u32 = 0o644;

/// Makes the directory `name` in `parent`, with files in it: each a relative path and its content.
/// When that fails half way, nothing stays of it.
///
/// # Errors
/// `AlreadyExists` when anything is at that name; otherwise what the system says.
pub fn make_project<'a>(
    parent: &Path,
    name: &str,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> io::Result<()> {
    let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
    parent.create_dir(name)?;
    let made = parent.open_dir(name).and_then(|project| {
        files.into_iter().try_for_each(|(path, bytes)| put_new(&project, path, bytes))
    });
    if made.is_err() {
        // The first error is the one to tell.
        let _ = parent.remove_dir_all(name);
    }
    made
}

/// Makes `bytes` the whole content of the file `name` in `directory`, in one step.
///
/// # Errors
/// What the system says; `InvalidInput` when `name` is not a single name.
pub fn put_built(directory: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let directory = Dir::open_ambient_dir(directory, ambient_authority())?;
    let temporary = format!(".{name}-{}", std::process::id());
    let temporary = OsStr::new(&temporary);
    let mut file = handles::create_file_at(&directory, temporary, FILE_MODE)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| handles::replace_at(&directory, temporary, OsStr::new(name)));
    if written.is_err() {
        let _ = handles::remove_file_at(&directory, temporary);
    }
    written
}

fn put_new(project: &Dir, path: &str, bytes: &[u8]) -> io::Result<()> {
    if let Some((folder, _)) = path.rsplit_once('/') {
        project.create_dir_all(folder)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    project.open_with(path, &options)?.write_all(bytes)
}
