//! A file of the operator's that only ever grows.
//!
//! For records beside the ledger. No path of a model ever comes here.

use std::io::{self, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{File, OpenOptions, OpenOptionsExt};

use crate::handles;

/// An open file that is only appended to.
#[derive(Debug)]
pub struct AppendFile(File);

impl AppendFile {
    /// Opens the file, making it (mode 0600) when there is none; its directory must exist.
    ///
    /// # Errors
    /// `InvalidInput` for a FIFO and a socket, which would hold the writer up; otherwise what the
    /// system says.
    pub fn open(path: &Path) -> io::Result<AppendFile> {
        let mut options = OpenOptions::new();
        // A FIFO that nobody reads would never open.
        options.append(true).create(true).mode(0o600).custom_flags(nix::libc::O_NONBLOCK);
        let file = match File::open_ambient_with(path, &options, ambient_authority()) {
            Err(err) if err.raw_os_error() == Some(nix::libc::ENXIO) => return Err(no_file()),
            opened => opened?,
        };
        let stat = handles::stat_of(&file)?;
        match stat.other {
            "a FIFO" | "a socket" => Err(no_file()),
            _ => Ok(AppendFile(file)),
        }
    }

    /// Appends `bytes`, in one write where the system takes them whole, as it does for files.
    ///
    /// # Errors
    /// What the system says; a part may have been written then.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }
}

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file, got a FIFO or a socket")
}
