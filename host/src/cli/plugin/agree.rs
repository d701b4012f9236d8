//! A person's word: asked for on a terminal, or given before with `--yes`.
//!
//! Where nobody can be asked, nobody agreed.

#![expect(clippy::print_stdout, reason = "a person is asked here")]

use std::io::{IsTerminal, Write};

use anyhow::bail;

/// How a person's word is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// It is asked for.
    Asked,
    /// `--yes` stands for it.
    Given,
}

impl Word {
    /// Whether the person agrees.
    ///
    /// # Errors
    ///
    /// When there is no terminal to ask on.
    pub(super) fn agrees(self, question: &str) -> anyhow::Result<bool> {
        if self == Word::Given {
            return Ok(true);
        }
        let input = std::io::stdin();
        if !input.is_terminal() {
            bail!(
                "nobody is there to ask, and nothing was changed\n\
                 hint: `--yes` agrees to what stands above"
            );
        }
        print!("{question} [y/N] ");
        std::io::stdout().flush()?;
        let mut answer = String::new();
        input.read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}
