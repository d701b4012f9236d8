//! The ledger's file and the lock beside it: one process at a time.
//!
//! The lock is advisory and belongs to the open file, so the kernel lets go of it when the holder
//! dies, however it dies. The lock file itself stays; what counts is the lock, not the file.

#![expect(
    clippy::disallowed_types,
    reason = "the ledger owns its file: SQLite opens it, this creates it private and locks it"
)]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::LedgerError;

/// Readable and writable by the owner alone; SQLite gives its side files the same mode.
const PRIVATE: u32 = 0o600;

/// Held while the ledger is open. Dropping it lets the next one in.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process being started at this moment has a copy of the handle
        // until its exec, and would hold the lock for us.
        let _ = self.file.unlock();
    }
}

/// Locks the ledger at `path` and creates its file where there is none, with mode 0600.
///
/// # Errors
/// [`LedgerError::InUse`] when somebody holds it, [`LedgerError::File`] for everything else.
pub(super) fn take(path: &Path) -> Result<Lock, LedgerError> {
    let file_error = |source| LedgerError::File { path: path.to_owned(), source };
    let mut file = private(&lock_path(path)).map_err(file_error)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(LedgerError::InUse { path: path.to_owned(), process: read_holder(&file) });
        }
        Err(TryLockError::Error(source)) => return Err(file_error(source)),
    }
    write_holder(&mut file).map_err(file_error)?;
    // Before SQLite does, which would create it with the mode the process happens to have.
    private(path).map_err(file_error)?;
    Ok(Lock { file })
}

/// Who holds the ledger at `path`: None when nobody does, `Some(None)` for one who did not say.
///
/// # Errors
/// [`LedgerError::File`] when the lock cannot be looked at.
pub(super) fn holder_of(path: &Path) -> Result<Option<Option<u32>>, LedgerError> {
    let file_error = |source| LedgerError::File { path: path.to_owned(), source };
    let file = match File::open(lock_path(path)) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(file_error)?,
    };
    // Shared, and let go of at once: nobody who only looks is taken for a holder.
    match file.try_lock_shared() {
        Ok(()) => file.unlock().map(|()| None).map_err(file_error),
        Err(TryLockError::WouldBlock) => Ok(Some(read_holder(&file))),
        Err(TryLockError::Error(source)) => Err(file_error(source)),
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(PRIVATE).open(path)
}

fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// For the other one's error message only; nobody acts on it.
fn write_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

fn read_holder(mut file: &File) -> Option<u32> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
