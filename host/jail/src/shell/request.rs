//! What is asked of a shell, and what is refused before anything is started.

use std::io;

use crate::fault::{Fault, FaultKind};
use crate::path::JailPath;

/// The longest command line, in bytes: what the kernel takes for one argument.
const MAX_ARGUMENT_BYTES: usize = 128 * 1024 - 1;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Passed to `bash -c`.
    Shell(String),
    /// A program and its arguments, without a shell.
    Argv(Vec<String>),
}

/// One command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What to run.
    pub command: Command,
    /// The directory to run it in; `None` is the root.
    pub workdir: Option<JailPath>,
    /// Milliseconds until everything it started is killed; at least 1.
    pub timeout_ms: u32,
    /// Variables on top of those of the session.
    pub environment: Vec<(String, String)>,
    /// What it reads; `None`: nothing.
    pub stdin: Option<Vec<u8>>,
}

/// What of a request could never be run.
pub(super) fn check(request: &Request) -> Result<(), Fault> {
    let invalid = |message: &str| Err(Fault::new(FaultKind::InvalidInput, message));
    if request.timeout_ms == 0 {
        return invalid("the time-out is 0 ms, expected at least 1");
    }
    let arguments = match &request.command {
        Command::Shell(script) => std::slice::from_ref(script),
        Command::Argv(arguments) => arguments.as_slice(),
    };
    if arguments.first().is_none_or(|program| program.trim().is_empty()) {
        return invalid("the command is empty");
    }
    if arguments.iter().any(|argument| argument.contains('\0')) {
        return invalid("the command holds a NUL character");
    }
    if let Some(long) = arguments.iter().find(|argument| argument.len() > MAX_ARGUMENT_BYTES) {
        return Err(Fault::new(
            FaultKind::TooLarge,
            format!(
                "the command is {} bytes long, over the limit of {MAX_ARGUMENT_BYTES}",
                long.len()
            ),
        )
        .with_hint("write it to a file and run that"));
    }
    for (name, value) in &request.environment {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return invalid(
                "a variable of the environment has a bad name or holds a NUL character",
            );
        }
    }
    Ok(())
}

/// Why a command was not started, in words for a model.
pub(super) fn spawn_fault(command: &Command, err: &io::Error) -> Fault {
    let is_missing = err.kind() == io::ErrorKind::NotFound;
    match command {
        Command::Shell(_) if is_missing => {
            Fault::new(FaultKind::Unavailable, "bash was not found on this machine")
        }
        Command::Argv(arguments) if is_missing => Fault::new(
            FaultKind::NotFound,
            format!("program `{}` was not found", arguments.first().map_or("", String::as_str)),
        ),
        _ if err.kind() == io::ErrorKind::ArgumentListTooLong => Fault::new(
            FaultKind::TooLarge,
            "the command and its environment are longer than the system takes",
        )
        .with_hint("write the long part to a file"),
        _ => Fault::new(FaultKind::Unavailable, format!("the command could not be started: {err}")),
    }
}
