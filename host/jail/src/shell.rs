//! Commands in the workspace.
//!
//! Every command is a fresh process in a session of its own, without a terminal, with stdin closed
//! and both outputs on one pipe. A call returns soon after its process exits, whatever that left
//! running; at the time-out everything it started is killed; a call that is dropped takes its
//! processes with it. No variable of the server reaches a command but those it was given.

use std::collections::HashSet;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use cap_std::fs::Dir;
use tokio::io::AsyncWriteExt;
use tokio::process::Child;
use tokio::time::{sleep, timeout};

use crate::fault::{Fault, FaultKind};
use crate::jail::Jail;
use crate::path::JailPath;
use crate::resolve::LastLink;

mod cleaner;
mod drain;
mod environment;
mod output;
mod processes;
mod spawn;

pub use environment::allowed_environment;

use drain::Drain;
use processes::{Mark, Process};

/// The variable that marks the processes of a session, so that those that left their group are
/// found.
const MARK_VARIABLE: &str = "HARNESS_MARK";

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(500);

/// How often it is looked whether processes are gone.
const POLL: Duration = Duration::from_millis(20);

/// How long a quiet pipe is still listened to after the exit.
const QUIET: Duration = Duration::from_millis(100);

/// How long a pipe that others still write to is listened to after the exit.
const LINGER: Duration = Duration::from_millis(600);

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

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was killed at the time-out.
    TimedOut,
}

/// What a command did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// How it ended.
    pub ending: Ending,
    /// The end of stdout and stderr, as they came, cleaned for reading; at most 30 KiB.
    pub output: String,
    /// Bytes of cleaned output before `output`.
    pub omitted_bytes: u64,
    /// Where everything can be read, when something was omitted; the first 64 MiB of it.
    pub spill: Option<String>,
    /// Processes of this command that run on.
    pub still_running: u32,
    /// Milliseconds from start to return.
    pub duration_ms: u32,
}

/// The commands of one session.
#[derive(Debug)]
pub struct Shell {
    environment: Vec<(String, String)>,
    session: String,
    calls: AtomicU64,
    /// What earlier calls left running.
    left: Mutex<Left>,
}

#[derive(Debug, Default)]
struct Left {
    processes: HashSet<Process>,
    drains: Vec<Arc<Drain>>,
}

impl Shell {
    /// Commands with exactly this environment. `session` must be unlike that of every other
    /// session on the machine: it marks the processes.
    pub fn new(environment: Vec<(String, String)>, session: &str) -> Shell {
        Shell {
            environment,
            session: session.to_owned(),
            calls: AtomicU64::new(0),
            left: Mutex::default(),
        }
    }

    /// Runs a command to its end or its time-out. Dropping the future kills what it started.
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// `unavailable` when there is no bash, `not-found` for a missing program or directory,
    /// `invalid-input` for NUL, an empty command or a bad variable, `too-large` for a command line
    /// the kernel would not take. How the command itself fares is never an error.
    pub async fn run(&self, jail: &Jail, request: Request) -> Result<Completion, Fault> {
        let started = Instant::now();
        check(&request)?;
        let dir = open_workdir(jail, request.workdir.as_ref())?;

        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}/{call}", self.session);
        let mut environment = self.environment.clone();
        environment.extend(request.environment.iter().cloned());
        environment.push((MARK_VARIABLE.to_owned(), mark.clone()));
        let failed = |err: io::Error| spawn_fault(&request.command, &err);
        let (reader, writer) = io::pipe().map_err(failed)?;
        let stdin = if request.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child =
            spawn::spawn(&request.command, &environment, dir, stdin, writer).map_err(failed)?;
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
        let mut guard = CallGuard { mark: Mark::call(&mark, leader), drain: None };
        let drain =
            Drain::start(reader, jail.spill_dir.as_ref(), &request.command).map_err(failed)?;
        let drain = Arc::new(drain);
        guard.drain = Some(Arc::clone(&drain));
        feed(&mut child, request.stdin);

        let limit = Duration::from_millis(u64::from(request.timeout_ms));
        let ending = match timeout(limit.saturating_sub(started.elapsed()), child.wait()).await {
            Ok(Ok(status)) => {
                drain.settle(QUIET, LINGER).await;
                ending_of(status)
            }
            Ok(Err(err)) => {
                return Err(Fault::new(
                    FaultKind::Failed,
                    format!("the command could not be waited for: {err}"),
                ));
            }
            Err(_) => {
                kill_gently(&guard.mark, &mut child).await;
                drain.settle(QUIET, LINGER).await;
                Ending::TimedOut
            }
        };
        let survivors = guard.mark.find();
        let kept = drain.take();
        let still_running = u32::try_from(survivors.len()).unwrap_or(u32::MAX);
        self.keep(survivors, drain);
        guard.disarm();
        Ok(Completion {
            ending,
            output: kept.output,
            omitted_bytes: kept.omitted_bytes,
            spill: kept.spill,
            still_running,
            duration_ms: u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX),
        })
    }

    /// Kills everything that the commands of this session left running. Costs nothing when none
    /// was run; dropping the shell does the same.
    pub fn end(&self) {
        // Looking through all processes is not free.
        if self.calls.load(Ordering::Relaxed) == 0 {
            return;
        }
        let left = std::mem::take(&mut *self.left());
        Mark::session(&self.session, left.processes).kill();
        for drain in left.drains {
            drain.stop();
        }
    }

    /// Kills what the commands of `session` left running under an earlier process of the server
    /// that died without a word.
    pub fn end_leftovers(session: &str) {
        Mark::session(session, HashSet::new()).kill();
    }

    /// Remembers what a call left behind.
    fn keep(&self, survivors: Vec<Process>, drain: Arc<Drain>) {
        let mut left = self.left();
        left.drains.retain(|drain| !drain.is_over());
        if !drain.is_over() {
            left.drains.push(drain);
        }
        left.processes.retain(Process::is_alive);
        left.processes.extend(survivors);
    }

    /// Nothing that holds the lock can panic half-way, so a poisoned one is taken as it is.
    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.end();
    }
}

/// Kills what a call started when the call is dropped before its end.
struct CallGuard {
    mark: Mark,
    drain: Option<Arc<Drain>>,
}

impl CallGuard {
    fn disarm(mut self) {
        self.mark = Mark::nothing();
        self.drain = None;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.mark.kill();
        if let Some(drain) = &self.drain {
            drain.stop();
        }
        // The runtime reaps the child itself.
    }
}

/// The directory a command starts in, as a handle.
fn open_workdir(jail: &Jail, workdir: Option<&JailPath>) -> Result<Dir, Fault> {
    let workdir = workdir.cloned().unwrap_or_else(JailPath::root);
    if workdir.inside_spill().is_some() {
        return Err(Fault::new(
            FaultKind::Unsupported,
            format!("`{workdir}` is a view, and no command can run in it"),
        )
        .with_hint("name a directory of the workspace"));
    }
    jail.place(&workdir, LastLink::Follow)?.open_dir(&workdir)
}

/// TERM, a grace in which output still comes, KILL.
async fn kill_gently(mark: &Mark, child: &mut Child) {
    mark.terminate();
    let deadline = Instant::now() + GRACE;
    loop {
        // Reaped here, or the leader would count as running for the whole grace.
        let is_leader_gone = matches!(child.try_wait(), Ok(Some(_)));
        if is_leader_gone && mark.find().is_empty() {
            return;
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep(POLL).await;
    }
    mark.kill();
    let _ = timeout(GRACE, child.wait()).await;
}

/// Writes stdin from a task of its own, so that a command that does not read holds up nothing.
fn feed(child: &mut Child, stdin: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(bytes)) = (child.stdin.take(), stdin) {
        tokio::spawn(async move {
            // A command that closes its input early is its own business.
            let _ = pipe.write_all(&bytes).await;
        });
    }
}

fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, Some(signal)) => Ending::Signalled(signal),
        (None, None) => Ending::Exited(-1),
    }
}

fn check(request: &Request) -> Result<(), Fault> {
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

fn spawn_fault(command: &Command, err: &io::Error) -> Fault {
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
