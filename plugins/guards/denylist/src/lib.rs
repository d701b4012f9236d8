//! The guard `denylist`: stops the accidents everybody knows.
//!
//! This is ergonomics, not security: it reads a command the way a shell would, as far as that
//! is simple, and a model that wants around it gets around it. What a command can reach is the
//! sandbox's to say. So it refuses only what is hardly ever meant, and looks only where a
//! command stands: a text that mentions `rm -rf /` is a text.
//!
//! Configuration: `deny = ["terraform apply", "git push *", …]` adds commands; see `pattern`.

mod command;
mod pattern;
mod rules;
mod script;

use harness_sdk::{Denial, Effects, Guard, Input, Proposal, export_guard};
use serde_json::Value;

use pattern::Pattern;

/// The component.
pub struct Denylist;

export_guard!(Denylist);

impl Guard for Denylist {
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

/// The commands that the configuration adds.
fn configured(config: &str) -> Result<Vec<Pattern>, String> {
    let wrong = || {
        "the guard `denylist` can't read its configuration: `deny` must be a list of texts, each of \
         which names a command. A person must mend it; answer with what you have"
            .to_owned()
    };
    let config: Value = serde_json::from_str(config).map_err(|_| wrong())?;
    let Some(denied) = config.get("deny") else {
        return Ok(Vec::new());
    };
    let denied = denied.as_array().ok_or_else(wrong)?.iter();
    denied.map(|entry| entry.as_str().and_then(Pattern::new).ok_or_else(wrong)).collect()
}

fn judge(script: &str, denied: &[Pattern]) -> Option<Denial> {
    rules::first(script, &script::read(script), denied)
}

#[cfg(test)]
mod tests;
