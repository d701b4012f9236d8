//! Starting a process; the one place that does.
//!
//! The process leads a session of its own, so it has no controlling terminal and a signal to its
//! group reaches what it started. It starts in a directory that was opened beneath the jail's
//! handle, not in one that is looked up by path again.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one place that starts a process"
)]

use std::io::{self, PipeWriter};
use std::process::Stdio;

use cap_std::fs::Dir;
use tokio::process::{Child, Command as Process};

use super::Command;

/// Starts `command` with exactly this environment, both outputs going to `output`.
pub(super) fn spawn(
    command: &Command,
    environment: &[(String, String)],
    dir: Dir,
    stdin: Stdio,
    output: PipeWriter,
) -> io::Result<Child> {
    let mut process = match command {
        Command::Shell(script) => {
            let mut process = Process::new("bash");
            process.arg("-c").arg(script);
            process
        }
        Command::Argv(arguments) => {
            let (program, rest) = arguments.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut process = Process::new(program);
            process.args(rest);
            process
        }
    };
    process
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(output.try_clone()?)
        .stderr(output);
    lead_session(&mut process, dir);
    process.spawn()
}

#[expect(unsafe_code, reason = "a session and a start directory by handle have no safe call")]
fn lead_session(process: &mut Process, dir: Dir) {
    let start = move || {
        nix::unistd::setsid()?;
        nix::unistd::fchdir(&dir)?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes two system calls and nothing else: it takes
    // no lock, allocates nothing and touches no state of other threads.
    unsafe {
        process.pre_exec(start);
    }
}
