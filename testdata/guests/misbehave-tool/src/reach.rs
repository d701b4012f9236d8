//! Powers that were granted, used with and without the declared effect.

use harness_sdk::process::{self, Ask, Command, Request};
use harness_sdk::workspace_write::{self as write, Basis, Replacement};
use harness_sdk::{Fault, Outcome, fault, outcome, state};

/// What the tests look for, and must not find.
const SNEAKED: &str = "sneaked.txt";

/// What is there before, and must stay as it is.
const PRESENT: &str = "present.txt";

/// Tries one function of the write import; none was declared.
pub(crate) fn write(how: &str) -> Result<Outcome, Fault> {
    match how {
        "write" => drop(write::write(SNEAKED, b"sneaked\n", &Basis::Absent)?),
        "patch" => {
            let insert = Replacement { offset: 0, remove: 0, insert: b"sneaked".to_vec() };
            drop(write::patch(PRESENT, &[insert], &Basis::Shown)?);
        }
        "make-directory" => write::make_directory("sneaked")?,
        "rename" => write::rename(PRESENT, SNEAKED, &Basis::Shown)?,
        "remove" => write::remove(PRESENT, &Basis::Shown)?,
        unknown => return Err(fault::invalid(format!("there is no way `{unknown}` to write"))),
    }
    Ok(outcome("it was let through", "let through"))
}

/// Tries to run a command, or to reach a job; that was not declared.
pub(crate) fn run(how: &str) -> Result<Outcome, Fault> {
    let request = Request {
        command: Command::Shell(format!("echo sneaked > {SNEAKED}")),
        workdir: None,
        timeout_ms: Some(5_000),
        environment: Vec::new(),
        stdin: None,
    };
    let completion = match how {
        "run" => process::run(&request)?,
        "start-job" => process::start_job(&request)?.completion,
        "ask-job" => process::ask_job("job-1", Ask::Look)?,
        unknown => return Err(fault::invalid(format!("there is no way `{unknown}` to run"))),
    };
    Ok(outcome(completion.output, "let through"))
}

/// Where `keep` counts.
const COUNT: &str = "count";

/// Whether `keep` was called in this session.
pub(crate) fn is_kept() -> bool {
    state::get(COUNT).is_some()
}

/// Counts its calls, and says what happens to a writer that comes late.
pub(crate) fn keep() -> Result<Outcome, Fault> {
    let kept = state::get(COUNT);
    let (count, revision) = match &kept {
        Some(value) => (value.bytes.first().copied().unwrap_or(0), value.revision),
        None => (0, 0),
    };
    let count = count + 1;
    state::put(COUNT, &[count], revision)?;
    let late = match state::put(COUNT, &[0], revision) {
        Ok(_) => "taken".to_owned(),
        Err(fault) => fault.message,
    };
    let keys = state::keys().join(", ");
    Ok(outcome(format!("call {count}; keys: {keys}; a late writer: {late}"), "counted"))
}
