//! The guard `repeat`: refuses a call that can only say again what it has said three times.
//!
//! Three calls in a row with the same tool, input and outcome, and a workspace that has not
//! changed since the first of them: a fourth would learn nothing. As soon as one of these
//! differs it is allowed again, so waiting for something that does change is never refused.

use harness_sdk::{Denial, Guard, PastCall, Proposal, export_guard};

/// How often the same may be said before it is refused.
const ENOUGH: usize = 3;

/// The component.
pub struct Repeat;

export_guard!(Repeat);

impl Guard for Repeat {
    const EARLIER: u32 = 64;

    fn check(proposal: Proposal) -> Option<Denial> {
        let tool = &proposal.call.tool;
        let is_same =
            |past: &&PastCall| past.tool == *tool && past.input_digest == proposal.input_digest;
        // A refused call of the same kind is part of the row but said nothing of its own.
        let row: Vec<&PastCall> = proposal
            .earlier
            .iter()
            .rev()
            .take_while(is_same)
            .filter(|past| !past.refused)
            .take(ENOUGH)
            .collect();
        let [newest, .., oldest] = row.as_slice() else {
            return None;
        };
        let is_enough = row.len() == ENOUGH;
        let says_the_same = row.iter().all(|past| past.outcome_digest == newest.outcome_digest);
        if !is_enough || !says_the_same || oldest.workspace_changed_since {
            return None;
        }
        Some(Denial::new(
            "same-outcome",
            format!(
                "`{tool}` was called {ENOUGH} times in a row with the same input, the outcome was \
                 the same each time, and nothing in the workspace has changed since. Use what it \
                 said, change the input, or do something else first"
            ),
        ))
    }
}

#[cfg(test)]
mod tests;
