//! The languages that plugins are written in here.

use std::fmt;

/// What a project is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Rust,
    Python,
    JavaScript,
    C,
}

impl Language {
    pub(super) const ALL: [Language; 4] =
        [Language::Rust, Language::Python, Language::JavaScript, Language::C];

    /// As it is written in a command, in `plugin.toml`, and as a folder of the starters.
    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Rust => "rust",
            Language::Python => "python",
            Language::JavaScript => "javascript",
            Language::C => "c",
        }
    }

    /// Reads a name; why it is none.
    pub(super) fn parse(text: &str) -> Result<Language, String> {
        let found = Language::ALL.into_iter().find(|language| language.name() == text);
        found.ok_or_else(|| match text {
            "go" => "Go is left out: its collector reads the clock while the host hands over an \
                     input, which a component may not do, and the plugin traps"
                .to_owned(),
            _ => format!("`{text}` is none of `rust`, `python`, `javascript`, `c`"),
        })
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
