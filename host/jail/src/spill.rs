//! Outputs too long to show, kept in a directory of the server's own.
//!
//! The model reads them under `.harness/spill/`, a view that is read-only and shows in no search.
//! Files are only ever added here, each with a number of its own; a name never comes back.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};

use crate::fault::{Fault, FaultKind};
use crate::handles;
use crate::jail::Jail;
use crate::path::SPILL_VIEW;

/// The longest hint that is taken into a file name, in bytes.
const MAX_HINT_BYTES: usize = 40;

/// An open spill directory.
#[derive(Debug)]
pub(crate) struct SpillDir {
    pub(crate) dir: Dir,
    /// The number the next file tries first.
    next: Arc<AtomicU32>,
}

impl SpillDir {
    pub(crate) fn try_clone(&self) -> io::Result<SpillDir> {
        Ok(SpillDir { dir: self.dir.try_clone()?, next: Arc::clone(&self.next) })
    }

    pub(crate) fn open(path: &Path) -> io::Result<SpillDir> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let mut highest = 0;
        for entry in dir.entries()? {
            let name = entry?.file_name();
            let digits = name.to_str().and_then(|name| name.split('-').next());
            if let Some(number) = digits.and_then(|digits| digits.parse::<u32>().ok()) {
                highest = highest.max(number);
            }
        }
        Ok(SpillDir { dir, next: Arc::new(AtomicU32::new(highest.saturating_add(1))) })
    }

    /// Another handle on the same directory that counts on together with this one.
    pub(crate) fn share(&self) -> io::Result<SpillDir> {
        Ok(SpillDir { dir: self.dir.try_clone()?, next: Arc::clone(&self.next) })
    }

    /// Creates the next file. Gives the path in the view, and the file to write to.
    pub(crate) fn create(&self, name_hint: &str) -> io::Result<(String, File)> {
        let hint = file_name_part(name_hint);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{number:03}-{hint}.txt");
            match handles::create_file_at(&self.dir, OsStr::new(&name), 0o600) {
                Ok(file) => return Ok((format!("{SPILL_VIEW}/{name}"), file)),
                // Another jail on the same directory took the number.
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                Err(err) => return Err(err),
            }
        }
    }
}

impl Jail {
    /// Keeps `bytes` in a new file and gives the path under which the model can read it,
    /// `.harness/spill/NNN-hint.txt`.
    ///
    /// # Errors
    /// `unavailable` when this jail has no spill directory or the disk is full.
    pub fn spill(&self, name_hint: &str, bytes: &[u8]) -> Result<String, Fault> {
        let Some(spill_dir) = &self.spill_dir else {
            return Err(Fault::new(FaultKind::Unavailable, "this workspace keeps no long outputs"));
        };
        let failed = |err| Fault::from_io("keep a long output in", &SPILL_VIEW, &err);
        let (path, mut file) = spill_dir.create(name_hint).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        Ok(path)
    }
}

/// Letters, digits and single dashes of the hint, in lower case.
fn file_name_part(hint: &str) -> String {
    let mut part = String::new();
    for c in hint.chars() {
        if part.len() >= MAX_HINT_BYTES {
            break;
        }
        if c.is_ascii_alphanumeric() {
            part.push(c.to_ascii_lowercase());
        } else if !part.ends_with('-') && !part.is_empty() {
            part.push('-');
        }
    }
    let part = part.trim_end_matches('-');
    if part.is_empty() { "output".to_owned() } else { part.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (hint, expected) in [
            ("bash", "bash"),
            ("../../etc/passwd", "etc-passwd"),
            ("Cargo Test --all", "cargo-test-all"),
            ("", "output"),
            ("\0\n", "output"),
        ] {
            assert_eq!(file_name_part(hint), expected, "{hint:?}");
        }
    }
}
