//! The command tool: `bash`.
//!
//! The host runs the command in its sandbox, bounds it, and cleans its output; this component
//! words what became of it. A command that fails is an outcome like any other: only what could
//! not be started at all is a fault.
//!
//! Configuration: `timeout_seconds = 120` is what a command gets when its call names no time.

mod answer;

use harness_sdk::process::{self, Command, Request};
use harness_sdk::{Call, Effects, Fault, Input, Outcome, Spec, Tool, ambient, export_tool, fault};

/// Seconds a command gets when neither its call nor the configuration says.
const DEFAULT_SECONDS: u64 = 120;
/// Seconds a command may ask for.
const MAX_SECONDS: u64 = 600;
/// What the host may need beyond that, to stop what is left and hand over the output.
const MARGIN_SECONDS: u64 = 10;
/// Kept of the run's time, so that the output of a command that is cut short still arrives.
const RESERVE_MS: u32 = 1_000;

const SCHEMA: &str = r#"{"type":"object","properties":{
"command":{"type":"string","description":"Run by bash"},
"workdir":{"type":"string","description":"Directory to start in, default the workspace"},
"timeout":{"type":"integer","minimum":1,"maximum":600,"description":"Seconds, default {default}"}
},"required":["command"],"additionalProperties":false}"#;

/// The component.
pub struct Shell;

export_tool!(Shell);

impl Tool for Shell {
    fn specs() -> Vec<Spec> {
        match default_seconds(&ambient::config()) {
            Ok(seconds) => vec![spec(seconds)],
            // The person who wrote it reads why the plugin does not load.
            Err(fault) => panic!("{}", fault.message),
        }
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let request = request(&call, default_seconds(&ambient::config())?)?;
        let completion = process::run(&request)?;
        Ok(answer::outcome_of(&request, &completion))
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

fn spec(default_seconds: u64) -> Spec {
    Spec {
        name: "bash".to_owned(),
        description: "Run a command in a fresh, non-interactive bash in the workspace. Shows the \
                      end of its output; what is longer is kept in a file to `read`. A command at \
                      its time-out is killed with all it started; what should go on after the \
                      call must be sent to the background."
            .to_owned(),
        input_schema: SCHEMA.replace('\n', "").replace("{default}", &default_seconds.to_string()),
        effects: Effects::all(),
        timeout_ms: milliseconds(MAX_SECONDS + MARGIN_SECONDS),
        timeout_argument: Some("timeout".to_owned()),
    }
}

fn request(call: &Call, default_seconds: u64) -> Result<Request, Fault> {
    if call.tool != "bash" {
        return Err(fault::unsupported(format!("this component has no tool `{}`", call.tool)));
    }
    let input = Input::parse(&call.input)?;
    let command = input.text("command")?;
    if command.trim().is_empty() {
        return Err(fault::invalid("`command` is empty").hint("give the command to run"));
    }
    let seconds = input.number("timeout")?.unwrap_or(default_seconds).clamp(1, MAX_SECONDS);
    let left = call.remaining_ms.saturating_sub(RESERVE_MS).max(RESERVE_MS);
    Ok(Request {
        command: Command::Shell(command.to_owned()),
        workdir: input.optional_text("workdir")?.map(str::to_owned),
        timeout_ms: milliseconds(seconds).min(left),
        environment: Vec::new(),
        stdin: None,
    })
}

fn milliseconds(seconds: u64) -> u32 {
    u32::try_from(seconds.saturating_mul(1_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn timeout(input: &str, remaining_ms: u32) -> u32 {
        let call = Call {
            id: "c".into(),
            tool: "bash".into(),
            input: input.into(),
            turn: 1,
            remaining_ms,
        };
        request(&call, 120).unwrap().timeout_ms
    }

    #[test]
    fn time_is_what_was_asked_and_what_is_left() {
        assert_eq!(timeout(r#"{"command":"x"}"#, u32::MAX), 120_000);
        assert_eq!(timeout(r#"{"command":"x","timeout":5}"#, u32::MAX), 5_000);
        assert_eq!(timeout(r#"{"command":"x","timeout":9999}"#, u32::MAX), 600_000);
        assert_eq!(timeout(r#"{"command":"x"}"#, 30_000), 29_000);
        assert_eq!(timeout(r#"{"command":"x"}"#, 0), 1_000);
    }

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

    #[test]
    fn the_schema_is_closed_and_every_parameter_is_described() {
        let spec = spec(600);
        let schema: Value = serde_json::from_str(&spec.input_schema).unwrap();
        assert_eq!(schema["additionalProperties"], false);
        for (name, field) in schema["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "`{name}` is not described");
        }
        let bytes = spec.name.len() + spec.description.len() + spec.input_schema.len();
        assert!(bytes < 800, "the spec has grown to {bytes} bytes");
    }
}
