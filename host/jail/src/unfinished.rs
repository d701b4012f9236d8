//! Writes that began and did not end, remembered in a directory of the server's own.
//!
//! What a kill leaves of a write could lie anywhere in a workspace, and nobody looks through a whole
//! tree for it. So a write leaves a record here first: where its temporary file will be. Its writer
//! holds a lock on the record, which ends with the process, so that whoever opens the workspace next
//! can tell what is left over from what is still being written. Nothing here is needed for a write
//! to be right: without records, a kill leaves a file that shows nowhere.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::entry::EntryKind;
use crate::handles;
use crate::jail::Jail;
use crate::private::PrivateDir;

/// How the names of temporary files start; such names show nowhere.
const TEMPORARY_PREFIX: &str = ".harness-tmp-";

/// The most bytes of a record: two paths fit.
const MAX_RECORD_BYTES: u64 = 16 * 1024;

/// Stands after each part of a record. One that does not end so was cut off, before there was a
/// temporary file.
const END: char = '\0';

/// A name for a temporary file that no other process has used, and none of an earlier start.
pub(crate) fn temporary_name() -> String {
    static START: LazyLock<u128> = LazyLock::new(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
    });
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{TEMPORARY_PREFIX}{}-{:x}-{number}", std::process::id(), *START)
}

/// Whether a name is one of our temporary files.
pub(crate) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

/// The records of one server, by their directory's path: a handle for each open workspace would be
/// too many.
#[derive(Debug, Clone)]
pub(crate) struct Unfinished {
    path: PathBuf,
}

/// The record of one write, gone when this is dropped.
pub(crate) struct Record {
    dir: Dir,
    name: String,
    /// Holds the lock.
    file: File,
}

impl Jail {
    /// The same workspace with its writes remembered in `own`, a directory that all workspaces of a
    /// server share. What earlier writes into this workspace left over is removed.
    #[must_use]
    pub fn remembering_writes(mut self, own: PrivateDir) -> Jail {
        let unfinished = Unfinished { path: own.path().to_owned() };
        // What cannot be swept now is swept by whoever opens the workspace next.
        let _ = sweep(&own.into_dir(), &self.dir, self.root());
        self.unfinished = Some(unfinished);
        self
    }
}

impl Unfinished {
    /// Records that `temporary` is about to be made in `directory`, a path of the host.
    pub(crate) fn record(&self, directory: &Path, temporary: &str) -> io::Result<Record> {
        let Some(directory) = directory.to_str() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not UTF-8"));
        };
        let dir = Dir::open_ambient_dir(&self.path, ambient_authority())?;
        loop {
            let name = temporary_name();
            let file = handles::create_file_at(&dir, OsStr::new(&name), 0o600)?;
            let is_locked = lock(&file);
            // A sweep that came between took it for left over.
            if is_locked.as_ref().is_ok_and(|is_locked| !is_locked)
                || handles::stat_of(&file)?.links == 0
            {
                continue;
            }
            let mut record = Record { dir, name, file };
            is_locked?;
            record.file.write_all(format!("{directory}{END}{temporary}{END}").as_bytes())?;
            return Ok(record);
        }
    }
}

/// Removes what dead writers left in the workspace that is open as `root`.
fn sweep(own: &Dir, root: &Dir, root_path: &Path) -> io::Result<()> {
    for entry in own.entries()? {
        let name = entry?.file_name();
        let Ok(file) = handles::open_file_at(own, &name) else { continue };
        if !lock(&file).unwrap_or(false) {
            continue;
        }
        let record = handles::read_up_to(&file, MAX_RECORD_BYTES, 0)?;
        let record = String::from_utf8_lossy(&record);
        let parts: Vec<&str> = record.split(END).collect();
        if let [directory, temporary, ""] = parts[..] {
            let Ok(inside) = Path::new(directory).strip_prefix(root_path) else { continue };
            remove(root, inside, OsStr::new(temporary));
        }
        handles::remove_file_at(own, &name)?;
    }
    Ok(())
}

/// Locks a record; false when another has it. The lock ends when the last handle on the file is
/// closed, by whatever end of the process.
fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(err) => Err(err.into()),
    }
}

/// Follows no link; what was moved or removed meanwhile needs no removing here.
fn remove(root: &Dir, inside: &Path, temporary: &OsStr) {
    let Ok(mut dir) = root.try_clone() else { return };
    for part in inside {
        let Ok(next) = handles::enter_at(&dir, part) else { return };
        dir = next;
    }
    let is_file = |stat: handles::Stat| stat.kind == EntryKind::File;
    if is_temporary(temporary) && handles::stat_at(&dir, temporary).is_ok_and(is_file) {
        // It stays when the directory became read-only, and then it is nothing we may remove.
        let _ = handles::remove_file_at(&dir, temporary);
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        let _ = handles::remove_file_at(&self.dir, OsStr::new(&self.name));
    }
}
