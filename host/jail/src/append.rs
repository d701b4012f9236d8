//! A file of the operator's that only ever grows.
//!
//! For records beside the ledger. No path of a model ever comes here.

use std::io::{self, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{File, OpenOptions, OpenOptionsExt};

/// An open file that is only appended to.
#[derive(Debug)]
pub struct AppendFile(File);

impl AppendFile {
    /// Opens the file, making it (mode 0600) when there is none; its directory must exist.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<AppendFile> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        File::open_ambient_with(path, &options, ambient_authority()).map(AppendFile)
    }

    /// Appends `bytes`, in one write where the system takes them whole, as it does for files.
    ///
    /// # Errors
    /// What the system says; a part may have been written then.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }
}
