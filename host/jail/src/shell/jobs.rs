//! Commands that run on by themselves: the jobs of a session.
//!
//! A job is a call like any other, attended by a task of its own, so that its end and its time-out
//! come when they come and not when somebody asks. What it prints is kept, bounded, until it is
//! asked for. It never outlives its session.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::drain::Drain;
use super::space::Space;
use super::{
    COUNTING, Command, Completion, Ending, KILLED, LINGER, QUIET, Request, Shell, end_at_once,
    end_gently, spawn_fault,
};
use crate::fault::{Fault, FaultKind};
use crate::jail::Jail;
use crate::sandbox::{Call, Ended};

/// Jobs of a session that run at one time: more is a loop that went wrong.
const MAX_RUNNING: usize = 8;

/// Jobs that can be asked about after their end.
const MAX_ENDED: usize = 16;

/// What a start waits, so that what fails at once is told at once.
const MOMENT: Duration = Duration::from_millis(500);

/// The most characters of a command in a list of jobs.
const MAX_TITLE_CHARS: usize = 60;

/// A job that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What to ask for it by: `job-1`, and so on, never twice in a session.
    pub id: String,
    /// What it did in its first moment.
    pub completion: Completion,
}

/// What is wanted of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// To be told what it did since it was last asked.
    Look,
    /// The same after its end, but no later than in this time.
    Wait(Duration),
    /// The same after everything it started was ended.
    Stop,
}

/// The jobs of one session.
#[derive(Debug)]
pub(super) struct Jobs {
    /// In the order they were started.
    all: Mutex<Vec<Arc<Attended>>>,
    started: AtomicU32,
    /// A place for each that may run.
    places: Arc<Semaphore>,
}

/// A job and who attends it. Dropping it ends everything it started.
#[derive(Debug)]
struct Attended {
    id: String,
    /// The beginning of its command.
    title: String,
    started: Instant,
    drain: Drain,
    /// Held by the task until the command ended; `None` once nothing is left.
    call: Arc<tokio::sync::Mutex<Option<Call>>>,
    /// The room it may use.
    space: Arc<Space>,
    /// How the command ended, and how long it ran.
    over: watch::Receiver<Option<(Ending, Duration)>>,
    stop: Arc<Notify>,
    task: AbortHandle,
}

impl Shell {
    /// Starts a command that runs on by itself, and waits a moment for what comes at once.
    /// Dropping the future before it is done ends what it started.
    ///
    /// # Errors
    /// Those of [`Shell::run`], and `unavailable` when as many as may be run already.
    pub async fn start_job(&self, jail: &Jail, request: Request) -> Result<Job, Fault> {
        let started = Instant::now();
        let start = self.prepare(jail, &request)?;
        let Ok(place) = Arc::clone(&self.jobs.places).try_acquire_owned() else {
            return Err(self.jobs.full());
        };
        let (_, mut call, drain) = self.begin(jail, &request, &start).await?;
        let limit = Duration::from_millis(u64::from(request.timeout_ms));
        let first = match timeout(MOMENT.min(limit), call.ended()).await {
            Ok((Ended::NotStarted(number), _)) => {
                return Err(spawn_fault(&request.command, &io::Error::from_raw_os_error(number)));
            }
            Ok((ended, _)) => Some((Ending::of(ended), started.elapsed())),
            Err(_) => None,
        };
        let (report, over) = watch::channel(first);
        let (stop, call) = (Arc::new(Notify::new()), Arc::new(tokio::sync::Mutex::new(Some(call))));
        let (stopped, attended) = (Arc::clone(&stop), Arc::clone(&call));
        let space = Arc::new(self.space(jail));
        let watched = Arc::clone(&space);
        let task = tokio::spawn(async move {
            if first.is_none() {
                let left = limit.saturating_sub(started.elapsed());
                let ending = attend(&attended, &stopped, &watched, left).await;
                drop(place);
                let _ = report.send(Some((ending, started.elapsed())));
            }
        });
        let job = Attended {
            id: format!("job-{}", self.jobs.started.fetch_add(1, Ordering::Relaxed) + 1),
            title: title(&request.command),
            started,
            drain,
            call,
            over,
            stop,
            space,
            task: task.abort_handle(),
        };
        let job = self.jobs.add(job);
        let completion = self.report(&job).await;
        Ok(Job { id: job.id.clone(), completion })
    }

    /// What a job did since it was last asked. Dropping the future leaves the job as it is.
    ///
    /// # Errors
    /// `not-found` for a job there is not, with those there are.
    pub async fn ask_job(&self, id: &str, ask: Ask) -> Result<Completion, Fault> {
        let job = self.jobs.find(id)?;
        match ask {
            Ask::Look => {}
            Ask::Wait(limit) => drop(timeout(limit, job.ended()).await),
            Ask::Stop => job.end().await,
        }
        Ok(self.report(&job).await)
    }

    async fn report(&self, job: &Attended) -> Completion {
        let over = *job.over.borrow();
        let mut still_running = 0;
        if over.is_some() {
            job.drain.settle(QUIET, LINGER).await;
            still_running = job.left().await;
        }
        let (ending, ran) = over.unwrap_or((Ending::Running, job.started.elapsed()));
        let session = self.session.lock().await.clone();
        let kept = job.drain.take_new();
        let mut notes = self.notes(session.as_deref(), &kept, ending);
        notes.extend(job.space.note());
        Completion::new(ending, kept, still_running, notes, ran)
    }
}

impl Default for Jobs {
    fn default() -> Jobs {
        Jobs {
            all: Mutex::default(),
            started: AtomicU32::new(0),
            places: Arc::new(Semaphore::new(MAX_RUNNING)),
        }
    }
}

impl Jobs {
    /// Whether nothing runs that a job started.
    pub(super) fn are_over(&self) -> bool {
        self.all().iter().all(|job| job.is_over())
    }

    /// Remembers one more, and forgets the oldest of those that are over when there are many.
    fn add(&self, job: Attended) -> Arc<Attended> {
        let job = Arc::new(job);
        let mut all = self.all();
        let mut surplus =
            all.iter().filter(|job| job.is_over()).count().saturating_sub(MAX_ENDED - 1);
        all.retain(|job| {
            let goes = surplus > 0 && job.is_over();
            surplus -= usize::from(goes);
            !goes
        });
        all.push(Arc::clone(&job));
        job
    }

    fn find(&self, id: &str) -> Result<Arc<Attended>, Fault> {
        let all = self.all();
        if let Some(job) = all.iter().find(|job| job.id == id) {
            return Ok(Arc::clone(job));
        }
        let named = all.iter().map(|job| match job.over.borrow().is_some() {
            true => format!("`{}` (ended)", job.id),
            false => format!("`{}` (runs `{}`)", job.id, job.title),
        });
        let named: Vec<String> = named.collect();
        Err(Fault::new(
            FaultKind::NotFound,
            match named.is_empty() {
                true => format!(
                    "there is no job `{id}`: none was started since the session was opened here"
                ),
                false => format!("there is no job `{id}`; there are {}", named.join(", ")),
            },
        ))
    }

    fn full(&self) -> Fault {
        let all = self.all();
        let running = all.iter().filter(|job| job.over.borrow().is_none());
        let running: Vec<_> =
            running.map(|job| format!("`{}` (`{}`)", job.id, job.title)).collect();
        let message = format!(
            "{MAX_RUNNING} jobs run already, and no more may at one time: {}",
            running.join(", ")
        );
        Fault::new(FaultKind::Unavailable, message).with_hint("stop one that is not needed")
    }

    /// Nothing that holds the lock can panic half-way, so a poisoned one is taken as it is.
    fn all(&self) -> MutexGuard<'_, Vec<Arc<Attended>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attended {
    /// Waits for the end of its command.
    async fn ended(&self) {
        // An error means that nobody attends it any more.
        let _ = self.over.clone().wait_for(Option::is_some).await;
    }

    /// Ends its command, and what that left behind.
    async fn end(&self) {
        self.stop.notify_one();
        self.ended().await;
        if let Some(call) = &mut *self.call.lock().await {
            end_gently(call).await;
        }
    }

    /// How many of its processes run on after its command.
    async fn left(&self) -> u32 {
        let mut call = self.call.lock().await;
        if let Some(attended) = call.as_mut().filter(|call| !call.is_over()) {
            let count = timeout(COUNTING, attended.count()).await.unwrap_or(1);
            if count > 0 {
                return count;
            }
        }
        *call = None;
        0
    }

    /// Whether nothing it started runs, as far as was heard.
    fn is_over(&self) -> bool {
        self.over.borrow().is_some()
            && self.call.try_lock().is_ok_and(|call| call.as_ref().is_none_or(Call::is_over))
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Waits for the end of a command, or brings it about.
async fn attend(
    call: &tokio::sync::Mutex<Option<Call>>,
    stop: &Notify,
    space: &Space,
    limit: Duration,
) -> Ending {
    let mut call = call.lock().await;
    let Some(call) = call.as_mut() else { return Ending::of(Ended::Lost) };
    tokio::select! {
        (ended, _) = call.ended() => Ending::of(ended),
        () = stop.notified() => end_gently(call).await.0,
        () = space.runs_out() => {
            end_at_once(call).await;
            Ending::Signalled(KILLED)
        }
        () = tokio::time::sleep(limit) => {
            end_gently(call).await;
            Ending::TimedOut
        }
    }
}

/// The beginning of a command, on one line.
fn title(command: &Command) -> String {
    let whole = match command {
        Command::Shell(script) => script.trim().to_owned(),
        Command::Argv(arguments) => arguments.join(" "),
    };
    let line = whole.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
