//! One pattern against one file.
//!
//! Small files are searched in memory, large ones through a reader; the matcher and the reader look
//! at the deadline as they go. Files with a NUL are binary and hold no matches, unless a byte order
//! mark says UTF-16.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::time::Instant;

use cap_std::fs::{Dir, File};
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};

use super::bounded::{Bounded, Expression, How};
use super::grep::{GrepLine, GrepQuery};
use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind, head};
use crate::handles;
use crate::version;

/// The most memory the search of one file takes beyond its bytes: a line longer than this in a
/// file too large to hold is not searched.
const MAX_HEAP_BYTES: usize = 32 * 1024 * 1024;

/// The most memory of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 10 * 1024 * 1024;

/// The most memory the engine takes for a pattern's states, in each thread.
const MAX_ENGINE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes handed to the search between two looks at the deadline.
const BLOCK_BYTES: usize = 64 * 1024;

/// The most characters of a line that are returned.
pub(super) const MAX_LINE_CHARS: usize = 500;

/// Characters kept before a match that lies far into a long line.
const LEAD_CHARS: usize = 100;

/// Compiles the pattern of a query.
///
/// # Errors
/// `invalid-input` with what the regex parser said.
pub(super) fn expression(query: &GrepQuery) -> Result<Expression, Fault> {
    let mut builder = RegexMatcherBuilder::new();
    builder.size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_ENGINE_BYTES);
    builder.fixed_strings(query.literal).case_insensitive(query.ignore_case).multi_line(true);
    if !query.multiline {
        // `$` then matches before `\r\n` too.
        builder.crlf(true);
    }
    let how = How {
        is_literal: query.literal,
        ignores_case: query.ignore_case,
        is_multiline: query.multiline,
    };
    let built = builder.build(&query.pattern);
    built.map(|matcher| Expression::new(matcher, &query.pattern, how)).map_err(|err| {
        let spans_lines =
            !query.multiline && (query.pattern.contains('\n') || query.pattern.contains("\\n"));
        let hint = if spans_lines {
            "set multiline to match across lines"
        } else {
            "set literal to search for the text as it stands, or mend the expression"
        };
        let pattern = head(&query.pattern);
        let what = err.to_string();
        // What is wrong stands in the last line, below a copy of the pattern.
        let what = match &pattern {
            Cow::Borrowed(_) => what.as_str(),
            Cow::Owned(_) => what.lines().last().unwrap_or_default(),
        };
        Fault::new(
            FaultKind::InvalidInput,
            format!("pattern `{pattern}` is not a valid regular expression: {}", head(what)),
        )
        .with_hint(hint)
    })
}

/// A searcher for this query, with or without its context lines.
pub(super) fn searcher(query: &GrepQuery, with_context: bool) -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder
        .multi_line(query.multiline)
        .heap_limit(Some(MAX_HEAP_BYTES))
        .binary_detection(BinaryDetection::none())
        .line_number(with_context);
    if !query.multiline {
        builder.line_terminator(LineTerminator::crlf());
    }
    if with_context {
        builder
            .before_context(query.lines_before as usize)
            .after_context(query.lines_after as usize);
    }
    builder.build()
}

/// A file opened for a search.
pub(super) enum Text {
    /// Its bytes, and its version on demand.
    Held(Vec<u8>, handles::Stat),
    /// Too large to hold.
    Large(File, handles::Stat),
}

impl Text {
    /// Opens the regular file `name`, reusing `buffer`; `None` when there is no such file.
    pub(super) fn open(dir: &Dir, name: &OsStr, mut buffer: Vec<u8>) -> Option<Text> {
        let file = handles::open_file_at(dir, name).ok()?;
        let stat = handles::stat_of(&file).ok()?;
        if stat.kind != EntryKind::File {
            return None;
        }
        if stat.size_bytes > version::HASHED_BYTES {
            return Some(Text::Large(file, stat));
        }
        buffer.clear();
        buffer.reserve(stat.size_bytes as usize + 1);
        // The plain file reads into memory that was not cleared first.
        file.into_std().take(version::HASHED_BYTES).read_to_end(&mut buffer).ok()?;
        Some(Text::Held(buffer, stat))
    }

    /// The version of the bytes that are searched.
    pub(super) fn version(&self) -> String {
        match self {
            Text::Held(bytes, stat) => version::of_bytes(bytes, stat),
            Text::Large(_, stat) => version::of_stat(stat),
        }
    }

    /// The buffer, to be used again.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        match self {
            Text::Held(bytes, _) => bytes,
            Text::Large(..) => Vec::new(),
        }
    }

    /// Whether it holds what text does not; of a large file the search itself finds out.
    pub(super) fn is_binary(&self) -> bool {
        match self {
            Text::Held(bytes, _) => !is_wide(bytes) && bytes.contains(&0),
            Text::Large(..) => false,
        }
    }

    /// Runs the search and fills the sink.
    ///
    /// # Errors
    /// `TimedOut` when the deadline passed; any other error when the file could not be searched.
    pub(super) fn search<S: Sink<Error = io::Error>>(
        &self,
        searcher: &mut Searcher,
        matcher: &Bounded<'_>,
        sink: S,
    ) -> io::Result<()> {
        if self.is_binary() {
            return Ok(());
        }
        let done = match self {
            Text::Held(bytes, _) => searcher.search_slice(matcher, bytes, sink),
            Text::Large(file, _) => {
                let blocks = Blocks { inner: file, deadline: matcher.deadline() };
                searcher.set_binary_detection(BinaryDetection::quit(0));
                let done = searcher.search_reader(matcher, blocks, sink);
                searcher.set_binary_detection(BinaryDetection::none());
                done
            }
        };
        matcher.take_stopped().map_or(done, |why| Err(why.into()))
    }
}

fn is_wide(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF])
}

/// A reader that fails once the deadline has passed.
struct Blocks<R> {
    inner: R,
    deadline: Instant,
}

impl<R: Read> Read for Blocks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() >= self.deadline {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let len = buffer.len().min(BLOCK_BYTES);
        self.inner.read(&mut buffer[..len])
    }
}

/// Counts matches.
pub(super) struct Counter {
    pub(super) matches: u64,
    /// Stop at the first one.
    pub(super) is_first_enough: bool,
    pub(super) is_binary: bool,
}

impl Sink for &mut Counter {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        Ok(!self.is_first_enough)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// Collects the lines of a window of matches, with their context.
pub(super) struct Collector<'a> {
    matcher: &'a Bounded<'a>,
    /// Matches to pass over, and to take after those.
    pub(super) skip: u64,
    pub(super) take: u64,
    /// Bytes of text that may still be collected.
    pub(super) budget_bytes: usize,
    pub(super) lines: Vec<GrepLine>,
    /// Lines before a match that may turn out to be outside the window.
    pub(super) before: Vec<GrepLine>,
    pub(super) taken: u64,
}

impl<'a> Collector<'a> {
    pub(super) fn new(matcher: &'a Bounded<'a>, skip: u64, take: u64, budget_bytes: usize) -> Self {
        Collector {
            matcher,
            skip,
            take,
            budget_bytes,
            lines: Vec::new(),
            before: Vec::new(),
            taken: 0,
        }
    }

    /// Whether the text budget ended the collection.
    pub(super) fn is_full(&self) -> bool {
        self.budget_bytes == 0
    }

    fn push(&mut self, line: GrepLine) {
        self.budget_bytes = self.budget_bytes.saturating_sub(line.text.len().max(1));
        self.lines.push(line);
    }

    fn line(&self, number: u64, bytes: &[u8], is_match: bool) -> GrepLine {
        let start = if is_match { self.matcher.place_in(bytes) } else { 0 };
        GrepLine { number, text: window(bytes, start), is_match }
    }
}

impl Sink for &mut Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.skip > 0 {
            self.skip -= 1;
            self.before.clear();
            return Ok(true);
        }
        if self.taken == self.take || self.is_full() {
            return Ok(false);
        }
        self.taken += 1;
        for line in std::mem::take(&mut self.before) {
            self.push(line);
        }
        let first = found.line_number().unwrap_or(1);
        for (number, bytes) in (first..).zip(found.lines()) {
            let line = self.line(number, bytes, true);
            self.push(line);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line(context.line_number().unwrap_or(1), context.bytes(), false);
        match context.kind() {
            SinkContextKind::Before => self.before.push(line),
            _ if self.taken > 0 => self.push(line),
            _ => {}
        }
        Ok(true)
    }
}

/// The text of a line without its end, cut to [`MAX_LINE_CHARS`] around where the match starts.
fn window(bytes: &[u8], match_start: usize) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    // Far more bytes than characters that fit, so that a huge line is not decoded whole.
    let from = match_start.min(bytes.len()).saturating_sub(LEAD_CHARS * 4);
    let to = (from + (MAX_LINE_CHARS + LEAD_CHARS) * 8).min(bytes.len());
    let lead = String::from_utf8_lossy(&bytes[from..match_start.clamp(from, to)]);
    let rest = String::from_utf8_lossy(&bytes[match_start.clamp(from, to)..to]);
    let fits = from == 0
        && to == bytes.len()
        && lead.chars().count() + rest.chars().count() <= MAX_LINE_CHARS;
    if fits {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let lead_chars = lead.chars().count();
    // A match near the start needs no cut before it.
    let cut = if from == 0 && lead_chars <= LEAD_CHARS {
        0
    } else {
        lead_chars.saturating_sub(LEAD_CHARS)
    };
    let mut text = String::new();
    if from > 0 || cut > 0 {
        text.push('…');
    }
    let shown: Vec<char> = lead.chars().skip(cut).chain(rest.chars()).collect();
    text.extend(shown.iter().take(MAX_LINE_CHARS));
    if shown.len() > MAX_LINE_CHARS || to < bytes.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows() {
        assert_eq!(window(b"abc\r\n", 1), "abc");
        assert_eq!(window("é".repeat(500).as_bytes(), 0), "é".repeat(500));
        assert_eq!(window("é".repeat(501).as_bytes(), 0), format!("{}…", "é".repeat(500)));
        let far = format!("{}NEEDLE{}", "x".repeat(10_000), "y".repeat(10_000));
        let text = window(far.as_bytes(), 10_000);
        assert!(text.starts_with("…x") && text.ends_with("y…") && text.contains("xNEEDLEy"));
        assert_eq!(text.chars().count(), MAX_LINE_CHARS + 2);
    }
}
