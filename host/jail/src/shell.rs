//! Commands in the workspace.
//!
//! Every command is a fresh process in a session of its own, without a terminal, with stdin closed
//! and both outputs on one pipe. A call returns soon after its process exits, whatever that left
//! running; at the time-out everything it started is killed; a call that is dropped takes its
//! processes with it. A job is a command that nobody waits for. No variable of the server reaches a command but those it was given.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::fault::{Fault, FaultKind};
use crate::jail::Jail;
use crate::path::JailPath;
use crate::resolve::LastLink;
use crate::sandbox::{Call, Ended, GitConfig, Posture, Sandbox, Session, Start, refusals};

mod cleaner;
mod drain;
mod environment;
mod jobs;
mod output;
mod request;
mod space;
mod startup;

pub use environment::allowed_environment;
pub use jobs::{Ask, Job};
pub use request::{Command, Request};

use drain::Drain;
use jobs::Jobs;
use output::Kept;
use request::{check, spawn_fault};
use space::Space;

/// Between TERM and KILL.
const GRACE: Duration = Duration::from_millis(500);

/// How long a quiet pipe is still listened to after the exit.
const QUIET: Duration = Duration::from_millis(100);

/// How long a pipe that others still write to is listened to after the exit.
const LINGER: Duration = Duration::from_millis(600);

/// For the processes that run on to be counted.
const COUNTING: Duration = Duration::from_secs(1);

/// The signal that nothing survives.
const KILLED: i32 = nix::libc::SIGKILL;

/// What shells report for a program that cannot be started.
const NOT_STARTED: i32 = 127;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was killed at the time-out.
    TimedOut,
    /// Not yet; of a job alone.
    Running,
}

impl Ending {
    fn of(ended: Ended) -> Ending {
        match ended {
            Ended::Exited(code) => Ending::Exited(code),
            Ended::Signalled(signal) => Ending::Signalled(signal),
            Ended::NotStarted(_) => Ending::Exited(NOT_STARTED),
            // It was killed with everything around it.
            Ended::Lost => Ending::Signalled(KILLED),
        }
    }
}

/// What a command did; of a job, since it was last asked.
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
    /// Processes of this command that run on after it.
    pub still_running: u32,
    /// What else is to be said of it, in words for a model: what the sandbox did to it.
    pub notes: Vec<String>,
    /// Milliseconds from start to return; of a job, to its end or to now.
    pub duration_ms: u32,
}

impl Completion {
    fn new(
        ending: Ending,
        kept: Kept,
        still_running: u32,
        notes: Vec<String>,
        ran: Duration,
    ) -> Completion {
        let Kept { output, omitted_bytes, spill, .. } = kept;
        let duration_ms = u32::try_from(ran.as_millis()).unwrap_or(u32::MAX);
        Completion { ending, output, omitted_bytes, spill, still_running, notes, duration_ms }
    }
}

/// The commands of one session.
#[derive(Debug)]
pub struct Shell {
    environment: Vec<(String, String)>,
    name: String,
    sandbox: Arc<Sandbox>,
    tmp: PathBuf,
    /// Built for the first command; held while it is built, so that there is one.
    session: tokio::sync::Mutex<Option<Arc<Session>>>,
    /// What earlier calls left running.
    left: Mutex<Vec<Left>>,
    jobs: Jobs,
    /// What git ran for this repository before the commands that may have changed it since; none
    /// when no command can have.
    git: Mutex<Option<GitConfig>>,
}

/// What a call left running: it ends when this is dropped.
#[derive(Debug)]
struct Left {
    call: Call,
    /// Nobody reads it any more; its pipe stays open and empty.
    _drain: Drain,
}

impl Shell {
    /// Commands with exactly this environment, behind the walls of `sandbox`. `name` must be unlike
    /// that of every other session; `tmp` is an existing directory for temporary files, canonical.
    pub fn new(
        mut environment: Vec<(String, String)>,
        name: &str,
        sandbox: Arc<Sandbox>,
        tmp: PathBuf,
    ) -> Shell {
        let tmp_within = match sandbox.posture {
            Posture::Full => Some("/tmp".to_owned()),
            Posture::Partial => Some(tmp.display().to_string()),
            Posture::None => None,
        };
        if let Some(tmp) = tmp_within {
            environment::move_scratch(&mut environment, &tmp, &sandbox.write);
            if !sandbox.network {
                environment::go_offline(&mut environment);
            }
        }
        Shell {
            environment,
            name: name.to_owned(),
            sandbox,
            tmp,
            session: tokio::sync::Mutex::default(),
            left: Mutex::default(),
            jobs: Jobs::default(),
            git: Mutex::default(),
        }
    }

    /// One that runs nothing.
    pub fn none() -> Shell {
        Shell::new(Vec::new(), "none", Arc::new(Sandbox::none()), PathBuf::new())
    }

    /// Runs a command to its end or its time-out. Dropping the future kills what it started.
    /// Must be called within a tokio runtime.
    ///
    /// # Errors
    /// `unavailable` when there is no bash or no sandbox, `not-found` for a missing program or
    /// directory, `invalid-input` for NUL, an empty command or a bad variable, `too-large` for a
    /// command line the kernel would not take. How the command itself fares is never an error.
    pub async fn run(&self, jail: &Jail, request: Request) -> Result<Completion, Fault> {
        let started = Instant::now();
        let start = self.prepare(jail, &request)?;
        let limit = Duration::from_millis(u64::from(request.timeout_ms));
        let (session, mut call, drain) = self.begin(jail, &request, &start).await?;
        let space = self.space(jail);
        let ended = tokio::select! {
            ended = timeout(limit.saturating_sub(started.elapsed()), call.ended()) => Some(ended),
            () = space.runs_out() => None,
        };
        let (ending, is_alone) = match ended {
            Some(Ok((Ended::NotStarted(number), _))) => {
                return Err(spawn_fault(&request.command, &io::Error::from_raw_os_error(number)));
            }
            Some(Ok((ended, is_alone))) => (Ending::of(ended), is_alone),
            Some(Err(_)) => (Ending::TimedOut, end_gently(&mut call).await.1),
            None => (Ending::Signalled(KILLED), end_at_once(&mut call).await),
        };
        drain.settle(QUIET, LINGER).await;
        let counted = match is_alone {
            true => Some(0),
            false => timeout(COUNTING, call.count()).await.ok(),
        };
        let kept = drain.take();
        let still_running = counted.unwrap_or(0);
        if still_running > 0 {
            self.keep(Left { call, _drain: drain });
        }
        // After what runs on was remembered: it may still change what is looked at here.
        let mut notes = self.notes(Some(&session), &kept, ending);
        notes.extend(space.note());
        if counted.is_none() {
            self.give_up(session).await;
            notes.push(
                "the sandbox no longer answered, and was ended with all that ran in it; the next \
                 command gets a new one"
                    .to_owned(),
            );
        }
        Ok(Completion::new(ending, kept, still_running, notes, started.elapsed()))
    }

    /// Ends a sandbox that does not answer: a command stopped its processes, say.
    async fn give_up(&self, session: Arc<Session>) {
        let held = self.session.lock().await.take();
        // Waits for the end.
        let _ = spawn_blocking(move || drop((held, session))).await;
    }

    /// Kills everything that the commands of this session left running, and waits a moment for
    /// that: not on a thread of the runtime, where it panics. Costs nothing when none was run;
    /// dropping the shell does the same.
    pub fn end(&self) {
        self.left().clear();
        drop(self.session.blocking_lock().take());
        self.put_git_back();
    }

    /// The room that its commands may use.
    fn space(&self, jail: &Jail) -> Space {
        Space::of([jail.root().to_owned(), self.tmp.clone()])
    }

    /// What is to be started, where, and with which variables; nothing is yet.
    fn prepare(&self, jail: &Jail, request: &Request) -> Result<Start, Fault> {
        check(request)?;
        if self.sandbox.init.is_empty() {
            return Err(Fault::new(FaultKind::Unavailable, "this server runs no commands"));
        }
        let directory = workdir(jail, request.workdir.as_ref())?;
        self.look_at_git(jail);
        let argv = match &request.command {
            Command::Shell(script) => vec!["bash".to_owned(), "-c".to_owned(), script.clone()],
            Command::Argv(arguments) => arguments.clone(),
        };
        let mut environment = [&self.environment[..], &request.environment].concat();
        if startup::applies_to(request) {
            let (name, value) = startup::VARIABLE;
            environment.push((name.to_owned(), value.to_owned()));
        }
        Ok(Start { argv, environment, directory })
    }

    /// Starts the call, in a new sandbox when there is none or the one there was is gone.
    async fn begin(
        &self,
        jail: &Jail,
        request: &Request,
        start: &Start,
    ) -> Result<(Arc<Session>, Call, Drain), Fault> {
        let failed = |err: io::Error| spawn_fault(&request.command, &err);
        let mut is_first = true;
        loop {
            let session = self.session(jail, is_first).await?;
            let (reader, writer) = io::pipe().map_err(failed)?;
            let stdin = match startup::applies_to(request) {
                true => Some(startup::TEXT.into()),
                false => request.stdin.clone(),
            };
            let (input, feed) = match stdin {
                Some(bytes) => {
                    io::pipe().map(|(read, write)| (Some(read.into()), Some((write, bytes))))
                }
                None => Ok((None, None)),
            }
            .map_err(failed)?;
            match session.call(start, writer, input).await {
                Ok(call) => {
                    let spill_dir = jail.spill_dir.as_ref();
                    let drain = Drain::start(reader, spill_dir, &request.command);
                    if let Some((pipe, bytes)) = feed {
                        feed_from(pipe, bytes).map_err(failed)?;
                    }
                    return Ok((session, call, drain.map_err(failed)?));
                }
                // Killed from within, or by the system; once it may come back.
                Err(err) if is_first && err.kind() == io::ErrorKind::BrokenPipe => is_first = false,
                Err(err) => return Err(failed(err)),
            }
        }
    }

    /// The session's sandbox; built anew when there is none, or when the `present` one is no good.
    async fn session(&self, jail: &Jail, present: bool) -> Result<Arc<Session>, Fault> {
        let mut session = self.session.lock().await;
        if let (Some(session), true) = (&*session, present) {
            return Ok(Arc::clone(session));
        }
        let gone = session.take();
        let (sandbox, name) = (Arc::clone(&self.sandbox), self.name.clone());
        let (workspace, tmp) = (jail.root().to_owned(), self.tmp.clone());
        let started = spawn_blocking(move || {
            drop(gone);
            Session::start(&sandbox, &workspace, &tmp, &name)
        });
        let started = started.await.unwrap_or_else(|err| Err(err.to_string()));
        let started = started.map_err(|cause| {
            Fault::new(
                FaultKind::Unavailable,
                format!("the server could not build the sandbox that commands run in: {cause}"),
            )
        })?;
        Ok(Arc::clone(session.insert(Arc::new(started))))
    }

    /// Remembers what git runs, unless that was done before something that may have changed it.
    fn look_at_git(&self, jail: &Jail) {
        if self.sandbox.posture == Posture::None {
            return;
        }
        let mut git = self.git.lock().unwrap_or_else(PoisonError::into_inner);
        if git.is_none() {
            *git = GitConfig::read(&jail.dir).ok();
        }
    }

    /// What to say of a command that printed this.
    fn notes(&self, session: Option<&Session>, kept: &Kept, ending: Ending) -> Vec<String> {
        let mut notes: Vec<_> =
            kept.pipeline.as_deref().and_then(startup::note).into_iter().collect();
        notes.extend(session.map(Session::excesses).unwrap_or_default());
        let is_bad = !matches!(ending, Ending::Exited(0) | Ending::Running);
        notes.extend(refusals(&self.sandbox, &kept.output, is_bad));
        notes.extend(self.put_git_back());
        notes
    }

    /// Undoes what a command did to what git runs; what to say of it. What is done to it once no
    /// command is at work is a person's doing, and stays.
    fn put_git_back(&self) -> Option<String> {
        let is_idle = self.is_idle();
        let mut git = self.git.lock().unwrap_or_else(PoisonError::into_inner);
        let put_back = git.as_ref()?.put_back();
        if is_idle && put_back.is_ok() {
            *git = None;
        }
        match put_back {
            Ok(touched) if touched.is_empty() => None,
            Ok(touched) => Some(format!(
                "the sandbox put back what this changed in `.git/config`, because git runs it as a \
                 program later: `{}`; no setting allows it",
                touched.join("`, `")
            )),
            Err(err) => Some(format!("`.git/config` could not be looked at: {err}")),
        }
    }

    /// Whether nothing runs that a command of this session started.
    fn is_idle(&self) -> bool {
        let mut left = self.left();
        left.retain(|left| !left.call.is_over());
        left.is_empty() && self.jobs.are_over()
    }

    /// Remembers what a call left behind.
    fn keep(&self, left: Left) {
        let mut all = self.left();
        all.retain(|left| !left.call.is_over());
        all.push(left);
    }

    /// Nothing that holds the lock can panic half-way, so a poisoned one is taken as it is.
    fn left(&self) -> MutexGuard<'_, Vec<Left>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.left().clear();
        drop(self.session.get_mut().take());
        self.put_git_back();
    }
}

/// The directory a command starts in.
fn workdir(jail: &Jail, workdir: Option<&JailPath>) -> Result<PathBuf, Fault> {
    let Some(workdir) = workdir else {
        return Ok(jail.root().to_owned());
    };
    if workdir.inside_spill().is_some() {
        return Err(Fault::new(
            FaultKind::Unsupported,
            format!("`{workdir}` is a view, and no command can run in it"),
        )
        .with_hint("name a directory of the workspace"));
    }
    // A look, for a good answer; what keeps the command inside is the sandbox.
    jail.place(workdir, LastLink::Follow)?.open_dir(workdir)?;
    Ok(jail.root().join(workdir.as_str()))
}

/// TERM, a grace in which output still comes, KILL. How the command ended, and whether nothing of
/// the call is left.
async fn end_gently(call: &mut Call) -> (Ending, bool) {
    let until = Instant::now() + GRACE;
    call.terminate();
    let mut ended = timeout(GRACE, call.ended()).await;
    let mut is_over = call.is_over_within(until.saturating_duration_since(Instant::now())).await;
    if !is_over {
        call.kill();
        if ended.is_err() {
            ended = timeout(GRACE, call.ended()).await;
        }
        is_over = call.is_over_within(GRACE).await;
    }
    (ended.map_or(Ending::Signalled(KILLED), |(ended, _)| Ending::of(ended)), is_over)
}

/// Ends everything a call started; whether nothing of it is left.
async fn end_at_once(call: &mut Call) -> bool {
    call.kill();
    call.is_over_within(GRACE).await
}

/// Writes stdin from a task of its own, so that a command that does not read holds up nothing.
fn feed_from(pipe: io::PipeWriter, bytes: Vec<u8>) -> io::Result<()> {
    let mut pipe = tokio::net::unix::pipe::Sender::from_owned_fd(pipe.into())?;
    tokio::spawn(async move {
        // A command that closes its input early is its own business.
        let _ = pipe.write_all(&bytes).await;
    });
    Ok(())
}
