//! A file that grows to a limit, and then makes way for a new one.
//!
//! One predecessor is kept beside it, so that what was said last is there for some time. For logs of
//! the server's own; no path of a model ever comes here.

use std::ffi::OsStr;
use std::io::{self, Write};

use cap_std::fs::{File, OpenOptions, OpenOptionsExt};

use super::{FILE_MODE, PrivateDir};
use crate::handles;

/// An open file that is appended to.
#[derive(Debug)]
pub struct RollingFile {
    directory: PrivateDir,
    name: String,
    predecessor: String,
    max_bytes: u64,
    file: File,
    bytes: u64,
}

impl RollingFile {
    /// Opens the file `name` in `directory`, making it when there is none. `predecessor` is its name
    /// once it was `max_bytes` long.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` when one of the names is not a single name.
    pub fn open(
        directory: PrivateDir,
        name: &str,
        predecessor: &str,
        max_bytes: u64,
    ) -> io::Result<RollingFile> {
        let (file, bytes) = open(&directory, name)?;
        let (name, predecessor) = (name.to_owned(), predecessor.to_owned());
        Ok(RollingFile { directory, name, predecessor, max_bytes, file, bytes })
    }

    /// Appends `bytes` whole, in this file or in a new one.
    ///
    /// # Errors
    /// What the system says; a part may have been written then.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes > 0 && self.bytes + bytes.len() as u64 > self.max_bytes {
            let (name, predecessor) = (OsStr::new(&self.name), OsStr::new(&self.predecessor));
            handles::replace_at(&self.directory.dir, name, predecessor)?;
            (self.file, self.bytes) = open(&self.directory, &self.name)?;
        }
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

fn open(directory: &PrivateDir, name: &str) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(FILE_MODE).custom_flags(nix::libc::O_NOFOLLOW);
    let file = directory.dir.open_with(name, &options)?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_capped;

    #[test]
    fn the_last_of_what_was_said_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("logs");
        let open = || {
            let directory = PrivateDir::open(&place).unwrap();
            RollingFile::open(directory, "a.log", "a.old", 10).unwrap()
        };
        let check = |file: &mut RollingFile, said: &str, now: &str, old: Option<&str>| {
            file.append(said.as_bytes()).unwrap();
            let read = |name: &str| {
                let bytes = read_capped(&place.join(name), 100).ok()?;
                Some(String::from_utf8(bytes).unwrap())
            };
            assert_eq!((read("a.log").as_deref(), read("a.old").as_deref()), (Some(now), old));
        };
        let mut file = open();
        check(&mut file, "one\n", "one\n", None);
        check(&mut file, "two\n", "one\ntwo\n", None);
        check(&mut file, "three\n", "three\n", Some("one\ntwo\n"));
        // What is longer than the limit is written whole.
        check(&mut open(), "a long line\n", "a long line\n", Some("three\n"));
        check(&mut open(), "x\n", "x\n", Some("a long line\n"));
    }
}
