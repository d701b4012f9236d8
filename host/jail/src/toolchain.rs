//! An author's own programs: a language's toolchain, run where a plugin's project lies.
//!
//! They run as the person who asked, with that person's environment and no walls. Nothing that a
//! model says ever comes here, and no server calls it: `harness plugin` alone does.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a person's own toolchain is not a session's command"
)]

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Runs a program to its end, with `environment` added to this process's. It reads and writes what this process does, so that its output is
/// seen as it comes.
///
/// # Errors
/// When it cannot be started.
pub fn run_program(
    program: &Path,
    arguments: &[String],
    environment: &[(&str, &str)],
    directory: &Path,
) -> io::Result<ExitStatus> {
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().copied()).current_dir(directory).status()
}

/// What a program writes to its standard output; none when it fails or cannot be started.
pub fn ask_program(program: &Path, arguments: &[String], directory: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
