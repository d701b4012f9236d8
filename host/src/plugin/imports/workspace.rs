//! `workspace-read` and `workspace-write`: the jail, in the contract's words.
//!
//! Searches and writes block for long, and the runtime is told so (`block_in_place`). A look or a
//! read of one file takes less time than telling would. No rule about paths, versions or
//! observations stands here.

use harness_jail::{self as jail, JailPath};
use tokio::task::block_in_place;

use super::{CallState, fault};
use crate::wit::{Effects, Fault, workspace_read as read, workspace_write as write};

type Trapped<T> = wasmtime::Result<Result<T, Fault>>;

impl CallState {
    /// Looks at the workspace for a tool that declared that it reads. Some microseconds.
    fn look<T>(&self, work: impl FnOnce(&CallState) -> Result<T, jail::Fault>) -> Result<T, Fault> {
        self.require(Effects::READ, "read files")?;
        work(self).map_err(fault)
    }

    /// Searches or changes the workspace for a tool that declared `effect`.
    fn work<T>(
        &self,
        effect: Effects,
        doing: &str,
        work: impl FnOnce(&CallState) -> Result<T, jail::Fault>,
    ) -> Result<T, Fault> {
        self.require(effect, doing)?;
        block_in_place(|| work(self)).map_err(fault)
    }

    fn path(&self, path: &str) -> Result<JailPath, jail::Fault> {
        self.jail().parse(path)
    }

    fn root(&self, root: Option<&String>) -> Result<Option<JailPath>, jail::Fault> {
        root.map(|root| self.path(root)).transpose()
    }
}

impl read::Host for CallState {
    async fn stat(&mut self, path: String) -> Trapped<read::Entry> {
        Ok(self.look(|call| call.jail().stat(&call.path(&path)?).map(entry)))
    }

    async fn read(&mut self, path: String, offset: u64, length: u64) -> Trapped<read::Content> {
        Ok(self.look(|call| {
            let content = call.jail().read(&call.path(&path)?, offset, length)?;
            Ok(read::Content {
                bytes: content.bytes,
                version: content.version,
                size_bytes: content.size_bytes,
            })
        }))
    }

    async fn entries(&mut self, path: String) -> Trapped<Vec<read::Entry>> {
        Ok(self.look(|call| {
            let entries = call.jail().entries(&call.path(&path)?)?;
            Ok(entries.into_iter().map(entry).collect())
        }))
    }

    async fn glob(&mut self, query: read::GlobQuery) -> Trapped<read::GlobPage> {
        let until = match self.until() {
            Ok(until) => until,
            Err(over) => return Ok(Err(over)),
        };
        Ok(self.work(Effects::READ, READ, |call| {
            let query = jail::GlobQuery {
                pattern: query.pattern,
                root: call.root(query.root.as_ref())?,
                include_ignored: query.include_ignored,
                offset: query.offset,
                limit: query.limit,
            };
            let page = call.jail().glob(&query, until)?;
            Ok(read::GlobPage {
                entries: page.entries.into_iter().map(entry).collect(),
                total: page.total,
                ignored: page.ignored,
            })
        }))
    }

    async fn grep(&mut self, query: read::GrepQuery) -> Trapped<read::GrepPage> {
        let until = match self.until() {
            Ok(until) => until,
            Err(over) => return Ok(Err(over)),
        };
        Ok(self.work(Effects::READ, READ, |call| {
            let query = jail::GrepQuery {
                pattern: query.pattern,
                literal: query.literal,
                ignore_case: query.ignore_case,
                multiline: query.multiline,
                root: call.root(query.root.as_ref())?,
                files: query.files,
                mode: match query.mode {
                    read::GrepMode::Lines => jail::GrepMode::Lines,
                    read::GrepMode::Files => jail::GrepMode::Files,
                    read::GrepMode::Count => jail::GrepMode::Count,
                },
                lines_before: query.lines_before,
                lines_after: query.lines_after,
                include_ignored: query.include_ignored,
                offset: query.offset,
                limit: query.limit,
            };
            call.jail().grep(&query, until).map(grep_page)
        }))
    }

    async fn mark_shown(
        &mut self,
        path: String,
        version: String,
        first_line: u64,
        last_line: u64,
    ) -> Trapped<()> {
        Ok(self.look(|call| {
            let workspace = &call.workspace;
            let path = call.path(&path)?;
            call.jail().mark_shown(&path, &version, first_line, last_line, &workspace.seen)
        }))
    }
}

impl CallState {
    /// A change that gives a receipt; notes whether bytes were altered.
    fn change(
        &mut self,
        work: impl FnOnce(&CallState) -> Result<jail::Receipt, jail::Fault>,
    ) -> Result<write::Receipt, Fault> {
        let receipt = self.work(Effects::WRITE, WRITE, work)?;
        // A write of the bytes that were there has no diff.
        let altered = receipt.created || !receipt.diff.is_empty();
        if altered {
            self.workspace.changed(receipt.real, receipt.before);
        }
        self.altered |= altered;
        Ok(write::Receipt {
            version: receipt.version,
            size_bytes: receipt.size_bytes,
            created: receipt.created,
            diff: receipt.diff,
            note: receipt.note,
        })
    }
}

impl write::Host for CallState {
    async fn write(
        &mut self,
        path: String,
        bytes: Vec<u8>,
        basis: write::Basis,
    ) -> Trapped<write::Receipt> {
        Ok(self.change(|call| {
            let workspace = &call.workspace;
            let path = call.jail().parse(&path)?;
            call.jail().write(&path, &bytes, &basis.into(), &workspace.seen)
        }))
    }

    async fn patch(
        &mut self,
        path: String,
        replacements: Vec<write::Replacement>,
        basis: write::Basis,
    ) -> Trapped<write::Receipt> {
        Ok(self.change(|call| {
            let workspace = &call.workspace;
            let path = call.jail().parse(&path)?;
            let replacements: Vec<jail::Replacement> = replacements
                .into_iter()
                .map(|one| jail::Replacement {
                    offset: one.offset,
                    remove: one.remove,
                    insert: one.insert,
                })
                .collect();
            call.jail().patch(&path, &replacements, &basis.into(), &workspace.seen)
        }))
    }

    async fn make_directory(&mut self, path: String) -> Trapped<()> {
        let made =
            self.work(Effects::WRITE, WRITE, |call| call.jail().make_directory(&call.path(&path)?));
        self.altered |= made.is_ok();
        Ok(made)
    }

    async fn rename(
        &mut self,
        old_path: String,
        new_path: String,
        basis: write::Basis,
    ) -> Trapped<()> {
        let renamed = self.work(Effects::WRITE, WRITE, |call| {
            let (old, new) = (call.path(&old_path)?, call.path(&new_path)?);
            let workspace = &call.workspace;
            let before = call.jail().rename(&old, &new, &basis.into(), &workspace.seen)?;
            if before.is_some() {
                workspace.changed(old.to_string(), before);
                workspace.changed(new.to_string(), None);
            }
            Ok(())
        });
        self.altered |= renamed.is_ok();
        Ok(renamed)
    }

    async fn remove(&mut self, path: String, basis: write::Basis) -> Trapped<()> {
        let removed = self.work(Effects::WRITE, WRITE, |call| {
            let workspace = &call.workspace;
            let path = call.path(&path)?;
            let before = call.jail().remove(&path, &basis.into(), &workspace.seen)?;
            if before.is_some() {
                workspace.changed(path.to_string(), before);
            }
            Ok(())
        });
        self.altered |= removed.is_ok();
        Ok(removed)
    }
}

const READ: &str = "search files";
const WRITE: &str = "change files";

impl From<write::Basis> for jail::Basis {
    fn from(basis: write::Basis) -> jail::Basis {
        match basis {
            write::Basis::Absent => jail::Basis::Absent,
            write::Basis::Read(version) => jail::Basis::Read(version),
            write::Basis::Shown => jail::Basis::Shown,
            write::Basis::ShownWhole => jail::Basis::ShownWhole,
        }
    }
}

fn entry(entry: jail::Entry) -> read::Entry {
    read::Entry {
        path: entry.path.to_string(),
        kind: match entry.kind {
            jail::EntryKind::File => read::EntryKind::File,
            jail::EntryKind::Directory => read::EntryKind::Directory,
            jail::EntryKind::Symlink => read::EntryKind::Symlink,
            jail::EntryKind::Other => read::EntryKind::Other,
        },
        size_bytes: entry.size_bytes,
        modified_ms: entry.modified_ms,
    }
}

fn grep_page(page: jail::GrepPage) -> read::GrepPage {
    let files = page.files.into_iter().map(|file| read::GrepFile {
        path: file.path.to_string(),
        version: file.version,
        matches: file.matches,
        lines: file
            .lines
            .into_iter()
            .map(|line| read::GrepLine {
                number: line.number,
                text: line.text,
                is_match: line.is_match,
            })
            .collect(),
    });
    read::GrepPage {
        files: files.collect(),
        total_matches: page.total_matches,
        total_files: page.total_files,
        searched: page.searched,
        stopped: page.stopped,
    }
}
