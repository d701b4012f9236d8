//! Which paths the ignore files of the workspace exclude.
//!
//! One node per directory that has ignore files, linked to the one above; the deepest rule that
//! speaks decides. Ignore files are read through the handle of their directory, so none outside the
//! root is ever looked at.

use std::ffi::OsStr;
use std::io::Read;
use std::sync::Arc;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::entry::EntryKind;
use crate::handles;

/// The files that are read in each directory, the one that decides first in front.
const IGNORE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// The most bytes of one ignore file: beyond it is not one.
const MAX_IGNORE_BYTES: u64 = 1024 * 1024;

/// The rules of one directory and, through `above`, of those it lies in.
pub(super) struct Ignores {
    /// In order of precedence.
    rules: Vec<Gitignore>,
    /// Length in bytes of the directory's path with its `/`; the rules count from there.
    prefix: usize,
    above: Option<Arc<Ignores>>,
}

impl Ignores {
    /// No rules.
    pub(super) fn none() -> Arc<Ignores> {
        Arc::new(Ignores { rules: Vec::new(), prefix: 0, above: None })
    }

    /// Adds the rules of the directory at `path` (empty for the root). `names` are what it holds.
    pub(super) fn below<'a>(
        self: &Arc<Ignores>,
        dir: &Dir,
        path: &str,
        names: impl Fn(&str) -> bool + 'a,
    ) -> Arc<Ignores> {
        let mut rules = Vec::new();
        for name in IGNORE_FILES.into_iter().filter(|name| names(name)) {
            rules.extend(parse(dir, name));
        }
        if path.is_empty() && names(".git") {
            let info = handles::open_dir_at(dir, OsStr::new(".git"))
                .and_then(|git| handles::open_dir_at(&git, OsStr::new("info")));
            if let Ok(info) = info {
                rules.extend(parse(&info, "exclude"));
            }
        }
        if rules.is_empty() {
            return Arc::clone(self);
        }
        let prefix = if path.is_empty() { 0 } else { path.len() + 1 };
        Arc::new(Ignores { rules, prefix, above: Some(Arc::clone(self)) })
    }

    /// Whether the rules exclude `path` itself, which lies in the directory of these rules.
    pub(super) fn excludes(&self, path: &str, is_directory: bool) -> bool {
        let mut node = Some(self);
        while let Some(here) = node {
            let inside = path.get(here.prefix..).unwrap_or(path);
            for rules in &here.rules {
                match rules.matched(inside, is_directory) {
                    Match::None => {}
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
            node = here.above.as_deref();
        }
        false
    }
}

/// Reads one ignore file; `None` when there is none worth the name.
fn parse(dir: &Dir, name: &str) -> Option<Gitignore> {
    let file = handles::open_file_at(dir, OsStr::new(name)).ok()?;
    let stat = handles::stat_of(&file).ok()?;
    if stat.kind != EntryKind::File || stat.size_bytes > MAX_IGNORE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_BYTES).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern excludes nothing; git passes over it as well.
        let _ = builder.add_line(None, line);
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
