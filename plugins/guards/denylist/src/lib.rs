//! The guard `denylist`: stops the accidents everybody knows.
//!
//! This is ergonomics, not security: it reads a command the way a shell would, as far as that
//! is simple, and a model that wants around it gets around it. What a command can reach is the
//! sandbox's to say. So it refuses only what is hardly ever meant, and looks only where a
//! command stands: a text that mentions `rm -rf /` is a text.
//!
//! Configuration: `deny = ["terraform apply", …]` adds commands by their first words.

mod command;
mod rules;
mod script;

use harness_sdk::{Denial, Effects, Guard, Input, Proposal, export_guard};
use serde_json::Value;

use script::Simple;

/// The component.
pub struct Denylist;

export_guard!(Denylist);

impl Guard for Denylist {
    const NAME: &'static str = "denylist";

    fn check(proposal: Proposal) -> Option<Denial> {
        if !proposal.effects.contains(Effects::EXECUTE) {
            return None;
        }
        let input = Input::parse(&proposal.call.input).ok()?;
        let script = input.optional_text("command").ok()??;
        match configured(&proposal.config) {
            Ok(denied) => judge(script, &denied),
            Err(reason) => Some(Denial::new("configuration", reason)),
        }
    }
}

/// The first words of each command that the configuration adds.
fn configured(config: &str) -> Result<Vec<Vec<String>>, String> {
    let wrong = || {
        "the guard `denylist` can't read its configuration: `deny` must be a list of texts. A \
         person must mend it; answer with what you have"
            .to_owned()
    };
    let config: Value = serde_json::from_str(config).map_err(|_| wrong())?;
    let Some(denied) = config.get("deny") else {
        return Ok(Vec::new());
    };
    denied
        .as_array()
        .ok_or_else(wrong)?
        .iter()
        .map(|entry| {
            let words = entry.as_str().ok_or_else(wrong)?.split_whitespace();
            Ok(words.map(str::to_owned).collect::<Vec<_>>())
        })
        .filter(|words| !words.as_ref().is_ok_and(Vec::is_empty))
        .collect()
}

fn judge(script: &str, denied: &[Vec<String>]) -> Option<Denial> {
    let commands: Vec<Simple> = script::commands(script);
    rules::first(&commands, denied)
}

#[cfg(test)]
mod tests;
