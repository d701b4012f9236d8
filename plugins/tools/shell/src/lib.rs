//! The command tool: `bash`.
//!
//! The host runs the command in its sandbox, bounds it, and cleans its output; this component
//! words what became of it. A command that fails is an outcome like any other: only what could
//! not be started at all is a fault.
//!
//! Configuration: `timeout_seconds = 120` is what a command gets when its call names no time;
//! `contained`, which the host sets, is what its sandbox allows, in words for the model.

mod answer;
mod wish;

use harness_sdk::{Call, Effects, Fault, Input, Outcome, Spec, Tool, ambient};
use harness_sdk::{export_tool, fault, process, spec};

use wish::{MAX_SECONDS, Wish, milliseconds};

/// Seconds a command gets when neither its call nor the configuration says.
const DEFAULT_SECONDS: u64 = 120;
/// What the host may need beyond that, to stop what is left and hand over the output.
const MARGIN_SECONDS: u64 = 10;

const SCHEMA: &str = r#"{"type":"object","properties":{
"command":{"type":"string","description":"Run by bash"},
"workdir":{"type":"string","description":"Directory to start in, default the workspace"},
"timeout":{"type":"integer","minimum":1,"maximum":600,"description":"Seconds, default {default}; of a job none"},
"background":{"type":"boolean","description":"Start `command` as a job"},
"job":{"type":"string","description":"Instead of `command`: show what this job did since last asked"},
"wait":{"type":"integer","minimum":0,"maximum":600,"description":"Seconds to wait for the job's end"},
"stop":{"type":"boolean","description":"End the job"}
},"additionalProperties":false}"#;

/// The component.
pub struct Shell;

export_tool!(Shell);

impl Tool for Shell {
    fn specs() -> Vec<Spec> {
        let config = ambient::config();
        match default_seconds(&config).and_then(|it| Ok((it, contained(&config)?))) {
            Ok((seconds, contained)) => vec![bash(seconds, &contained)],
            // The person who wrote it reads why the plugin does not load.
            Err(fault) => panic!("{}", fault.message),
        }
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        match wish::read(&call, default_seconds(&ambient::config())?)? {
            Wish::Run(request) => Ok(answer::of_command(&request, &process::run(&request)?)),
            Wish::Start(request) => Ok(answer::of_start(&process::start_job(&request)?)),
            Wish::Ask { job, ask } => Ok(answer::of_job(&job, &process::ask_job(&job, ask)?)),
        }
    }
}

/// What the configuration gives a command whose call names no time.
fn default_seconds(config: &str) -> Result<u64, Fault> {
    let seconds = Input::parse(config)?.number("timeout_seconds")?.unwrap_or(DEFAULT_SECONDS);
    if (1..=MAX_SECONDS).contains(&seconds) {
        return Ok(seconds);
    }
    let message = format!("`timeout_seconds` must be from 1 to {MAX_SECONDS}, it is {seconds}");
    Err(fault::invalid(message))
}

/// What the sandbox allows, as the model is told.
fn contained(config: &str) -> Result<String, Fault> {
    Ok(Input::parse(config)?.optional_text("contained")?.unwrap_or_default().to_owned())
}

fn bash(default_seconds: u64, contained: &str) -> Spec {
    let description = "Run a command in a fresh, non-interactive bash in the workspace. Shows the \
                      end of its output; what is longer is kept in a file to `read`. At its \
                      time-out it is killed with all it started. Servers and long work: start \
                      with `background`, then ask with `job`.";
    let description = format!("{description} {contained}");
    let schema = SCHEMA.replace("{default}", &default_seconds.to_string());
    Spec {
        timeout_ms: milliseconds(MAX_SECONDS + MARGIN_SECONDS),
        timeout_argument: Some("timeout".to_owned()),
        path_arguments: vec!["workdir".to_owned()],
        ..spec("bash", description.trim_end(), &schema, Effects::all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_says_what_a_silent_call_gets() {
        let check = |config: &str, expected: Option<u64>| {
            assert_eq!(default_seconds(config).ok(), expected, "{config}");
        };
        check("{}", Some(120));
        check(r#"{"timeout_seconds":5}"#, Some(5));
        check(r#"{"timeout_seconds":0}"#, None);
        check(r#"{"timeout_seconds":601}"#, None);
        check(r#"{"timeout_seconds":"5"}"#, None);
    }
}
