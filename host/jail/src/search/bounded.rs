//! A matcher that stops at the deadline, whatever the pattern and the line.
//!
//! The regex engine cannot be interrupted, so it is given a few lines at a time, and the clock is
//! looked at in between. A line that is too long for that is stepped through byte by byte with an
//! automaton of bounded memory: slower for most patterns, and never slower than the deadline.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::time::Instant;

use grep_matcher::{ByteSet, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_regex::RegexMatcher;
use regex_automata::Input;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::util::syntax;

/// What the regex engine is given at once, in bytes. A hostile pattern takes microseconds a byte.
const PIECE_BYTES: usize = 16 * 1024;

/// The longest line that is given to the engine when it cannot be stepped through.
const MAX_UNSTEPPED_BYTES: usize = 256 * 1024;

/// Bytes given to the engine between two looks at the clock, which costs as much as a short line.
const UNCHECKED_BYTES: usize = 4 * 1024;

/// Steps between two looks at the clock.
const STEPS: usize = 512;

/// Memory of the automaton for one thread, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;

/// A compiled pattern.
pub(super) struct Expression {
    matcher: RegexMatcher,
    /// For long lines; `None` for literal text, which the engine finds in one quick pass.
    stepped: Option<DFA>,
}

impl Expression {
    /// Takes what was compiled of `pattern`. Literal text and patterns that the automaton does not
    /// know are left to the engine.
    pub(super) fn new(matcher: RegexMatcher, pattern: &str, how: How) -> Expression {
        let syntax = syntax::Config::new()
            .multi_line(true)
            .crlf(!how.is_multiline)
            .case_insensitive(how.ignores_case)
            .utf8(false);
        let config = DFA::config()
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true);
        let build = || DFA::builder().configure(config).syntax(syntax).build(pattern).ok();
        let stepped = if how.is_literal { None } else { build() };
        Expression { matcher, stepped }
    }
}

/// How a pattern is meant.
#[derive(Clone, Copy)]
pub(super) struct How {
    pub(super) is_literal: bool,
    pub(super) ignores_case: bool,
    pub(super) is_multiline: bool,
}

/// An expression in the hands of one thread.
pub(super) struct Bounded<'a> {
    expression: &'a Expression,
    deadline: Instant,
    cache: RefCell<Option<Cache>>,
    unchecked_bytes: Cell<usize>,
    stopped: Cell<Option<io::ErrorKind>>,
}

/// Why there is no answer; what it is is kept aside, for the searcher passes on its text alone.
#[derive(Debug)]
pub(super) struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the search was stopped")
    }
}

impl<'a> Bounded<'a> {
    pub(super) fn new(expression: &'a Expression, deadline: Instant) -> Bounded<'a> {
        Bounded {
            expression,
            deadline,
            cache: RefCell::default(),
            unchecked_bytes: Cell::default(),
            stopped: Cell::default(),
        }
    }

    /// Why the search that ended with an error was stopped, if it was stopped here.
    pub(super) fn take_stopped(&self) -> Option<io::ErrorKind> {
        self.stopped.take()
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// About where the first match of a line is.
    pub(super) fn place_in(&self, line: &[u8]) -> usize {
        let place = if line.len() <= PIECE_BYTES || self.expression.stepped.is_none() {
            self.expression.matcher.find(line).map(|found| found.map(|found| found.start())).ok()
        } else {
            self.step(line, 0).map(|end| end.map(|end| end.saturating_sub(1))).ok()
        };
        place.flatten().unwrap_or(0)
    }

    fn stop<T>(&self, why: io::ErrorKind) -> Result<T, Stopped> {
        self.stopped.set(Some(why));
        Err(Stopped)
    }

    fn check_deadline(&self) -> Result<(), Stopped> {
        if Instant::now() >= self.deadline { self.stop(io::ErrorKind::TimedOut) } else { Ok(()) }
    }

    /// Counts what the engine looked at, and looks at the clock now and then.
    fn spend(&self, bytes: usize) -> Result<(), Stopped> {
        let unchecked = self.unchecked_bytes.get().saturating_add(bytes);
        if unchecked < UNCHECKED_BYTES {
            self.unchecked_bytes.set(unchecked);
            return Ok(());
        }
        self.unchecked_bytes.set(0);
        self.check_deadline()
    }

    /// Where the shortest match in `text` from `at` ends.
    fn step(&self, text: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        let Some(dfa) = &self.expression.stepped else {
            return Ok(engine(self.expression.matcher.shortest_match_at(text, at)));
        };
        let mut cache = self.cache.borrow_mut();
        let cache = cache.get_or_insert_with(|| dfa.create_cache());
        let input = Input::new(text).range(at..);
        let Ok(mut state) = dfa.start_state_forward(cache, &input) else {
            return self.without_steps(text, at);
        };
        for start in (at..text.len()).step_by(STEPS) {
            self.check_deadline()?;
            let block = &text[start..text.len().min(start + STEPS)];
            for (offset, byte) in block.iter().enumerate() {
                let Ok(next) = dfa.next_state(cache, state, *byte) else {
                    return self.without_steps(text, at);
                };
                state = next;
                if !state.is_tagged() {
                    continue;
                }
                if state.is_match() {
                    // It tells of a match one byte after its end.
                    return Ok(Some(start + offset));
                }
                if state.is_dead() {
                    return Ok(None);
                }
                if state.is_quit() {
                    return self.without_steps(text, at);
                }
            }
        }
        match dfa.next_eoi_state(cache, state) {
            Ok(state) => Ok(state.is_match().then_some(text.len())),
            Err(_) => self.without_steps(text, at),
        }
    }

    /// What the automaton does not know, word boundaries beside letters beyond ASCII.
    fn without_steps(&self, text: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        if text.len() - at > MAX_UNSTEPPED_BYTES {
            return self.stop(io::ErrorKind::FileTooLarge);
        }
        Ok(engine(self.expression.matcher.shortest_match_at(text, at)))
    }
}

/// The engine always has an answer.
fn engine<T>(answer: Result<T, NoError>) -> T {
    answer.unwrap_or_else(|never| unreachable!("{never:?}"))
}

impl Matcher for Bounded<'_> {
    type Captures = NoCaptures;
    type Error = Stopped;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, Stopped> {
        self.spend(text.len() - at)?;
        // The steps say whether there is one at all; where it starts the engine tells.
        if text.len() - at > PIECE_BYTES && self.step(text, at)?.is_none() {
            return Ok(None);
        }
        Ok(engine(self.expression.matcher.find_at(text, at)))
    }

    fn shortest_match_at(&self, text: &[u8], at: usize) -> Result<Option<usize>, Stopped> {
        if text.len() - at > PIECE_BYTES {
            return self.step(text, at);
        }
        self.spend(text.len() - at)?;
        Ok(engine(self.expression.matcher.shortest_match_at(text, at)))
    }

    fn new_captures(&self) -> Result<NoCaptures, Stopped> {
        Ok(NoCaptures::new())
    }

    fn non_matching_bytes(&self) -> Option<&ByteSet> {
        self.expression.matcher.non_matching_bytes()
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        self.expression.matcher.line_terminator()
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, Stopped> {
        if self.expression.stepped.is_none() {
            return Ok(engine(self.expression.matcher.find_candidate_line(text)));
        }
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let (piece, is_long) = piece(rest);
            let found = if is_long {
                let line = piece.strip_suffix(b"\n").unwrap_or(piece);
                let line = line.strip_suffix(b"\r").unwrap_or(line);
                // Any place in the line will do.
                self.step(line, 0)?.map(|_| LineMatchKind::Confirmed(0))
            } else {
                engine(self.expression.matcher.find_candidate_line(piece))
            };
            let is_inside = |at: usize| at < piece.len() || !piece.ends_with(b"\n");
            match found {
                // After the last line break nothing of this piece is left to match.
                Some(LineMatchKind::Confirmed(at)) if is_inside(at) => {
                    self.spend(at)?;
                    return Ok(Some(LineMatchKind::Confirmed(start + at)));
                }
                Some(LineMatchKind::Candidate(at)) if is_inside(at) => {
                    self.spend(at)?;
                    return Ok(Some(LineMatchKind::Candidate(start + at)));
                }
                _ => {
                    self.spend(piece.len())?;
                    start += piece.len();
                }
            }
        }
        Ok(None)
    }
}

/// The next whole lines, or the next line alone when it is a long one.
fn piece(text: &[u8]) -> (&[u8], bool) {
    let Some(window) = text.get(..PIECE_BYTES) else { return (text, false) };
    match window.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => (&text[..=at], false),
        None => {
            let end = text.iter().position(|byte| *byte == b'\n');
            (end.map_or(text, |at| &text[..=at]), true)
        }
    }
}
