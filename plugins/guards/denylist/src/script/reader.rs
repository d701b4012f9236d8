//! Reads one script, character by character.
//!
//! Never fails: an open quote or bracket ends with the script.

use super::{PLAIN_DOLLAR, Simple};

/// Words after which a command begins.
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "coproc", "fi"];

/// What a script holds.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    chars: Vec<char>,
    at: usize,
    simple: Simple,
    /// The word being read; `None` between words.
    word: Option<String>,
    /// What the next word is for.
    role: Role,
    /// Here-documents whose bodies start after the next line ending: the delimiter, and whether
    /// leading tabs are dropped.
    awaited: Vec<(String, bool)>,
    pub(crate) commands: Vec<Simple>,
    /// Scripts inside substitutions.
    pub(crate) inner: Vec<String>,
    /// Here-documents, each with the place of the command that reads it.
    pub(crate) documents: Vec<(usize, String)>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Role {
    #[default]
    Argument,
    Output,
    Input,
    Delimiter {
        drops_tabs: bool,
    },
}

impl Reader {
    pub(crate) fn read(script: &str) -> Reader {
        let mut reader = Reader { chars: script.chars().collect(), ..Reader::default() };
        while reader.at < reader.chars.len() {
            reader.step();
        }
        reader.end_command();
        reader
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn step(&mut self) {
        let c = self.chars[self.at];
        self.at += 1;
        match c {
            '\'' => {
                self.word.get_or_insert_default();
                while let Some(c) = self.next_until('\'') {
                    self.push(if c == '$' { PLAIN_DOLLAR } else { c });
                }
            }
            '"' => self.double_quoted(),
            '\\' => match self.peek(0) {
                Some('\n') => self.at += 1,
                Some(c) => {
                    self.at += 1;
                    self.push(if c == '$' { PLAIN_DOLLAR } else { c });
                }
                None => {}
            },
            '$' => self.dollar(),
            '`' => self.backquoted(),
            '#' if self.word.is_none() => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            ' ' | '\t' | '\r' => self.end_word(),
            '\n' => {
                self.end_command();
                self.skip_documents();
            }
            ';' | '(' | ')' => self.bracket_or_end(c),
            '|' => {
                self.end_command();
                if matches!(self.peek(0), Some('|')) {
                    self.at += 1;
                } else {
                    self.at += usize::from(self.peek(0) == Some('&'));
                    self.simple.is_piped = true;
                }
            }
            '&' => self.ampersand(),
            '<' | '>' => self.redirection(c),
            '~' if self.word.is_none() && self.role == Role::Argument => {
                self.word = Some("$HOME".to_owned());
            }
            c => self.push(c),
        }
    }

    fn next_until(&mut self, end: char) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        (c != end).then_some(c)
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.next_until('"') {
            match (c, self.peek(0)) {
                ('\\', Some('\n')) => self.at += 1,
                ('\\', Some(next @ ('"' | '\\' | '$' | '`'))) => {
                    self.at += 1;
                    self.push(if next == '$' { PLAIN_DOLLAR } else { next });
                }
                ('$', _) => self.dollar(),
                ('`', _) => self.backquoted(),
                (c, _) => self.push(c),
            }
        }
    }

    /// After a `$`: a substitution's script is kept, and its text stays in the word.
    fn dollar(&mut self) {
        if self.peek(0) == Some('(') {
            self.at += 1;
            let script = self.bracketed();
            let word = self.word.get_or_insert_default();
            word.push_str("$(");
            word.push_str(&script);
            word.push(')');
            self.inner.push(script);
        } else if self.peek(0) == Some('{') {
            // `${HOME}` is `$HOME`; anything more stays as it is written.
            let rest = &self.chars[self.at + 1..];
            let is_of_name = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
            let name: String = rest.iter().take_while(is_of_name).collect();
            let is_plain = rest.get(name.len()) == Some(&'}');
            self.push('$');
            if is_plain {
                self.at += name.len() + 2;
                self.word.get_or_insert_default().push_str(&name);
            }
        } else {
            self.push('$');
        }
    }

    fn backquoted(&mut self) {
        let mut script = String::new();
        while let Some(c) = self.next_until('`') {
            script.push(c);
        }
        let word = self.word.get_or_insert_default();
        word.push_str("$(");
        word.push_str(&script);
        word.push(')');
        self.inner.push(script);
    }

    /// The text up to the bracket that closes, quotes respected.
    fn bracketed(&mut self) -> String {
        let start = self.at;
        let mut open = 1;
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (Some('\''), '\'') | (Some('"'), '"') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => self.at += 1,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                (None, _) => {}
            }
            if open == 0 {
                break;
            }
        }
        let end = if open == 0 { self.at - 1 } else { self.at.min(self.chars.len()) };
        self.at = self.at.min(self.chars.len());
        self.chars[start..end].iter().collect()
    }

    fn bracket_or_end(&mut self, c: char) {
        if c == '(' && self.peek(0) == Some(')') && self.word.is_some() {
            self.at += 1;
            self.simple.is_definition = true;
        }
        self.end_command();
    }

    fn ampersand(&mut self) {
        match self.peek(0) {
            Some('&') => {
                self.at += 1;
                self.end_command();
            }
            Some('>') => {
                self.end_word();
                self.at += 1;
                self.at += usize::from(self.peek(0) == Some('>'));
                self.role = Role::Output;
            }
            _ => {
                self.end_word();
                self.simple.is_background = true;
                self.end_command();
            }
        }
    }

    fn redirection(&mut self, c: char) {
        // A number right before is the descriptor, not a word.
        let is_number = |word: &String| word.chars().all(|c| c.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        }
        self.end_word();
        match (c, self.peek(0), self.peek(1)) {
            (_, Some('('), _) => {
                self.at += 1;
                let script = self.bracketed();
                self.word = Some(format!("{c}({script})"));
                self.inner.push(script);
            }
            ('<', Some('<'), Some('<')) => {
                self.at += 2;
                self.role = Role::Input;
            }
            ('<', Some('<'), next) => {
                let drops_tabs = next == Some('-');
                self.at += 1 + usize::from(drops_tabs);
                self.role = Role::Delimiter { drops_tabs };
            }
            // To or from another descriptor.
            (_, Some('&'), _) => {
                self.at += 1;
                self.role = Role::Input;
            }
            ('<', ..) => self.role = Role::Input,
            (_, Some('>' | '|'), _) => {
                self.at += 1;
                self.role = Role::Output;
            }
            _ => self.role = Role::Output,
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match std::mem::take(&mut self.role) {
            Role::Argument => {
                let is_keyword = self.simple.words.is_empty() && KEYWORDS.contains(&&*word);
                if !is_keyword {
                    self.simple.words.push(word);
                }
            }
            Role::Output => self.simple.outputs.push(word),
            Role::Input => {}
            Role::Delimiter { drops_tabs } => self.awaited.push((word, drops_tabs)),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.role = Role::Argument;
        let simple = std::mem::take(&mut self.simple);
        if simple.words.is_empty() && simple.outputs.is_empty() {
            // `|` and a line ending, or `{` and a line ending: the pipe goes on.
            self.simple.is_piped = simple.is_piped;
        } else {
            self.commands.push(simple);
        }
    }

    /// Bodies of here-documents are text, and belong to the command before.
    fn skip_documents(&mut self) {
        for (delimiter, drops_tabs) in std::mem::take(&mut self.awaited) {
            let mut body = String::new();
            while self.at < self.chars.len() {
                let rest = &self.chars[self.at..];
                let line: String = rest.iter().take_while(|c| **c != '\n').collect();
                self.at = (self.at + line.chars().count() + 1).min(self.chars.len());
                let bare = if drops_tabs { line.trim_start_matches('\t') } else { &line };
                if bare == delimiter {
                    break;
                }
                body.push_str(bare);
                body.push('\n');
            }
            self.documents.push((self.commands.len().saturating_sub(1), body));
        }
    }
}
