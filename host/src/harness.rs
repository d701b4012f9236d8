//! A stand-in for the loop with the door's side of its types, so that the door can be tested alone.
//!
//! What a run does is decided by the last user message: see [`Harness::start`]. Replaced by the
//! real loop, which keeps every signature that the door uses.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::sync::watch;

use crate::error::Refusal;
use crate::event::{Event, Reason, Recorded, State};
use crate::message::{Finish, Message, Usage};
use crate::wire::Passthrough;

/// What the door asks for.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Who asks.
    pub caller: String,
    /// A session to go on with.
    pub session: Option<String>,
    /// An absolute directory.
    pub workspace: Option<String>,
    /// None for the configured one.
    pub model: Option<String>,
    /// The client's instructions.
    pub system: Vec<String>,
    /// The conversation; the last is a user's.
    pub messages: Vec<Message>,
    /// What belongs to the answer alone.
    pub answer: AnswerOptions,
    /// For the upstream.
    pub extra: Passthrough,
    /// Whether tools may be called.
    pub tools: ToolUse,
    /// Limits under the configured ones.
    pub limits: Tighter,
    /// What the door does not do as asked.
    pub notes: Vec<String>,
}

/// What belongs to the answer alone.
#[derive(Clone, Debug, Default)]
pub struct AnswerOptions {
    /// Where it ends.
    pub stop: Vec<String>,
}

/// Whether tools may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolUse {
    /// The model decides.
    Auto,
    /// At least once.
    Required,
    /// Never.
    Off,
}

/// Limits under the configured ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tighter {
    /// Turns.
    pub max_turns: Option<u32>,
    /// Seconds.
    pub max_seconds: Option<u64>,
    /// Tokens.
    pub max_total_tokens: Option<u64>,
}

/// The loop.
#[derive(Default)]
pub struct Harness {
    ledger: Ledger,
    is_stopping: AtomicBool,
    /// Runs that were dropped before they were finished.
    pub cancelled: AtomicUsize,
    /// Runs that were started.
    pub started: AtomicUsize,
}

impl Harness {
    /// Starts what the last message says: `wait`, `fail`, `budget`, `busy`, `panic`, `request`
    /// (answers what the door handed over), or `say TEXT`.
    pub async fn start(self: &Arc<Self>, request: RunRequest) -> Result<Run, Refusal> {
        if self.is_stopping.load(Ordering::SeqCst) {
            return Err(Refusal::internal("the server is stopping").with_status(503));
        }
        let Some(Message::User { text }) = request.messages.last().cloned() else {
            return Err(Refusal::internal("no user message"));
        };
        match text.as_str() {
            "busy" => return Err(Refusal::busy("64 runs are under way, at most 64 may be", 7)),
            "panic" => panic!("asked to"),
            _ => {}
        }
        self.started.fetch_add(1, Ordering::SeqCst);
        Ok(Run {
            id: "run_0001".to_owned(),
            session: request.session.clone().unwrap_or_else(|| "ws_00000001".to_owned()),
            workspace: request.workspace.clone().unwrap_or_else(|| "/w".to_owned()),
            model: "configured".to_owned(),
            text,
            request,
            guard: Guard { harness: self.clone(), is_over: false },
        })
    }

    /// The record.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// What can be asked for.
    pub fn models(&self) -> Vec<String> {
        vec!["Org/configured".to_owned(), "harness".to_owned()]
    }

    /// Why no run can be taken now.
    pub fn ready(&self) -> Result<(), String> {
        match self.is_stopping.load(Ordering::SeqCst) {
            true => Err("the server is stopping".to_owned()),
            false => Ok(()),
        }
    }

    /// Takes no more runs.
    pub fn begin_shutdown(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.ledger.stop.send_replace(true);
    }

    /// Cancels what is left.
    pub async fn shutdown(&self, _grace: Duration) {}
}

/// A run under way; dropping it cancels.
pub struct Run {
    /// Its id.
    pub id: String,
    /// Its session.
    pub session: String,
    /// Its directory.
    pub workspace: String,
    /// The model asked.
    pub model: String,
    text: String,
    request: RunRequest,
    guard: Guard,
}

struct Guard {
    harness: Arc<Harness>,
    is_over: bool,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_over {
            self.harness.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl Run {
    /// Waits for the end.
    pub async fn finished(mut self) -> Finished {
        let usage = Usage {
            prompt_tokens: 10,
            completion_tokens: 5,
            cached_tokens: 4,
            reasoning_tokens: 2,
        };
        let mut finished = Finished {
            reason: Reason::Completed,
            finish: Finish::Stop,
            answer: self.text.strip_prefix("say ").unwrap_or_default().to_owned(),
            error: None,
            usage,
            turns: 2,
            tool_calls: 1,
            notes: self.request.notes.clone(),
        };
        let fail = |status: u16, reason: Reason| {
            Some(Refusal::internal("it broke").with_status(status).with_code(reason.as_str()))
        };
        match self.text.as_str() {
            "wait" => {
                let mut stop = self.guard.harness.ledger.stop.subscribe();
                let _ = stop.wait_for(|stop| *stop).await;
                finished.reason = Reason::Cancelled;
                finished.error = fail(503, Reason::Cancelled);
            }
            "slow" => tokio::time::sleep(Duration::from_millis(120)).await,
            "fail" => {
                finished.reason = Reason::UpstreamFailed;
                finished.error = fail(502, Reason::UpstreamFailed);
            }
            "budget" => finished.reason = Reason::MaxTurns,
            "request" => finished.answer = format!("{:?}", self.request),
            _ => {}
        }
        self.guard.is_over = true;
        finished
    }
}

/// How a run ended.
pub struct Finished {
    /// Why.
    pub reason: Reason,
    /// Of the last reply.
    pub finish: Finish,
    /// The answer.
    pub answer: String,
    /// When there is none.
    pub error: Option<Refusal>,
    /// In all.
    pub usage: Usage,
    /// Taken.
    pub turns: u32,
    /// Proposed.
    pub tool_calls: u32,
    /// The request's, and the loop's.
    pub notes: Vec<String>,
}

/// The record, in memory.
pub struct Ledger {
    runs: Mutex<HashMap<String, Vec<Recorded>>>,
    progress: watch::Sender<Progress>,
    stop: watch::Sender<bool>,
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger {
            runs: Mutex::default(),
            progress: watch::Sender::new(Progress { seq: 0, ended: false }),
            stop: watch::Sender::new(false),
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Of the last event.
    pub seq: u64,
    /// Whether it was the end.
    pub ended: bool,
}

/// A run in short.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// Its id.
    pub id: String,
    /// Where it is.
    pub state: State,
}

/// It cannot happen here.
#[derive(Debug, thiserror::Error)]
#[error("the ledger is broken")]
pub struct LedgerError;

impl Ledger {
    /// Appends an event, for tests.
    pub fn append(&self, run: &str, event: Event) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let events = runs.entry(run.to_owned()).or_default();
        let seq = events.len() as u64 + 1;
        let ended = matches!(event, Event::Ended { .. });
        events.push(Recorded { run: run.to_owned(), seq, at_ms: 0, event });
        self.progress.send_replace(Progress { seq, ended });
    }

    /// The run in short.
    pub async fn run(&self, id: &str) -> Result<Option<RunSummary>, LedgerError> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(runs.get(id).map(|_| RunSummary { id: id.to_owned(), state: State::Created }))
    }

    /// Events after `after_seq`.
    pub async fn events(
        &self,
        run: &str,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        let events = runs.get(run).into_iter().flatten();
        Ok(events.filter(|event| event.seq > after_seq).take(limit).cloned().collect())
    }

    /// How far it is.
    pub fn watch(&self, _run: &str) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}
