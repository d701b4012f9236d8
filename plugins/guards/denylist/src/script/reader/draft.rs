//! A simple command while it is being read.
//!
//! Knows which words are keywords and where a `case` stands; sees no character but those it is
//! given.

use crate::script::{PLAIN_DOLLAR, Simple};

/// Words after which a command begins.
const KEYWORDS: [&str; 14] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "coproc", "fi", "done",
    "esac",
];

/// A command that is being read.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) simple: Simple,
    /// None between words.
    pub(super) word: Option<String>,
    /// A part of the word stood in quotes, so it is no keyword.
    pub(super) is_quoted: bool,
    pub(super) role: Role,
    /// `case` commands around it whose `esac` did not come yet.
    pub(super) cases: usize,
    /// Between `in` or `;;` and the `)` of a pattern.
    pub(super) is_pattern: bool,
}

/// What the next word is for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
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

impl Draft {
    pub(super) fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// A character that means nothing but itself.
    pub(super) fn push_plain(&mut self, c: char) {
        self.push(if c == '$' { PLAIN_DOLLAR } else { c });
    }

    /// A quote begins: there is a word now, even an empty one.
    pub(super) fn quote(&mut self) {
        self.is_quoted = true;
        self.word.get_or_insert_default();
    }

    pub(super) fn has_words(&self) -> bool {
        self.word.is_some() || !self.simple.words.is_empty()
    }

    /// Inside `[[ … ]]`, where brackets and comparisons are words.
    pub(super) fn is_test(&self) -> bool {
        let words = &self.simple.words;
        words.first().is_some_and(|word| word == "[[")
            && words.last().is_some_and(|word| word != "]]")
            && self.word.as_deref() != Some("]]")
    }

    pub(super) fn argument(&mut self, word: String, is_quoted: bool) {
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
