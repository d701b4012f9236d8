//! The search tools: `glob` and `grep`.
//!
//! The host walks and searches, in parallel and at native speed; this component pages, words
//! the answers, and tells the host which lines were shown. It never reads a file itself.

mod glob;
mod grep;
mod spec;

use harness_sdk::{Call, Fault, Input, Outcome, Spec, Tool, export_tool, fault};

/// The component.
pub struct Search;

export_tool!(Search);

impl Tool for Search {
    fn specs() -> Vec<Spec> {
        spec::all()
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        match call.tool.as_str() {
            "glob" => glob::run(&input),
            "grep" => grep::run(&input),
            other => Err(fault::unsupported(format!("this component has no tool `{other}`"))),
        }
    }
}

/// How much of a pattern an answer repeats, in characters.
const ECHO_CHARS: usize = 200;

/// The start of a pattern, as much as an answer repeats of it.
fn head(pattern: &str) -> String {
    match pattern.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}\u{2026}", &pattern[..end]),
        None => pattern.to_owned(),
    }
}

/// A count that the contract keeps in 32 bits; more than that is as good as all.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
