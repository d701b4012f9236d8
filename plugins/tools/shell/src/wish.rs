//! What a call of `bash` asks for: a command to its end, a command as a job, or news of a job.
//!
//! Some models fill in every argument there is, so an empty text counts as left out, and what
//! cannot matter is passed over; a call that could mean two things is refused.

use harness_sdk::process::{Ask, Command, Request};
use harness_sdk::{Call, Fault, Input, fault};

/// Seconds a command may ask for, and a wait.
pub(crate) const MAX_SECONDS: u64 = 600;
/// Kept of the run's time, so that the output of a command that is cut short still arrives.
const RESERVE_MS: u32 = 1_000;
/// The one next step of a call that is unclear.
const EITHER: &str = "give `command` to run something, or `job` to ask about what runs";

/// What is wanted.
#[derive(Debug, PartialEq)]
pub(crate) enum Wish {
    /// Run this to its end.
    Run(Request),
    /// Start this as a job.
    Start(Request),
    /// Ask this job.
    Ask { job: String, ask: Ask },
}

/// Reads a call; `default_seconds` are for a command whose call names no time.
pub(crate) fn read(call: &Call, default_seconds: u64) -> Result<Wish, Fault> {
    if call.tool != "bash" {
        return Err(fault::unsupported(format!("this component has no tool `{}`", call.tool)));
    }
    let input = Input::parse(&call.input)?;
    let text = |name| Ok(input.optional_text(name)?.filter(|text| !text.trim().is_empty()));
    let (command, job) = (text("command")?, text("job")?);
    let (is_background, is_stop) = (input.is_set("background")?, input.is_set("stop")?);
    let wait = input.number("wait")?.unwrap_or(0).min(MAX_SECONDS);
    match (command, job) {
        (Some(_), Some(_)) => {
            Err(fault::invalid("`command` and `job` were both given").hint(EITHER))
        }
        (None, None) if input.optional_text("command")?.is_some() => {
            Err(fault::invalid("`command` is empty").hint("give the command to run"))
        }
        (None, None) => Err(fault::invalid("neither `command` nor `job` was given").hint(EITHER)),
        (None, Some(_)) if is_background => Err(fault::invalid(
            "`background` starts a `command`; a `job` is in the background already",
        )),
        (None, Some(job)) => {
            let ask = match (is_stop, wait) {
                (true, _) => Ask::Stop,
                (false, 0) => Ask::Look,
                (false, seconds) => Ask::Wait(milliseconds(seconds)),
            };
            Ok(Wish::Ask { job: job.trim().to_owned(), ask })
        }
        (Some(_), None) if is_stop || wait > 0 => {
            let name = if is_stop { "stop" } else { "wait" };
            Err(fault::invalid(format!("`{name}` goes with `job`, not with `command`")))
        }
        (Some(command), None) => {
            let seconds = input.number("timeout")?.map(|seconds| seconds.clamp(1, MAX_SECONDS));
            let left = call.remaining_ms.saturating_sub(RESERVE_MS).max(RESERVE_MS);
            let timeout_ms = match is_background {
                true => seconds.map(milliseconds),
                false => Some(milliseconds(seconds.unwrap_or(default_seconds)).min(left)),
            };
            let request = Request {
                command: Command::Shell(command.to_owned()),
                workdir: text("workdir")?.map(str::to_owned),
                timeout_ms,
                environment: Vec::new(),
                stdin: None,
            };
            Ok(if is_background { Wish::Start(request) } else { Wish::Run(request) })
        }
    }
}

pub(crate) fn milliseconds(seconds: u64) -> u32 {
    u32::try_from(seconds.saturating_mul(1_000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(input: &str, remaining_ms: u32) -> Result<Wish, Fault> {
        let (id, tool) = ("c".to_owned(), "bash".to_owned());
        read(&Call { id, tool, input: input.to_owned(), turn: 1, remaining_ms }, 120)
    }

    #[test]
    fn time_is_what_was_asked_and_what_is_left() {
        let check = |input: &str, remaining_ms, expected: u32| {
            let Wish::Run(request) = wish(input, remaining_ms).unwrap() else { panic!("{input}") };
            assert_eq!(request.timeout_ms, Some(expected), "{input}");
        };
        check(r#"{"command":"x"}"#, u32::MAX, 120_000);
        check(r#"{"command":"x","timeout":5}"#, u32::MAX, 5_000);
        check(r#"{"command":"x","timeout":9999}"#, u32::MAX, 600_000);
        check(r#"{"command":"x"}"#, 30_000, 29_000);
        check(r#"{"command":"x"}"#, 0, 1_000);
        check(r#"{"command":"x","background":false,"job":"","wait":0,"stop":false}"#, 9_000, 8_000);
    }

    #[test]
    fn a_job_has_the_time_it_asks_for() {
        let check = |input: &str, expected: Option<u32>| {
            let Wish::Start(request) = wish(input, 5_000).unwrap() else { panic!("{input}") };
            assert_eq!(request.timeout_ms, expected, "{input}");
        };
        check(r#"{"command":"x","background":true}"#, None);
        check(r#"{"command":"x","background":true,"timeout":90}"#, Some(90_000));
    }

    #[test]
    fn what_is_asked_of_a_job() {
        let check = |input: &str, expected: Ask| {
            let asked = Wish::Ask { job: "job-1".to_owned(), ask: expected };
            assert_eq!(wish(input, 5_000).unwrap(), asked, "{input}");
        };
        check(r#"{"job":"job-1"}"#, Ask::Look);
        check(r#"{"job":" job-1","wait":3}"#, Ask::Wait(3_000));
        check(r#"{"job":"job-1","wait":9999}"#, Ask::Wait(600_000));
        check(r#"{"job":"job-1","stop":true,"wait":3}"#, Ask::Stop);
        check(r#"{"command":"","workdir":"","timeout":120,"job":"job-1"}"#, Ask::Look);
    }

    #[test]
    fn what_is_unclear_is_refused() {
        let check = |input: &str, expected: &str, hint: Option<&str>| {
            let fault = wish(input, 5_000).unwrap_err();
            assert_eq!((fault.message.as_str(), fault.hint.as_deref()), (expected, hint));
        };
        let both = r#"{"command":"x","job":"job-1"}"#;
        check(both, "`command` and `job` were both given", Some(EITHER));
        check("{}", "neither `command` nor `job` was given", Some(EITHER));
        check(r#"{"command":" "}"#, "`command` is empty", Some("give the command to run"));
        check(
            r#"{"job":"job-1","background":true}"#,
            "`background` starts a `command`; a `job` is in the background already",
            None,
        );
        let waits = r#"{"command":"x","wait":5}"#;
        check(waits, "`wait` goes with `job`, not with `command`", None);
        let stops = r#"{"command":"x","stop":true}"#;
        check(stops, "`stop` goes with `job`, not with `command`", None);
    }
}
