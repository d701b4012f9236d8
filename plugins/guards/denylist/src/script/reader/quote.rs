//! The parts of a word: quotes, escapes, and what stands behind a `$` or between backquotes.

use super::draft::Draft;
use super::{End, Inner, MAX_DEPTH, Reader};
use crate::command::is_fetcher;
use crate::script::SUBSTITUTION;

impl Reader<'_> {
    pub(super) fn quoted(&mut self, draft: &mut Draft) {
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
    pub(super) fn ansi_quoted(&mut self, draft: &mut Draft) {
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

    pub(super) fn double_quoted(&mut self, draft: &mut Draft) {
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
    pub(super) fn expanded(&mut self, c: char, draft: &mut Draft) {
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

    pub(super) fn escaped(&mut self, draft: &mut Draft) {
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
    pub(super) fn dollar(&mut self, draft: &mut Draft, is_quoted: bool) {
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
    pub(super) fn substitution(&mut self, draft: &mut Draft) {
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
    pub(super) fn braced(&mut self, draft: &mut Draft, is_quoted: bool) {
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

    pub(super) fn backquoted(&mut self, draft: &mut Draft) {
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
}
