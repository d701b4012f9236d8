//! Whether a tree is still what it was, told by one digest.
//!
//! It covers paths, kinds, sizes and times of change of everything in the workspace, ignored or
//! not. Of `.git` it covers what a command like commit or checkout moves: `HEAD`, `index` and the
//! refs. It never reads a file.

use std::ffi::OsStr;
use std::fmt;
use std::time::Instant;

use cap_std::fs::Dir;

use crate::entry::EntryKind;
use crate::handles::{self, Stat};
use crate::jail::Jail;
use crate::search::walk::{Ignored, Start, walk};

/// The digest of a tree; equal ones mean that nothing was changed in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from(self.0).to_hex())
    }
}

impl Jail {
    /// The fingerprint of the whole workspace; `None` when it was not finished by the deadline.
    pub fn fingerprint(&self, deadline: Instant) -> Option<Fingerprint> {
        let mut lines = Vec::new();
        gather(self.dir.try_clone().ok()?, "", deadline, &mut lines)?;
        if let Ok(git) = handles::open_dir_at(&self.dir, OsStr::new(".git")) {
            for name in ["HEAD", "index", "packed-refs"] {
                if let Ok(stat) = handles::stat_at(&git, OsStr::new(name)) {
                    lines.push(line(&format!(".git/{name}"), &stat));
                }
            }
            if let Ok(refs) = handles::open_dir_at(&git, OsStr::new("refs")) {
                gather(refs, ".git/refs", deadline, &mut lines)?;
            }
        }
        lines.sort_unstable();
        let mut hasher = blake3::Hasher::new();
        for line in lines {
            hasher.update(line.as_bytes());
            hasher.update(b"\0");
        }
        Some(Fingerprint(hasher.finalize().into()))
    }
}

fn gather(dir: Dir, path: &str, deadline: Instant, lines: &mut Vec<String>) -> Option<()> {
    let start = Start {
        dir,
        shown: path.to_owned(),
        real: path.to_owned(),
        root: None,
        is_ignored: false,
        ignored: Ignored::Enter,
    };
    let (gathered, is_complete) =
        walk(start, deadline, Vec::new, |own: &mut Vec<String>, found| {
            if let Ok(stat) = handles::stat_at(found.dir, found.name) {
                own.push(line(&found.path, &stat));
            }
        });
    lines.extend(gathered.into_iter().flatten());
    is_complete.then_some(())
}

/// A directory's size and time say nothing that its entries do not say.
fn line(path: &str, stat: &Stat) -> String {
    let kind = stat.kind;
    if kind == EntryKind::Directory {
        return format!("{path}\0{kind:?}");
    }
    let (seconds, nanoseconds) = stat.modified;
    format!("{path}\0{kind:?}\0{}\0{seconds}.{nanoseconds}\0{:o}", stat.size_bytes, stat.mode)
}
