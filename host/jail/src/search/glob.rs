//! Names by pattern, newest first.
//!
//! Hidden files are found, `.git` is not. What ignore files exclude is left out and counted; a path
//! that is named exactly is found all the same. It never opens a file.

use std::cmp::Reverse;
use std::time::Instant;

use super::pattern::Pattern;
use super::walk::{self, Ignored, Start};
use crate::entry::{Entry, EntryKind};
use crate::fault::{Fault, FaultKind};
use crate::handles;
use crate::jail::Jail;
use crate::path::JailPath;
use crate::read::entry;
use crate::resolve::LastLink;

/// How many entries below ignored directories are looked at to count the matches in them: enough
/// to say that there are some, without walking every dependency.
const MAX_COUNTED_IGNORED: usize = 20_000;

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobQuery {
    /// The pattern; without a slash it matches names at any depth, with one at its end directories.
    pub pattern: String,
    /// Where to start; `None` is the root.
    pub root: Option<JailPath>,
    /// Also return entries that ignore files exclude.
    pub include_ignored: bool,
    /// Matches to skip.
    pub offset: u32,
    /// Matches to return at most; 0 for the totals alone.
    pub limit: u32,
}

/// One page of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobPage {
    /// Newest first, then by path.
    pub entries: Vec<Entry>,
    /// All matches, on this page or not.
    pub total: u64,
    /// Matches left out because an ignore file excludes them; at least this many.
    pub ignored: u64,
}

impl Jail {
    /// Finds what matches a pattern.
    ///
    /// # Errors
    /// `invalid-input` for a bad pattern, `not-found` for a missing root, `timed-out` when the
    /// deadline passed before all was seen.
    pub fn glob(&self, query: &GlobQuery, deadline: Instant) -> Result<GlobPage, Fault> {
        let root = query.root.clone().unwrap_or_else(JailPath::root);
        let place = self.place(&root, LastLink::Follow)?;
        place.open_dir(&root)?;
        let below = |path: &str| walk::join(if root.is_root() { "" } else { root.as_str() }, path);
        let roots: Vec<String> =
            self.roots().iter().map(|spelling| walk::join(spelling, &below(""))).collect();
        let pattern = Pattern::parse(&query.pattern, &roots)?;
        let mut found: Vec<Entry> = self.exact(&query.pattern, &root).into_iter().collect();
        let mut ignored = 0;

        // Every match lies below the literal head of the pattern; when that is missing, so are they.
        let start_path = self.parse(&below(&pattern.start))?;
        let start = self.place(&start_path, LastLink::Follow).ok();
        if let Some(dir) = start.as_ref().and_then(|start| start.open_dir(&start_path).ok())
            && start_path.inside_spill().is_none()
        {
            let real = start.map(|start| start.real).unwrap_or_default();
            let is_git = |part: &str| part == ".git";
            if !real.split('/').any(is_git) || real == place.real {
                let walk_start = Start {
                    dir,
                    shown: below(&pattern.start),
                    is_ignored: !query.include_ignored
                        && real != place.real
                        && walk::is_excluded(&self.dir, &real, true)
                        && !walk::is_excluded(&self.dir, &place.real, true),
                    real,
                    root: Some(
                        self.dir.try_clone().map_err(|err| Fault::from_io("open", &root, &err))?,
                    ),
                    ignored: if query.include_ignored {
                        Ignored::Enter
                    } else {
                        Ignored::Count(MAX_COUNTED_IGNORED)
                    },
                };
                let skip = if root.is_root() { 0 } else { root.as_str().len() + 1 };
                let (matches, left_out) = collect(self, walk_start, &pattern, skip, deadline)?;
                let exact = found.first().map(|entry| entry.path.clone());
                let exact = exact.as_ref().map(JailPath::as_str);
                let is_other = |path: &str| Some(path) != exact;
                ignored = left_out.iter().filter(|path| is_other(path)).count() as u64;
                found.extend(matches.into_iter().filter(|entry| is_other(entry.path.as_str())));
            }
        }
        let newest_first = |a: &Entry, b: &Entry| {
            (Reverse(a.modified_ms), &a.path).cmp(&(Reverse(b.modified_ms), &b.path))
        };
        let total = found.len() as u64;
        // Only what comes up to the end of the page is put in order.
        let end = (query.offset as usize).saturating_add(query.limit as usize);
        if end < found.len() {
            found.select_nth_unstable_by(end, newest_first);
            found.truncate(end);
        }
        found.sort_unstable_by(newest_first);
        let entries = found.into_iter().skip(query.offset as usize).collect();
        Ok(GlobPage { entries, total, ignored })
    }

    /// The pattern taken as a path, if something is there.
    fn exact(&self, pattern: &str, root: &JailPath) -> Option<Entry> {
        let raw = if pattern.starts_with('/') || root.is_root() {
            pattern.to_owned()
        } else {
            format!("{root}/{pattern}")
        };
        let path = self.parse(&raw).ok()?;
        if path.is_root()
            || path.inside_spill().is_some()
            || path.parts().any(|part| part == ".git")
        {
            return None;
        }
        let stat = self.place(&path, LastLink::Keep).ok()?.stat?;
        Some(entry(path, &stat))
    }
}

/// What one thread gathered: matches, and the paths of ignored ones.
type Gathered = (Vec<Entry>, Vec<String>);

fn collect(
    jail: &Jail,
    start: Start,
    pattern: &Pattern,
    skip: usize,
    deadline: Instant,
) -> Result<Gathered, Fault> {
    let leaves_ignored = start.ignored != Ignored::Enter;
    let (real, shown) = (start.real.clone(), start.shown.clone());
    let visit = |gathered: &mut Gathered, found: walk::Found<'_>| {
        let is_directory = found.kind == EntryKind::Directory;
        if is_directory != pattern.wants_directories || !pattern.matches(&found.path[skip..]) {
            return;
        }
        if !jail.shows(&walk::below(&real, &shown, &found.path), is_directory) {
            return;
        }
        if found.is_ignored && leaves_ignored {
            gathered.1.push(found.path);
        } else if let Ok(stat) = handles::stat_at(found.dir, found.name) {
            gathered.0.push(entry(JailPath::trusted(found.path), &stat));
        }
    };
    let (states, is_complete) = walk::walk(start, deadline, Gathered::default, visit);
    if !is_complete {
        return Err(Fault::new(
            FaultKind::TimedOut,
            "the search did not come to its end in the time it had",
        )
        .with_hint("name a directory to search, or start the pattern with one"));
    }
    let mut all = Gathered::default();
    for (matches, ignored) in states {
        all.0.extend(matches);
        all.1.extend(ignored);
    }
    Ok(all)
}
