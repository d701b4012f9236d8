//! Reads one script in one pass.
//!
//! Never fails: what stays open at the end, or closes what was not open, is noted, and everything
//! up to there is in the list. Brackets are followed to a fixed depth, since each costs stack.

use super::{PLAIN_DOLLAR, SUBSTITUTION, Simple};
use crate::command::is_fetcher;

/// How deep brackets are followed.
const MAX_DEPTH: usize = 40;

/// Words after which a command begins.
const KEYWORDS: [&str; 14] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "coproc", "fi", "done",
    "esac",
];

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

/// A command that is being read.
#[derive(Debug, Default)]
struct Draft {
    simple: Simple,
    /// None between words.
    word: Option<String>,
    /// A part of the word stood in quotes, so it is no keyword.
    is_quoted: bool,
    role: Role,
    /// `case` commands around it whose `esac` did not come yet.
    cases: usize,
    /// Between `in` or `;;` and the `)` of a pattern.
    is_pattern: bool,
}

/// What the next word is for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Argument,
    Output,
    Input,
    /// `<<<`
    Text,
    Delimiter {
        drops_tabs: bool,
    },
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

    fn quoted(&mut self, draft: &mut Draft) {
        let end = self.rest.find('\'');
        if end.is_none() {
            self.note("a quote is not closed in it");
        }
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        for c in text.chars() {
            draft.push_plain(c);
        }
        self.rest = rest.strip_prefix('\'').unwrap_or(rest);
    }

    /// `$'…'`: like a quoted text, with escapes.
    fn ansi_quoted(&mut self, draft: &mut Draft) {
        draft.quote();
        loop {
            match self.next() {
                Some('\'') => return,
                Some('\\') => match self.next() {
                    Some('n') => draft.push('\n'),
                    Some('t') => draft.push('\t'),
                    Some(c) => draft.push_plain(c),
                    None => {}
                },
                Some(c) => draft.push_plain(c),
                None => return self.note("a quote is not closed in it"),
            }
        }
    }

    fn double_quoted(&mut self, draft: &mut Draft) {
        draft.quote();
        loop {
            match self.next() {
                Some('"') => return,
                Some(c) => self.expanded(c, draft),
                None => return self.note("a quote is not closed in it"),
            }
        }
    }

    /// A character of a text in which only substitutions and some escapes count.
    fn expanded(&mut self, c: char, draft: &mut Draft) {
        match c {
            '\\' if self.take("\n") => {}
            '\\' => match self.peek() {
                Some(next @ ('"' | '\\' | '$' | '`')) => {
                    self.next();
                    draft.push_plain(next);
                }
                _ => draft.push(c),
            },
            '$' => self.dollar(draft, true),
            '`' => self.backquoted(draft),
            c => draft.push(c),
        }
    }

    fn escaped(&mut self, draft: &mut Draft) {
        match self.next() {
            Some('\n') => {}
            Some(c) => {
                draft.quote();
                draft.push_plain(c);
            }
            None => draft.push('\\'),
        }
    }

    /// After a `$`.
    fn dollar(&mut self, draft: &mut Draft, is_quoted: bool) {
        if self.take("(") {
            // Of two brackets, what is between may be a sum or a subshell: read as commands, a sum
            // does no harm.
            let is_arithmetic = self.peek() == Some('(');
            self.arithmetic += usize::from(is_arithmetic);
            self.substitution(draft);
            self.arithmetic -= usize::from(is_arithmetic);
        } else if self.take("{") {
            self.braced(draft, is_quoted);
        } else {
            draft.push('$');
        }
    }

    /// Commands up to the closing bracket; in the word a sign stands for them.
    fn substitution(&mut self, draft: &mut Draft) {
        let around = std::mem::take(&mut self.commands);
        self.list(End::Bracket, false);
        let commands = std::mem::replace(&mut self.commands, around);
        draft.push(SUBSTITUTION);
        let first = commands.first().and_then(|first| first.words.first());
        if let Some(name) = first.filter(|name| is_fetcher(name)) {
            draft.word.get_or_insert_default().push_str(name);
        }
        self.substituted.extend(commands);
    }

    /// `${HOME}` is `$HOME`; anything more stays as it is written, but for what it substitutes.
    fn braced(&mut self, draft: &mut Draft, is_quoted: bool) {
        draft.push('$');
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_of_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        draft.word.get_or_insert_default().push_str(name);
        self.rest = rest;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.note("brackets are nested too deeply in it");
            self.rest = "";
        }
        loop {
            match self.next() {
                Some('}') => break,
                Some('"') => self.double_quoted(draft),
                Some('\'') if !is_quoted => self.quoted(draft),
                Some('\\') => self.escaped(draft),
                Some('$') => self.dollar(draft, is_quoted),
                Some('`') => self.backquoted(draft),
                Some(c) => draft.push(c),
                None => {
                    self.note("a bracket is not closed in it");
                    break;
                }
            }
        }
        self.depth -= 1;
    }

    fn backquoted(&mut self, draft: &mut Draft) {
        let mut script = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('`' | '\\' | '$')) => script.push(c),
                    Some(c) => script.extend(['\\', c]),
                    None => {}
                },
                Some(c) => script.push(c),
                None => {
                    self.note("a quote is not closed in it");
                    break;
                }
            }
        }
        draft.push(SUBSTITUTION);
        let first = script.split_whitespace().next();
        if let Some(name) = first.filter(|name| is_fetcher(name)) {
            draft.word.get_or_insert_default().push_str(name);
        }
        self.inner.push(Inner::Script(script));
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

impl Draft {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// A character that means nothing but itself.
    fn push_plain(&mut self, c: char) {
        self.push(if c == '$' { PLAIN_DOLLAR } else { c });
    }

    /// A quote begins: there is a word now, even an empty one.
    fn quote(&mut self) {
        self.is_quoted = true;
        self.word.get_or_insert_default();
    }

    fn has_words(&self) -> bool {
        self.word.is_some() || !self.simple.words.is_empty()
    }

    /// Inside `[[ … ]]`, where brackets and comparisons are words.
    fn is_test(&self) -> bool {
        let words = &self.simple.words;
        words.first().is_some_and(|word| word == "[[")
            && words.last().is_some_and(|word| word != "]]")
            && self.word.as_deref() != Some("]]")
    }

    fn argument(&mut self, word: String, is_quoted: bool) {
        let words = &mut self.simple.words;
        let is_keyword = words.is_empty() && !is_quoted && KEYWORDS.contains(&word.as_str());
        if is_keyword && word == "esac" {
            self.cases = self.cases.saturating_sub(1);
            self.is_pattern = false;
        }
        if is_keyword {
            return;
        }
        let is_case = words.first().is_some_and(|first| first == "case");
        if is_case && words.len() == 2 && word == "in" {
            words.clear();
            self.cases += 1;
            self.is_pattern = true;
            return;
        }
        let is_function = words.first().is_some_and(|first| first == "function");
        if is_function && words.len() == 2 && word == "{" {
            // A definition without brackets; its body begins here.
            words.clear();
            return;
        }
        words.push(word);
    }
}
