//! What became of a command or a job, in words for the model.
//!
//! The output stands first and as it is; every note of ours is a line in brackets, and the exit
//! code of a failure is the last line, where it is looked for.

use harness_sdk::process::{Completion, Ending, Job, Request};
use harness_sdk::{Outcome, outcome};

/// What shells report for a command that a signal ended.
const SIGNAL_BASE: i32 = 128;

/// Words the completion of a command.
pub(crate) fn of_command(request: &Request, completion: &Completion) -> Outcome {
    let mut text = told(completion);
    // The host may have had less time to give than was asked for.
    let asked_ms = request.timeout_ms.unwrap_or(u32::MAX);
    let timeout = seconds(asked_ms.min(completion.duration_ms));
    let summary = match completion.ending {
        Ending::Exited(0) => {
            if completion.output.is_empty() {
                text.push_str("[no output]\n");
            }
            "exit code 0".to_owned()
        }
        Ending::TimedOut => {
            text.push_str(&format!(
                "[timed out after {timeout} s and was killed; give it a longer `timeout` (at most \
                 600), make it do less, or start it with `background`]\n"
            ));
            format!("timed out after {timeout} s")
        }
        ending => {
            let words = words(ending);
            text.push_str(&format!("{words}\n"));
            words
        }
    };
    finish(text, summary, completion)
}

/// Words a job that was just started.
pub(crate) fn of_start(Job { id, completion }: &Job) -> Outcome {
    if completion.ending != Ending::Running {
        return of_job(id, completion);
    }
    let mut text = told(completion);
    text.push_str(&format!(
        "[`{id}` runs in the background; `{{\"job\":\"{id}\"}}` shows what it did since, with \
         `\"wait\":60` as well waits for its end, with `\"stop\":true` ends it]\n"
    ));
    finish(text, format!("{id} runs"), completion)
}

/// Words what a job did since it was last asked.
pub(crate) fn of_job(id: &str, completion: &Completion) -> Outcome {
    let mut text = told(completion);
    if completion.output.is_empty() {
        text.push_str("[no new output]\n");
    }
    let ran = seconds(completion.duration_ms);
    let ending = words(completion.ending);
    match completion.ending {
        Ending::Running => text.push_str(&format!("[`{id}` has been running for {ran} s]\n")),
        Ending::TimedOut => text.push_str(&format!("[`{id}` {ending}, after {ran} s]\n")),
        Ending::Exited(_) | Ending::Signalled(_) => {
            text.push_str(&format!("[`{id}` ended after {ran} s]\n{ending}\n"));
        }
    }
    finish(text, format!("{id}: {ending}"), completion)
}

/// What the host keeps of an output in a file, at most.
const SPILLED_BYTES: u64 = 64 * 1024 * 1024;

/// The output, and the notes on it.
fn told(completion: &Completion) -> String {
    let mut text = String::new();
    if completion.omitted_bytes > 0 {
        let omitted = completion.omitted_bytes;
        text.push_str(&match &completion.spill {
            // Of a flood the host keeps a part, from its start.
            Some(path) if omitted + completion.output.len() as u64 > SPILLED_BYTES => format!(
                "[the first {omitted} bytes are not shown; {SPILLED_BYTES} bytes from the start are in \
                 `{path}`, use `read`]\n"
            ),
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
    for note in &completion.notes {
        text.push_str(&format!("[{note}]\n"));
    }
    text
}

fn words(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit code {code}"),
        Ending::Signalled(signal) => format!("killed by signal {signal}"),
        Ending::TimedOut => "was killed at its time-out".to_owned(),
        Ending::Running => "runs".to_owned(),
    }
}

fn finish(text: String, summary: String, completion: &Completion) -> Outcome {
    let mut outcome = outcome(text, summary);
    outcome.exit_code = match completion.ending {
        Ending::Exited(code) => Some(code),
        Ending::Signalled(signal) => Some(SIGNAL_BASE + signal),
        Ending::TimedOut | Ending::Running => None,
    };
    outcome.data = Some(format!(r#"{{"duration_ms":{}}}"#, completion.duration_ms));
    outcome
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

    fn completion(ending: Ending, output: &str) -> Completion {
        Completion {
            ending,
            output: output.into(),
            omitted_bytes: 0,
            spill: None,
            still_running: 0,
            notes: Vec::new(),
            duration_ms: 3_210,
        }
    }

    fn check(outcome: Outcome, expected: &str, summary: &str, exit_code: Option<i32>) {
        assert_eq!(outcome.parts, [Part::Text(expected.into())]);
        assert_eq!((outcome.summary.as_str(), outcome.exit_code), (summary, exit_code));
        assert_eq!(outcome.data.as_deref(), Some(r#"{"duration_ms":3210}"#));
    }

    fn command(completion: &Completion) -> Outcome {
        let request = Request {
            command: Command::Shell("x".into()),
            workdir: None,
            timeout_ms: Some(2_500),
            environment: Vec::new(),
            stdin: None,
        };
        of_command(&request, completion)
    }

    #[test]
    fn endings_of_commands() {
        let check = |ending, output: &str, expected: &str, summary: &str, exit_code| {
            check(command(&completion(ending, output)), expected, summary, exit_code);
        };
        check(Ending::Exited(0), "hi", "hi\n", "exit code 0", Some(0));
        check(Ending::Exited(0), "", "[no output]\n", "exit code 0", Some(0));
        check(Ending::Exited(2), "gone\n", "gone\nexit code 2\n", "exit code 2", Some(2));
        check(Ending::Exited(1), "", "exit code 1\n", "exit code 1", Some(1));
        let killed = "killed by signal 9";
        check(Ending::Signalled(9), "", "killed by signal 9\n", killed, Some(137));
        check(
            Ending::TimedOut,
            "partial",
            "partial\n[timed out after 2.5 s and was killed; give it a longer `timeout` (at most \
             600), make it do less, or start it with `background`]\n",
            "timed out after 2.5 s",
            None,
        );
    }

    #[test]
    fn endings_of_jobs() {
        let check = |ending, output: &str, expected: &str, summary: &str, exit_code| {
            let outcome = of_job("job-3", &completion(ending, output));
            check(outcome, expected, summary, exit_code);
        };
        let running = "[no new output]\n[`job-3` has been running for 3.2 s]\n";
        check(Ending::Running, "", running, "job-3: runs", None);
        let ended = "hi\n[`job-3` ended after 3.2 s]\nexit code 0\n";
        check(Ending::Exited(0), "hi\n", ended, "job-3: exit code 0", Some(0));
        let killed = "[no new output]\n[`job-3` ended after 3.2 s]\nkilled by signal 15\n";
        check(Ending::Signalled(15), "", killed, "job-3: killed by signal 15", Some(143));
        let late = "x\n[`job-3` was killed at its time-out, after 3.2 s]\n";
        check(Ending::TimedOut, "x", late, "job-3: was killed at its time-out", None);
    }

    #[test]
    fn a_job_is_started() {
        let start = |ending, output: &str| {
            of_start(&Job { id: "job-1".into(), completion: completion(ending, output) })
        };
        check(
            start(Ending::Running, "listening"),
            "listening\n[`job-1` runs in the background; `{\"job\":\"job-1\"}` shows what it did \
             since, with `\"wait\":60` as well waits for its end, with `\"stop\":true` ends it]\n",
            "job-1 runs",
            None,
        );
        let ended = "no\n[`job-1` ended after 3.2 s]\nexit code 7\n";
        check(start(Ending::Exited(7), "no"), ended, "job-1: exit code 7", Some(7));
    }

    #[test]
    fn of_a_flood_it_is_said_how_much_is_kept() {
        let flood = Completion {
            omitted_bytes: 300_000_000,
            spill: Some(".harness/spill/1.txt".into()),
            ..completion(Ending::Exited(0), "end\n")
        };
        check(
            command(&flood),
            "[the first 300000000 bytes are not shown; 67108864 bytes from the start are in \
             `.harness/spill/1.txt`, use `read`]\nend\n",
            "exit code 0",
            Some(0),
        );
    }

    #[test]
    fn what_is_not_shown_what_runs_on_and_what_the_sandbox_did() {
        let mut done = Completion {
            omitted_bytes: 70_000,
            spill: Some(".harness/spill/1.txt".into()),
            still_running: 2,
            ..completion(Ending::Exited(0), "end\n")
        };
        check(
            command(&done),
            "[the first 70000 bytes are not shown; all of it is in `.harness/spill/1.txt`, use \
             `read`]\nend\n[2 processes that it started are still running]\n",
            "exit code 0",
            Some(0),
        );
        done.still_running = 1;
        done.omitted_bytes = 0;
        done.notes = vec!["one thing".into(), "and another".into()];
        check(
            command(&done),
            "end\n[1 process that it started is still running]\n[one thing]\n[and another]\n",
            "exit code 0",
            Some(0),
        );
    }
}
