//! What a run comes to, read off its events: the summary, and the calls that were running.
//!
//! Pure: events in, [`RunSummary`] out. The same folding answers a question about a run and
//! closes one that was cut off, so that both say the same.

use serde::Serialize;

use crate::event::{Event, Reason, State};
use crate::message::{Finish, Usage};

/// A run, as its events tell it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// The run's id.
    pub id: String,
    /// The session it belongs to.
    pub session: String,
    /// Whose session that is; not for showing.
    #[serde(skip)]
    pub caller: String,
    /// Where it is.
    pub state: State,
    /// When it was started, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it ended, in milliseconds since 1970; None while it runs.
    pub ended_ms: Option<u64>,
    /// Why it ended; None while it runs.
    pub reason: Option<Reason>,
    /// Turns begun so far.
    pub turns: u32,
    /// Calls proposed so far.
    pub tool_calls: u32,
    /// Sum over the replies so far.
    pub usage: Usage,
    /// The model that is asked, as the upstream knows it.
    pub model: String,
    /// The workspace's directory on this machine.
    pub workspace: String,
    /// How the answer ended; not for showing.
    #[serde(skip)]
    pub finish: Finish,
    /// The answer; empty while it runs and when it failed.
    pub answer: String,
    /// What went wrong, for the client, when it failed.
    pub error: Option<String>,
}

/// A summary in the making.
pub(super) struct Fold {
    summary: RunSummary,
    running: Vec<String>,
    first_ms: Option<u64>,
    last_ms: u64,
}

impl Fold {
    /// A run of which no event was read yet.
    pub(super) fn new(id: &str, session: String, created_ms: u64) -> Fold {
        Fold {
            summary: RunSummary {
                id: id.to_owned(),
                session,
                caller: String::new(),
                state: State::Created,
                created_ms,
                ended_ms: None,
                reason: None,
                turns: 0,
                tool_calls: 0,
                usage: Usage::default(),
                model: String::new(),
                workspace: String::new(),
                finish: Finish::Stop,
                answer: String::new(),
                error: None,
            },
            running: Vec::new(),
            first_ms: None,
            last_ms: created_ms,
        }
    }

    /// Whose run it is.
    pub(super) fn set_caller(&mut self, caller: String) {
        self.summary.caller = caller;
    }

    /// Takes the next event in.
    pub(super) fn push(&mut self, at_ms: u64, event: Event) {
        self.first_ms.get_or_insert(at_ms);
        self.last_ms = self.last_ms.max(at_ms);
        let summary = &mut self.summary;
        // What is stored was legal when it was stored; a fold has nobody to complain to.
        summary.state = summary.state.after(&event).unwrap_or(summary.state);
        match event {
            Event::Started { model, workspace, .. } => {
                summary.model = model;
                summary.workspace = workspace;
            }
            Event::TurnStarted { turn, .. } => summary.turns = summary.turns.max(turn),
            Event::Replied { calls, usage, .. } => {
                let proposed = u32::try_from(calls.len()).unwrap_or(u32::MAX);
                summary.tool_calls = summary.tool_calls.saturating_add(proposed);
                if let Some(usage) = usage {
                    summary.usage += usage;
                }
            }
            Event::CallStarted { call_id, .. } => self.running.push(call_id),
            Event::CallEnded { call_id, .. } => self.running.retain(|id| *id != call_id),
            Event::Ended { reason, finish, answer, error, usage, turns, tool_calls, .. } => {
                summary.finish = finish;
                summary.reason = Some(reason);
                summary.answer = answer;
                summary.error = error;
                summary.usage = usage;
                summary.turns = turns;
                summary.tool_calls = tool_calls;
                summary.ended_ms = Some(at_ms);
            }
            Event::Asked { .. }
            | Event::Retried { .. }
            | Event::Progress { .. }
            | Event::Note { .. } => {}
        }
    }

    /// The summary of everything pushed.
    pub(super) fn into_summary(self) -> RunSummary {
        self.summary
    }

    /// When the latest event happened.
    pub(super) fn last_ms(&self) -> u64 {
        self.last_ms
    }

    /// The event that closes a run whose process died. `unread` events could not be counted in.
    pub(super) fn into_interruption(self, unread: u64) -> Event {
        let mut error = "the server stopped while this run was going on".to_owned();
        if unread > 0 {
            error.push_str(&format!("; {unread} of its events could not be read"));
        }
        Event::Ended {
            reason: Reason::Interrupted,
            finish: Finish::Stop,
            answer: String::new(),
            error: Some(error),
            usage: self.summary.usage,
            turns: self.summary.turns,
            tool_calls: self.summary.tool_calls,
            elapsed_ms: self.last_ms.saturating_sub(self.first_ms.unwrap_or(self.last_ms)),
            in_flight: self.running,
        }
    }
}
