//! What the run's tests said last, read from the calls before.
//!
//! Of a call's input a guard sees the first 256 bytes, and an exit code is that of a whole command. So a
//! command counts only when it is seen to its end and its exit code is the test's own.

use harness_sdk::PastCall;

/// The tool that runs commands, and its argument that is one.
const TOOL: &str = "bash";
const ARGUMENT: &str = "\"command\":\"";

/// A shell says by these that it could not start the command.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What came of the last test command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tests {
    NotRun,
    Passed,
    Failed,
    /// It ran, and how it ended cannot be told.
    Unclear,
}

impl Tests {
    /// What these calls, oldest first, say of the tests that begin like one of `commands`.
    pub(crate) fn of(earlier: &[PastCall], commands: &[String]) -> Tests {
        let last = earlier.iter().rev().find_map(|past| of_call(past, commands));
        last.unwrap_or(Tests::NotRun)
    }
}

/// None where the call ran no test.
fn of_call(past: &PastCall, commands: &[String]) -> Option<Tests> {
    if past.tool != TOOL || past.refused {
        return None;
    }
    let (command, is_whole) = command(&past.input_head)?;
    let pieces: Vec<&str> = command.split(['\n', ';', '|', '&', '(', ')', '`']).collect();
    let tests = |piece: &&str| commands.iter().any(|command| begins(piece, command));
    if !pieces.iter().any(tests) {
        return None;
    }
    let is_last = pieces.last().is_some_and(tests);
    // Behind `|` the exit code is another's, and behind `||` the test may not have run.
    if !is_whole || !is_last || command.contains('|') {
        return Some(Tests::Unclear);
    }
    match past.exit_code {
        Some(0) => Some(Tests::Passed),
        Some(code) if NOT_STARTED.contains(&code) => None,
        Some(_) => Some(Tests::Failed),
        None => Some(Tests::Unclear),
    }
}

/// Whether a simple command begins with these words, whatever variables it sets before them.
fn begins(piece: &str, words: &str) -> bool {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let mut piece = piece.split_whitespace().skip_while(is_setting);
    words.split(' ').all(|word| piece.next() == Some(word))
}

/// The command in the beginning of an input, and whether all of it is there.
fn command(head: &str) -> Option<(String, bool)> {
    let start = head.find(ARGUMENT)? + ARGUMENT.len();
    let mut command = String::new();
    let mut letters = head[start..].chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some((without_streams(&command), true)),
            '\\' => match letters.next() {
                Some('n' | 'r') => command.push('\n'),
                Some('t') => command.push(' '),
                Some(other) => command.push(other),
                None => break,
            },
            other => command.push(other),
        }
    }
    Some((without_streams(&command), false))
}

/// Where a stream is sent ends no command, though it is written with `&`.
fn without_streams(command: &str) -> String {
    command.replace("2>&1", "").replace("&>", ">").trim_end_matches([' ', '\n', ';']).to_owned()
}
