//! An example of a guard that keeps a habit: `tests-first` refuses to change code until a test has
//! failed.
//!
//! ```toml
//! [plugin.tests-first]
//! path = "/absolute/path/tests-first.wasm"
//! config = { paths = ["src/"], test = ["cargo test", "pytest", "npm test"] }
//! ```
//!
//! These are also what it takes for granted without a `config`. A call that writes a file below one of
//! `paths` passes while the last of the run's test commands, as far as the last 64 calls show, failed:
//! code changes from a failing test to a passing one. Commands are not held back, so this is a habit
//! and no wall. Which calls are test commands is read from their beginning (`past`).

mod past;
mod rules;

use harness_sdk::{Denial, Effects, Guard, NamedPath, Proposal, export_guard};

use past::Tests;
use rules::Rules;

/// The component.
pub struct TestsFirst;

export_guard!(TestsFirst);

impl Guard for TestsFirst {
    const EARLIER: u32 = 64;

    fn check(proposal: Proposal) -> Option<Denial> {
        let effects = proposal.effects;
        // A command's path is where it starts, and says nothing of what it writes.
        if !effects.contains(Effects::WRITE) || effects.contains(Effects::EXECUTE) {
            return None;
        }
        let rules = match Rules::read(&proposal.config) {
            Ok(rules) => rules,
            Err(reason) => return Some(Denial::new("configuration", reason)),
        };
        let path = proposal.paths.iter().find_map(|named| guarded(named, &rules))?;
        let command = &rules.test[0];
        let reason = match Tests::of(&proposal.earlier, &rules.test) {
            Tests::Failed => return None,
            Tests::Passed => format!(
                "{path} is code, and the tests passed when they last ran: first write a test that \
                 fails, and run it (`{command}`)"
            ),
            Tests::NotRun => format!(
                "{path} is code, and no test has failed yet in this run: first write a test for what \
                 is to change, and run it (`{command}`); the call may then be sent again"
            ),
            Tests::Unclear => format!(
                "{path} is code, and the last tests ran in a command whose exit code may not be \
                 theirs: run `{command}` again, short and as the last thing in its command, without a \
                 pipe and not as a job"
            ),
        };
        Some(Denial::new("no-failing-test", reason))
    }
}

/// How to call a path that the rules are about. One that leads nowhere certain may be such a one.
fn guarded(named: &NamedPath, rules: &Rules) -> Option<String> {
    match &named.path {
        Some(path) => rules.is_about(path).then(|| format!("`{path}`")),
        None => Some(format!("what `{}` names, and may lead to,", named.argument)),
    }
}

#[cfg(test)]
mod tests;
