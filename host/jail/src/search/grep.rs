//! Contents by pattern, in the order of the paths.
//!
//! Two passes: a parallel one counts the matches of every file, then the files of the page alone
//! are searched again for their lines. So the totals are exact, the memory does not grow with the
//! matches, and the lines of a file come from the very bytes its version names.

use std::ffi::OsStr;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use grep_searcher::Searcher;

use super::bounded::{Bounded, Expression};
use super::matching::{self, Collector, Counter, Text};
use super::pattern::Pattern;
use super::walk::{self, Ignored, Start};
use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind, head};
use crate::jail::Jail;
use crate::path::JailPath;
use crate::resolve::{LastLink, Place};

/// The most bytes of text on one page: what a model can use is far less.
const MAX_PAGE_BYTES: usize = 1024 * 1024;

/// The most context lines on each side of a match.
const MAX_CONTEXT_LINES: u32 = 100;

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GrepMode {
    /// The matching lines with their context.
    Lines,
    /// The files that match; each is searched up to its first match.
    Files,
    /// The number of matches in each file.
    Count,
}

/// What to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepQuery {
    /// Rust regex syntax, or literal text.
    pub pattern: String,
    /// Take the pattern as it stands.
    pub literal: bool,
    /// Let upper and lower case match each other.
    pub ignore_case: bool,
    /// Let a match span lines.
    pub multiline: bool,
    /// The directory or the one file to search; `None` is the root.
    pub root: Option<JailPath>,
    /// A glob that files must match.
    pub files: Option<String>,
    /// What to return.
    pub mode: GrepMode,
    /// Context lines before a match, at most 100.
    pub lines_before: u32,
    /// Context lines after a match, at most 100.
    pub lines_after: u32,
    /// Also search what ignore files exclude.
    pub include_ignored: bool,
    /// Matches to skip; in the modes files and count, files.
    pub offset: u32,
    /// Matches, or files, to return at most; 0 for the totals alone.
    pub limit: u32,
}

/// One line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without the line end; at most 500 characters around the match, `…` where cut.
    pub text: String,
    /// Whether it matches or is context.
    pub is_match: bool,
}

/// One file with matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepFile {
    /// Where it is.
    pub path: JailPath,
    /// The version that was searched for the lines.
    pub version: String,
    /// Its matching lines in all; 1 in the mode files.
    pub matches: u64,
    /// In the mode lines, the lines of this page.
    pub lines: Vec<GrepLine>,
}

/// One page of matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepPage {
    /// In the order of their paths.
    pub files: Vec<GrepFile>,
    /// Matches in all files searched.
    pub total_matches: u64,
    /// Files with a match.
    pub total_files: u64,
    /// Files searched, binary ones among them.
    pub searched: u64,
    /// Why there is less than there could be: `limit` (there are more pages), `deadline` (files
    /// were not searched) or `size` (lines were too long or too many).
    pub stopped: Option<String>,
}

impl Jail {
    /// Searches the contents of files.
    ///
    /// # Errors
    /// `invalid-input` for a bad pattern, `not-found` for a missing root, `unsupported` for a root
    /// that is a binary file.
    pub fn grep(&self, query: &GrepQuery, deadline: Instant) -> Result<GrepPage, Fault> {
        let mut query = query.clone();
        query.lines_before = query.lines_before.min(MAX_CONTEXT_LINES);
        query.lines_after = query.lines_after.min(MAX_CONTEXT_LINES);
        let expression = matching::expression(&query)?;
        let root = query.root.clone().unwrap_or_else(JailPath::root);
        let place = self.place(&root, LastLink::Follow)?;
        let search = Search {
            jail: self,
            query: &query,
            expression: &expression,
            deadline,
            is_late: AtomicBool::new(false),
            is_oversized: AtomicBool::new(false),
        };
        let mut tally = if place.existing(&root)?.kind == EntryKind::Directory {
            search.tree(&root, place)?
        } else {
            search.single(&root, &place)?
        };
        tally.files.sort();
        let mut page = search.page(&tally)?;
        page.searched = tally.searched;
        Ok(page)
    }
}

/// What the first pass found.
#[derive(Default)]
struct Tally {
    files: Vec<(String, u64)>,
    searched: u64,
    buffer: Vec<u8>,
}

struct Search<'a> {
    jail: &'a Jail,
    query: &'a GrepQuery,
    expression: &'a Expression,
    deadline: Instant,
    is_late: AtomicBool,
    is_oversized: AtomicBool,
}

/// What one thread searches with.
type Hands<'a> = (Searcher, Bounded<'a>);

impl Search<'_> {
    fn hands(&self, with_context: bool) -> Hands<'_> {
        let searcher = matching::searcher(self.query, with_context);
        (searcher, Bounded::new(self.expression, self.deadline))
    }

    /// Counts in every file below a directory.
    fn tree(&self, root: &JailPath, place: Place) -> Result<Tally, Fault> {
        let shown = if root.is_root() { String::new() } else { root.as_str().to_owned() };
        let skip = if shown.is_empty() { 0 } else { shown.len() + 1 };
        let roots: Vec<String> =
            self.jail.roots().iter().map(|spelling| walk::join(spelling, &shown)).collect();
        let files = self.query.files.as_deref().map(|files| Pattern::parse(files, &roots));
        let files = files.transpose()?;
        let failed = |err| Fault::from_io("open", root, &err);
        let start = Start {
            dir: place.open_dir(root)?,
            shown,
            real: place.real,
            root: match root.inside_spill() {
                Some(_) => None,
                None => Some(self.jail.dir.try_clone().map_err(failed)?),
            },
            is_ignored: false,
            ignored: if self.query.include_ignored { Ignored::Enter } else { Ignored::Leave },
        };
        let (real, shown) = (start.real.clone(), start.shown.clone());
        let is_spill = start.root.is_none();
        let state = || (self.hands(false), Tally::default());
        let visit = |(hands, tally): &mut (Hands<'_>, Tally), found: walk::Found<'_>| {
            // A name that is no text cannot be told, nor opened by anybody who was told it.
            if found.kind == EntryKind::File
                && found.name.to_str().is_some()
                && !found.is_ignored
                && files.as_ref().is_none_or(|files| files.matches(&found.path[skip..]))
                && (is_spill || self.jail.shows(&walk::below(&real, &shown, &found.path), false))
            {
                self.count(hands, tally, found.dir, found.name, found.path);
            }
        };
        let (tallies, is_complete) = walk::walk(start, self.deadline, state, visit);
        if !is_complete {
            self.is_late.store(true, Ordering::Relaxed);
        }
        Ok(tallies.into_iter().fold(Tally::default(), |mut all, (_, tally)| {
            all.files.extend(tally.files);
            all.searched += tally.searched;
            all
        }))
    }

    /// Counts in one named file.
    fn single(&self, path: &JailPath, place: &Place) -> Result<Tally, Fault> {
        place.open_file(path)?;
        if let Some(files) = &self.query.files {
            let pattern = Pattern::parse(files, self.jail.roots())?;
            let own_name = path.name().unwrap_or_default();
            if !pattern.matches(path.as_str()) && !pattern.matches(own_name) {
                // To leave the pattern out of account, or the file, would both be taken amiss.
                return Err(Fault::new(
                    FaultKind::InvalidInput,
                    format!("`{path}` is one file, and it does not match `{}`", head(files)),
                )
                .with_hint("leave out either the path or the pattern for files"));
            }
        }
        let mut tally = Tally::default();
        let mut hands = self.hands(false);
        let name = place.name.as_deref().unwrap_or_default();
        let name = OsStr::new(name);
        if self.count(&mut hands, &mut tally, &place.dir, name, path.to_string()) {
            // In a tree they are passed over; who names one must not take that for "no match".
            return Err(Fault::new(
                FaultKind::Unsupported,
                format!("`{path}` is binary, and only text is searched"),
            )
            .with_hint("look into it with a command in the shell"));
        }
        Ok(tally)
    }

    /// Counts in one file of a directory, and says whether it is binary.
    fn count(
        &self,
        (searcher, matcher): &mut Hands<'_>,
        tally: &mut Tally,
        dir: &cap_std::fs::Dir,
        name: &OsStr,
        path: String,
    ) -> bool {
        let buffer = std::mem::take(&mut tally.buffer);
        let Some(text) = Text::open(dir, name, buffer) else {
            return false;
        };
        let is_first_enough = self.query.mode == GrepMode::Files;
        let mut counter = Counter { matches: 0, is_first_enough, is_binary: false };
        let done = text.search(searcher, matcher, &mut counter);
        self.note(done);
        tally.searched += 1;
        let is_binary = counter.is_binary || text.is_binary();
        tally.buffer = text.into_buffer();
        if counter.matches > 0 && !is_binary {
            tally.files.push((path, counter.matches));
        }
        is_binary
    }

    fn note(&self, done: io::Result<()>) {
        match done {
            Ok(()) => {}
            Err(err) if err.kind() == io::ErrorKind::TimedOut => {
                self.is_late.store(true, Ordering::Relaxed);
            }
            Err(_) => self.is_oversized.store(true, Ordering::Relaxed),
        }
    }

    /// The second pass: the files of the page.
    fn page(&self, tally: &Tally) -> Result<GrepPage, Fault> {
        let by_lines = self.query.mode == GrepMode::Lines;
        let mut skip = u64::from(self.query.offset);
        let mut left = u64::from(self.query.limit);
        let mut budget_bytes = MAX_PAGE_BYTES;
        let mut files = Vec::new();
        let mut hands = self.hands(true);
        for (path, matches) in &tally.files {
            let units = if by_lines { *matches } else { 1 };
            if skip >= units {
                skip -= units;
                continue;
            }
            if left == 0 || budget_bytes == 0 {
                break;
            }
            let take = left.min(units - skip);
            let path = JailPath::trusted(path.clone());
            // A file that went away meanwhile has nothing to show.
            if let Some((file, rest)) =
                self.file(path, *matches, &mut hands, (skip, take), budget_bytes)
            {
                files.push(file);
                budget_bytes = rest;
            }
            skip = 0;
            left -= take;
        }
        let total_matches = tally.files.iter().map(|(_, matches)| matches).sum();
        let total_files = tally.files.len() as u64;
        let total = if by_lines { total_matches } else { total_files };
        let has_more = total > u64::from(self.query.offset) + u64::from(self.query.limit);
        let stopped = if self.is_late.load(Ordering::Relaxed) {
            Some("deadline")
        } else if budget_bytes == 0 || self.is_oversized.load(Ordering::Relaxed) {
            Some("size")
        } else {
            has_more.then_some("limit")
        };
        let stopped = stopped.map(str::to_owned);
        Ok(GrepPage { files, total_matches, total_files, searched: 0, stopped })
    }

    /// One file of the page, and what is left of the text budget.
    fn file(
        &self,
        path: JailPath,
        matches: u64,
        (searcher, matcher): &mut Hands<'_>,
        (skip, take): (u64, u64),
        budget_bytes: usize,
    ) -> Option<(GrepFile, usize)> {
        let place = self.jail.place(&path, LastLink::Follow).ok()?;
        let text = Text::open(&place.dir, OsStr::new(place.name.as_deref()?), Vec::new())?;
        let mut collector = Collector::new(matcher, skip, take, budget_bytes);
        if self.query.mode == GrepMode::Lines {
            let done = text.search(searcher, matcher, &mut collector);
            self.note(done);
        }
        let version = text.version();
        let rest = collector.budget_bytes;
        Some((GrepFile { path, version, matches, lines: collector.lines }, rest))
    }
}
