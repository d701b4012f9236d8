//! What became of a command, in words for the model.
//!
//! The output stands first and as it is; every note of ours is a line in brackets, and the exit
//! code of a failure is the last line, where it is looked for.

use harness_sdk::process::{Completion, Ending, Request};
use harness_sdk::{Outcome, outcome};

/// What shells report for a command that a signal ended.
const SIGNAL_BASE: i32 = 128;

/// Words a completion.
pub(crate) fn outcome_of(request: &Request, completion: &Completion) -> Outcome {
    let mut text = String::new();
    if completion.omitted_bytes > 0 {
        let omitted = completion.omitted_bytes;
        text.push_str(&match &completion.spill {
            Some(path) => format!(
                "[the first {omitted} bytes are not shown; all of it is in `{path}`, use `read`]\n"
            ),
            None => format!("[the first {omitted} bytes are not shown, and were not kept]\n"),
        });
    }
    text.push_str(&completion.output);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    match completion.still_running {
        0 => {}
        1 => text.push_str("[1 process that it started is still running]\n"),
        count => text.push_str(&format!("[{count} processes that it started are still running]\n")),
    }
    let (exit_code, ending) = match completion.ending {
        Ending::Exited(0) => (Some(0), "exit code 0".to_owned()),
        Ending::Exited(code) => (Some(code), format!("exit code {code}")),
        Ending::Signalled(signal) => {
            (Some(SIGNAL_BASE + signal), format!("killed by signal {signal}"))
        }
        Ending::TimedOut => (None, timed_out(request)),
    };
    match completion.ending {
        Ending::Exited(0) if completion.output.is_empty() => text.push_str("[no output]\n"),
        Ending::Exited(0) => {}
        Ending::TimedOut => text.push_str(&format!("[{ending}]\n")),
        Ending::Exited(_) | Ending::Signalled(_) => text.push_str(&format!("{ending}\n")),
    }
    let summary = match completion.ending {
        Ending::TimedOut => format!("timed out after {} s", seconds(request.timeout_ms)),
        Ending::Exited(_) | Ending::Signalled(_) => ending,
    };
    let mut outcome = outcome(text, summary);
    outcome.exit_code = exit_code;
    outcome.data = Some(format!(r#"{{"duration_ms":{}}}"#, completion.duration_ms));
    outcome
}

fn timed_out(request: &Request) -> String {
    format!(
        "timed out after {} s and was killed; give it a longer `timeout` (at most \
         600), make it do less, or send it to the background with its output in a file",
        seconds(request.timeout_ms)
    )
}

/// Seconds, with a digit after the point where they are not whole.
fn seconds(milliseconds: u32) -> String {
    match (milliseconds / 1_000, milliseconds % 1_000 / 100) {
        (whole, 0) => whole.to_string(),
        (whole, tenths) => format!("{whole}.{tenths}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness_sdk::Part;
    use harness_sdk::process::Command;

    fn check(ending: Ending, output: &str, expected: &str, exit_code: Option<i32>) {
        let completion = Completion {
            ending,
            output: output.into(),
            omitted_bytes: 0,
            spill: None,
            still_running: 0,
            duration_ms: 7,
        };
        check_all(&completion, expected, exit_code);
    }

    fn check_all(completion: &Completion, expected: &str, exit_code: Option<i32>) {
        let request = Request {
            command: Command::Shell("x".into()),
            workdir: None,
            timeout_ms: 2_500,
            environment: Vec::new(),
            stdin: None,
        };
        let outcome = outcome_of(&request, completion);
        assert_eq!(outcome.parts, [Part::Text(expected.into())]);
        assert_eq!(outcome.exit_code, exit_code);
        assert_eq!(outcome.data.as_deref(), Some(r#"{"duration_ms":7}"#));
    }

    #[test]
    fn endings() {
        check(Ending::Exited(0), "hi", "hi\n", Some(0));
        check(Ending::Exited(0), "", "[no output]\n", Some(0));
        check(Ending::Exited(2), "no such file\n", "no such file\nexit code 2\n", Some(2));
        check(Ending::Exited(1), "", "exit code 1\n", Some(1));
        check(Ending::Signalled(9), "", "killed by signal 9\n", Some(137));
        check(
            Ending::TimedOut,
            "partial",
            "partial\n[timed out after 2.5 s and was killed; give it a longer \
             `timeout` (at most 600), make it do less, or send it to the background with its \
             output in a file]\n",
            None,
        );
    }

    #[test]
    fn what_is_not_shown_and_what_runs_on() {
        let mut completion = Completion {
            ending: Ending::Exited(0),
            output: "end\n".into(),
            omitted_bytes: 70_000,
            spill: Some(".harness/spill/1.txt".into()),
            still_running: 2,
            duration_ms: 7,
        };
        check_all(
            &completion,
            "[the first 70000 bytes are not shown; all of it is in `.harness/spill/1.txt`, use \
             `read`]\nend\n[2 processes that it started are still running]\n",
            Some(0),
        );
        completion.still_running = 1;
        completion.omitted_bytes = 0;
        check_all(&completion, "end\n[1 process that it started is still running]\n", Some(0));
    }
}
