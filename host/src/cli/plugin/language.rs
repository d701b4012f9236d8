//! The languages that plugins are written in here.

use std::fmt;

/// What a project is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    C,
    Go,
}

impl Language {
    pub(super) const ALL: [Language; 5] =
        [Language::Rust, Language::Python, Language::JavaScript, Language::C, Language::Go];

    /// As it is written in a command, in `plugin.toml`, and as a folder of the starters.
    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::C => "c",
            Language::Go => "go",
        }
    }

    /// Reads a name; why it is none.
    pub(super) fn parse(text: &str) -> Result<Language, String> {
        let found = Language::ALL.into_iter().find(|language| language.name() == text);
        found
            .ok_or_else(|| format!("`{text}` is none of `rust`, `python`, `javascript`, `c`, `go`"))
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
