//! Reads one script in one pass.
//!
//! Never fails: what stays open at the end, or closes what was not open, is noted, and everything
//! up to there is in the list. Brackets are followed to a fixed depth, since each costs stack.

mod draft;
mod quote;

use super::{PLAIN_DOLLAR, Simple};
use draft::{Draft, Role};

/// How deep brackets are followed.
const MAX_DEPTH: usize = 40;

/// A script inside a script.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Inner {
    Script(String),
    /// Text in which only substitutions count.
    Text(String),
}

impl Inner {
    /// The text of an argument; a literal dollar for this shell is one for the inner to expand.
    pub(super) fn script(text: String) -> Inner {
        Inner::Script(text.replace(PLAIN_DOLLAR, "$"))
    }

    pub(super) fn len(&self) -> usize {
        let (Inner::Script(text) | Inner::Text(text)) = self;
        text.len()
    }
}

/// What a script holds.
#[derive(Debug, Default)]
pub(super) struct Reader<'a> {
    /// What was not read yet.
    rest: &'a str,
    depth: usize,
    /// Inside `((…))`, where `<<` shifts and `#` is a number's base.
    arithmetic: usize,
    /// Here-documents whose bodies start after the next line ending.
    awaited: Vec<Awaited>,
    /// Of the list that is being read.
    pub(super) commands: Vec<Simple>,
    /// Commands of substitutions, which go behind all others.
    substituted: Vec<Simple>,
    pub(super) documents: Vec<String>,
    pub(super) inner: Vec<Inner>,
    pub(super) unread: Option<&'static str>,
}

#[derive(Debug)]
struct Awaited {
    place: usize,
    delimiter: String,
    drops_tabs: bool,
    expands: bool,
}

/// What a list of commands ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Script,
    Bracket,
}

impl<'a> Reader<'a> {
    pub(super) fn read(inner: &'a Inner) -> Reader<'a> {
        let (Inner::Script(text) | Inner::Text(text)) = inner;
        let mut reader = Reader { rest: text, ..Reader::default() };
        match inner {
            Inner::Script(_) => reader.list(End::Script, false),
            Inner::Text(_) => {
                let mut draft = Draft::default();
                while let Some(c) = reader.next() {
                    reader.expanded(c, &mut draft);
                }
            }
        }
        let substituted = std::mem::take(&mut reader.substituted);
        reader.commands.extend(substituted);
        reader
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn note(&mut self, why: &'static str) {
        self.unread.get_or_insert(why);
    }

    /// Reads commands up to `end`. The first reads a pipe when the brackets do.
    fn list(&mut self, end: End, is_piped: bool) {
        let mut draft = Draft::default();
        draft.simple.is_piped = is_piped;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.note("brackets are nested too deeply in it");
            self.rest = "";
        }
        let mut is_closed = end == End::Script;
        while let Some(c) = self.next() {
            if c == ')' && end == End::Bracket && !draft.is_pattern && !draft.is_test() {
                is_closed = true;
                break;
            }
            self.step(c, &mut draft);
        }
        if !is_closed {
            self.note("a bracket is not closed in it");
        }
        self.end_command(&mut draft);
        self.depth -= 1;
    }

    fn step(&mut self, c: char, draft: &mut Draft) {
        match c {
            '\'' => {
                draft.quote();
                self.quoted(draft);
            }
            '"' => self.double_quoted(draft),
            '\\' => self.escaped(draft),
            '$' if self.take("'") => self.ansi_quoted(draft),
            '$' if self.take("\"") => self.double_quoted(draft),
            '$' => self.dollar(draft, false),
            '`' => self.backquoted(draft),
            '#' if draft.word.is_none() && self.arithmetic == 0 => {
                let end = self.rest.find('\n').unwrap_or(self.rest.len());
                self.rest = &self.rest[end..];
            }
            ' ' | '\t' | '\r' => self.end_word(draft),
            '(' | ')' | '<' | '>' | '|' | '&' if draft.is_test() => draft.push(c),
            '\n' => {
                self.end_command(draft);
                self.read_documents();
            }
            ';' => {
                let is_branch = draft.cases > 0 && (self.take(";") || self.peek() == Some('&'));
                self.take("&");
                self.end_command(draft);
                draft.is_pattern = is_branch;
            }
            '(' => self.bracket(draft),
            ')' if draft.is_pattern => {
                self.end_word(draft);
                draft.simple = Simple::default();
                draft.is_pattern = false;
            }
            ')' => {
                self.note("a bracket closes nothing in it");
                self.end_command(draft);
            }
            '|' if draft.is_pattern => self.end_word(draft),
            '|' => {
                self.end_command(draft);
                if !self.take("|") {
                    self.take("&");
                    draft.simple.is_piped = true;
                }
            }
            '&' => self.ampersand(draft),
            '<' | '>' => self.redirection(c, draft),
            '~' if draft.word.is_none() && draft.role == Role::Argument => {
                draft.word = Some("$HOME".to_owned());
            }
            c => draft.push(c),
        }
    }

    fn bracket(&mut self, draft: &mut Draft) {
        let before = draft.word.as_deref().and_then(|word| word.chars().next_back());
        if draft.is_pattern {
            // The optional bracket before a pattern.
        } else if self.peek() == Some(')') && before != Some('=') && draft.has_words() {
            self.next();
            draft.simple.is_definition = true;
            self.end_command(draft);
        } else if before.is_some_and(|c| "=?*+@!".contains(c)) {
            // A list of values, or a pattern of file names: words, and no command.
            let commands = self.commands.len();
            self.list(End::Bracket, false);
            self.commands.truncate(commands);
        } else {
            let is_arithmetic = !draft.has_words() && self.peek() == Some('(');
            self.arithmetic += usize::from(is_arithmetic);
            self.end_word(draft);
            self.list(End::Bracket, draft.simple.is_piped);
            self.arithmetic -= usize::from(is_arithmetic);
        }
    }

    fn ampersand(&mut self, draft: &mut Draft) {
        if self.take("&") {
            self.end_command(draft);
        } else if self.take(">") {
            self.end_word(draft);
            self.take(">");
            draft.role = Role::Output;
        } else {
            self.end_word(draft);
            draft.simple.is_background = true;
            self.end_command(draft);
        }
    }

    fn redirection(&mut self, c: char, draft: &mut Draft) {
        if self.take("(") {
            draft.word.get_or_insert_default();
            return self.substitution(draft);
        }
        if c == '<' && self.arithmetic > 0 {
            return draft.push(c);
        }
        // A number right before is the descriptor, not a word.
        let is_number = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
        if draft.word.as_ref().is_some_and(is_number) {
            draft.word = None;
        }
        self.end_word(draft);
        draft.role = match c {
            '<' if self.take("<<") => Role::Text,
            '<' if self.take("<") => Role::Delimiter { drops_tabs: self.take("-") },
            '<' if self.take(">") => Role::Output,
            // To or from another descriptor; `>&` may name a file as well.
            '<' => {
                self.take("&");
                Role::Input
            }
            _ => {
                let _ = self.take(">") || self.take("|") || self.take("&");
                Role::Output
            }
        };
    }

    fn end_word(&mut self, draft: &mut Draft) {
        let is_quoted = std::mem::take(&mut draft.is_quoted);
        let Some(word) = draft.word.take() else { return };
        match std::mem::take(&mut draft.role) {
            Role::Argument => draft.argument(word, is_quoted),
            Role::Output => draft.simple.outputs.push(word),
            Role::Input => {}
            Role::Text => {
                draft.simple.documents.push(self.documents.len());
                self.documents.push(word);
            }
            Role::Delimiter { drops_tabs } => {
                let place = self.documents.len();
                draft.simple.documents.push(place);
                self.documents.push(String::new());
                let expands = !is_quoted;
                self.awaited.push(Awaited { place, delimiter: word, drops_tabs, expands });
            }
        }
    }

    fn end_command(&mut self, draft: &mut Draft) {
        self.end_word(draft);
        draft.role = Role::Argument;
        if draft.is_pattern {
            return;
        }
        let simple = std::mem::take(&mut draft.simple);
        if !simple.words.is_empty() || !simple.outputs.is_empty() {
            self.commands.push(simple);
        } else {
            // `|` and a line ending, or `{` and a line ending: the pipe goes on.
            draft.simple.is_piped = simple.is_piped;
        }
    }

    /// Bodies of here-documents are text; in those with a plain delimiter substitutions count.
    fn read_documents(&mut self) {
        for awaited in std::mem::take(&mut self.awaited) {
            let mut body = String::new();
            while !self.rest.is_empty() {
                let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
                self.rest = rest;
                let line = if awaited.drops_tabs { line.trim_start_matches('\t') } else { line };
                if line == awaited.delimiter {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            if awaited.expands && body.contains(['$', '`']) {
                self.inner.push(Inner::Text(body.clone()));
            }
            self.documents[awaited.place] = body;
        }
    }
}
