//! Every operation of the jail as one value, and what lies outside as another: an attack is then a
//! path, and its test is that what lies outside is as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use harness_jail::{Basis, Fault, GlobQuery, GrepMode, GrepQuery, JailPath, Replacement};

use crate::workspace::{Workspace, later};

/// What stands in the files outside that nothing may show.
pub(crate) const SECRET: &str = "the secret from outside";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Read,
    Stat,
    Entries,
    MarkShown,
    Write,
    WriteNew,
    Patch,
    MakeDirectory,
    RenameFrom,
    RenameTo,
    Remove,
    Glob,
    GlobPattern,
    Grep,
}

pub(crate) const ALL: [Operation; 14] = [
    Operation::Read,
    Operation::Stat,
    Operation::Entries,
    Operation::MarkShown,
    Operation::Write,
    Operation::WriteNew,
    Operation::Patch,
    Operation::MakeDirectory,
    Operation::RenameFrom,
    Operation::RenameTo,
    Operation::Remove,
    Operation::Glob,
    Operation::GlobPattern,
    Operation::Grep,
];

impl Operation {
    /// Does it at a path, and gives everything that was told, as one text.
    pub(crate) fn at(self, w: &Workspace, raw: &str) -> Result<String, Fault> {
        let path = w.jail.parse(raw)?;
        let seen = &w.seen;
        let told = match self {
            Operation::Read => {
                let content = w.jail.read(&path, 0, 0)?;
                format!("{} {}", String::from_utf8_lossy(&content.bytes), content.size_bytes)
            }
            Operation::Stat => format!("{:?}", w.jail.stat(&path)?),
            Operation::Entries => format!("{:?}", w.jail.entries(&path)?),
            Operation::MarkShown => {
                w.jail.mark_shown(&path, "b3:0", 1, 1, seen)?;
                String::new()
            }
            Operation::Write => {
                format!("{:?}", w.jail.write(&path, b"written", &read_basis(w, &path), seen)?)
            }
            Operation::WriteNew => {
                format!("{:?}", w.jail.write(&path, b"new", &Basis::Absent, seen)?)
            }
            Operation::Patch => {
                let insert = [Replacement { offset: 0, remove: 0, insert: b"patched".to_vec() }];
                format!("{:?}", w.jail.patch(&path, &insert, &read_basis(w, &path), seen)?)
            }
            Operation::MakeDirectory => {
                w.jail.make_directory(&path)?;
                String::new()
            }
            Operation::RenameFrom => {
                let new = w.path("moved-here");
                told(w.jail.rename(&path, &new, &read_basis(w, &path), seen)?)
            }
            Operation::RenameTo => {
                w.put("to-move", "moved");
                let old = w.path("to-move");
                told(w.jail.rename(&old, &path, &read_basis(w, &old), seen)?)
            }
            Operation::Remove => told(w.jail.remove(&path, &read_basis(w, &path), seen)?),
            Operation::Glob => format!("{:?}", w.jail.glob(&glob(Some(path), "**"), later())?),
            Operation::GlobPattern => format!("{:?}", w.jail.glob(&glob(None, raw), later())?),
            Operation::Grep => {
                let query = GrepQuery {
                    pattern: ".".into(),
                    literal: false,
                    ignore_case: false,
                    multiline: false,
                    root: Some(path),
                    files: None,
                    mode: GrepMode::Lines,
                    lines_before: 0,
                    lines_after: 0,
                    include_ignored: true,
                    offset: 0,
                    limit: 100,
                };
                format!("{:?}", w.jail.grep(&query, later())?)
            }
        };
        Ok(told)
    }
}

fn glob(root: Option<JailPath>, pattern: &str) -> GlobQuery {
    GlobQuery { pattern: pattern.into(), root, include_ignored: true, offset: 0, limit: 100 }
}

fn told(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// As if the caller had read what is there.
fn read_basis(w: &Workspace, path: &JailPath) -> Basis {
    Basis::Read(w.jail.read(path, 0, 0).map(|content| content.version).unwrap_or_default())
}

/// What can be told of one thing outside. A name of it that lies inside may go, so neither the
/// count of its names counts nor when that last changed.
type Seen = (u32, u32, u32, u64, u64, i64, i64, Vec<u8>);

/// All that lies in a directory but for what is below `inside`: names, metadata and contents.
pub(crate) fn snapshot(directory: &Path, inside: &Path) -> BTreeMap<PathBuf, Seen> {
    let mut all = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        if path == inside {
            continue;
        }
        let found = fs::symlink_metadata(&path).expect("there");
        let content = if found.is_dir() {
            pending.extend(
                fs::read_dir(&path).expect("listed").map(|entry| entry.expect("there").path()),
            );
            Vec::new()
        } else if found.is_symlink() {
            fs::read_link(&path).expect("a link").as_os_str().as_bytes().to_vec()
        } else if found.is_file() {
            fs::read(&path).expect("readable")
        } else {
            Vec::new()
        };
        let (mode, size) = (found.mode(), found.size());
        let modified = (found.mtime(), found.mtime_nsec());
        let seen =
            (mode, found.uid(), found.gid(), size, found.ino(), modified.0, modified.1, content);
        all.insert(path, seen);
    }
    all
}

/// A workspace, and things outside of it under the names that lead to them.
pub(crate) fn surrounded(w: &Workspace) {
    let outside = w.outside();
    for name in ["secret", "file", "trash"] {
        fs::write(outside.join(name), SECRET).expect("a file outside");
    }
    fs::create_dir_all(outside.join("only-outside/empty")).expect("a directory outside");
    fs::write(outside.join("only-outside/file"), SECRET).expect("a file outside");
    fs::write(outside.join("shared"), "of a package store").expect("a file outside");
}

/// Where the workspace lies, and all that it must not touch.
pub(crate) fn above(w: &Workspace) -> &Path {
    w.jail.root().parent().expect("a parent")
}
