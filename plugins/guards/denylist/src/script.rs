//! A shell script as the list of its simple commands.
//!
//! Knows quotes, escapes, operators, comments, redirections, here-documents, substitutions,
//! subshells and `case`; expands nothing but a leading `~`. Scripts inside a script (`sh -c`,
//! `eval`, a here-document for a shell, what is piped into one) are in the list as well. Every
//! byte is read once, and once more for each script it is a part of, within a budget: the time
//! grows with the length alone.

mod reader;

use crate::command;
use reader::{Inner, Reader};

/// How many times the script's own length may be read for the scripts in it.
const BUDGET: usize = 8;

/// Stands for a `$` that the shell would not expand, so that it is not taken for a variable.
pub(crate) const PLAIN_DOLLAR: char = '\u{1}';

/// Stands for a substitution in a word. Its commands are in the list by themselves; what is kept
/// of it is the name of its first command, where that fetches something.
pub(crate) const SUBSTITUTION: char = '\u{2}';

/// One command with its words, quotes removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) words: Vec<String>,
    /// Files that its output goes to.
    pub(crate) outputs: Vec<String>,
    /// Places of its here-documents among all of its script.
    documents: Vec<usize>,
    /// Reads the output of the command before it in the list.
    pub(crate) is_piped: bool,
    /// Runs in the background.
    pub(crate) is_background: bool,
    /// `name()`: not a command but the start of a function.
    pub(crate) is_definition: bool,
}

/// What was read of a script.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// Every simple command, those of inner scripts after the script that holds them.
    pub(crate) commands: Vec<Simple>,
    /// Why it could not be read to its end, where it could not.
    pub(crate) unread: Option<&'static str>,
    /// Bytes that were read, inner scripts counted again.
    pub(crate) bytes: usize,
}

/// Reads a script and all scripts in it.
pub(crate) fn read(script: &str) -> Read {
    let mut whole = Read::default();
    let budget = script.len().saturating_mul(BUDGET);
    let mut pending = vec![Inner::Script(script.to_owned())];
    while let Some(next) = pending.pop() {
        if whole.bytes + next.len() > budget {
            whole.unread = Some("scripts are nested too deeply in it");
            break;
        }
        whole.bytes += next.len();
        let Reader { commands, documents, inner, unread, .. } = Reader::read(&next);
        whole.unread = whole.unread.or(unread);
        pending.extend(inner);
        for simple in commands {
            let feeding = whole.commands.last().filter(|_| simple.is_piped);
            let fed = feeding.and_then(|feeding| command::printed(&feeding.words));
            let texts = simple.documents.iter().map(|place| documents[*place].clone());
            let texts = texts.chain(fed).filter(|_| command::reads_script(&simple.words));
            pending.extend(texts.chain(command::inner_script(&simple.words)).map(Inner::script));
            for words in command::executed(&simple.words) {
                pending.extend(command::inner_script(&words).map(Inner::script));
                whole.commands.push(Simple { words, ..Simple::default() });
            }
            whole.commands.push(simple);
        }
    }
    whole
}
