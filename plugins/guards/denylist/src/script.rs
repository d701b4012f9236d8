//! A shell script as the list of its simple commands.
//!
//! Knows quotes, escapes, operators, comments, redirections, here-documents and substitutions;
//! expands nothing but a leading `~`. What it can't follow it takes as words, so that a strange
//! script is at worst not refused. Commands inside substitutions, here-documents for a shell,
//! and `sh -c` texts are in the list as well.

mod reader;

use crate::command;
use reader::Reader;

/// How deep scripts in scripts are followed.
const MAX_DEPTH: usize = 8;

/// Stands for a `$` that the shell would not expand, so that it is not taken for a variable.
pub(crate) const PLAIN_DOLLAR: char = '\u{1}';

/// One command with its words, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<String>,
    /// Files that its output goes to.
    pub(crate) outputs: Vec<String>,
    /// Reads the output of the command before it in the list.
    pub(crate) is_piped: bool,
    /// Runs in the background.
    pub(crate) is_background: bool,
    /// `name()`: not a command but the start of a function.
    pub(crate) is_definition: bool,
}

/// Every simple command of a script, those of inner scripts after the one that holds them.
pub(crate) fn commands(script: &str) -> Vec<Simple> {
    let mut found = Vec::new();
    collect(script, 0, &mut found);
    found
}

fn collect(script: &str, depth: usize, found: &mut Vec<Simple>) {
    if depth == MAX_DEPTH {
        return;
    }
    let read = Reader::read(script);
    let mut inner = read.inner;
    for (place, simple) in read.commands.iter().enumerate() {
        if let Some(script) = command::inner_script(&simple.words) {
            // A literal dollar for this shell is one for the inner shell to expand.
            inner.push(script.replace(PLAIN_DOLLAR, "$"));
        }
        let documents = read.documents.iter().filter(|(owner, _)| *owner == place);
        if command::is_shell(&simple.words) {
            inner.extend(documents.map(|(_, text)| text.clone()));
        }
    }
    found.extend(read.commands);
    for script in inner {
        collect(&script, depth + 1, found);
    }
}
