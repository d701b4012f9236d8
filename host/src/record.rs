//! The pen of one run: every event goes through here, redacted, in order, to the ledger.
//!
//! An event that a side effect follows is on disk before [`Record::flush`] returns; others ride
//! along with the next one that is. What a run comes to (turns, calls, tokens) is counted from
//! the events as they pass, so that the response and the ledger cannot differ.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::audit::{Audit, Denied, Whose};
use crate::deadline::Stopwatch;
use crate::error::with_causes;
use crate::event::{CallEnding, Event, Reason, State};
use crate::ledger::{Beside, FileState, Ledger, LedgerError, Mark, Observation, now_ms};
use crate::message::{Finish, Usage};
use crate::redact::Redactor;

/// Writes the events of one run.
pub struct Record {
    ledger: Ledger,
    run: String,
    redactor: Arc<Redactor>,
    state: State,
    riding: Vec<(u64, Event)>,
    /// What rides along with them.
    beside: Beside,
    /// Every file whose state before the run is, or will be, on record.
    changed: BTreeSet<String>,
    audit: Option<AuditTrail>,
    open_calls: Vec<OpenCall>,
    tally: Tally,
    running: Stopwatch,
}

/// Where commands and denials are told beside the record, and as whose.
struct AuditTrail {
    audit: Arc<Audit>,
    caller: String,
    session: String,
}

impl AuditTrail {
    fn whose<'a>(&'a self, run: &'a str) -> Whose<'a> {
        Whose { caller: &self.caller, session: &self.session, run }
    }
}

/// What a run came to so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Turns begun.
    pub turns: u32,
    /// Calls proposed.
    pub tool_calls: u32,
    /// Calls that ran, or were about to.
    pub calls_begun: u32,
    /// Tokens of every reply.
    pub usage: Usage,
    /// What was downgraded or ignored.
    pub notes: Vec<String>,
}

/// A call that was proposed and has no ending yet.
struct OpenCall {
    turn: u32,
    call_id: String,
    tool: String,
    /// None until it runs.
    running: Option<Stopwatch>,
}

impl Record {
    /// Stores a new run with its first event.
    ///
    /// # Errors
    ///
    /// When the ledger does not take it; then there is no such run.
    pub async fn start(
        ledger: Ledger,
        redactor: Arc<Redactor>,
        run: &str,
        session: &str,
        mark: Mark,
        audit: Option<Arc<Audit>>,
        started: Event,
    ) -> Result<Record, LedgerError> {
        let started = redactor.redact_event(started);
        let (caller, session) = (mark.caller.clone(), session.to_owned());
        ledger.start_run(run, &session, mark, started).await?;
        Ok(Record {
            ledger,
            run: run.to_owned(),
            redactor,
            state: State::Created,
            riding: Vec::new(),
            beside: Beside::default(),
            changed: BTreeSet::new(),
            audit: audit.map(|audit| AuditTrail { audit, caller, session }),
            open_calls: Vec::new(),
            tally: Tally::default(),
            running: Stopwatch::start(),
        })
    }

    /// What the run came to so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The text without any secret of the server's.
    pub fn redact(&self, text: &str) -> String {
        self.redactor.redact(text).into_owned()
    }

    /// Notes an event that rides along with the next flush.
    pub fn ride(&mut self, event: Event) {
        match self.state.after(&event) {
            Ok(state) => self.state = state,
            // The ledger refuses it too, so the run ends as our own failure and says so.
            Err(illegal) => tracing::error!(run = self.run, "{illegal}"),
        }
        let event = self.redactor.redact_event(event);
        self.count(&event);
        self.riding.push((now_ms(), event));
    }

    /// Notes something that was downgraded or ignored.
    pub fn note(&mut self, text: impl Into<String>) {
        self.ride(Event::Note { text: text.into() });
    }

    /// Takes in what was in files before the run changed them; of each file the first state counts.
    pub fn keep_before(&mut self, files: Vec<FileState>) {
        for file in files {
            if self.changed.insert(file.path.clone()) {
                self.beside.files.push(file);
            }
        }
    }

    /// The files that the run changed.
    pub fn changed(&self) -> impl Iterator<Item = String> {
        self.changed.iter().cloned()
    }

    /// Takes in what is in the changed files at the end.
    pub fn keep_after(&mut self, files: Vec<FileState>) {
        self.beside.files.extend(files);
    }

    /// Takes in what changed in what the model was shown.
    pub fn keep_observations(&mut self, observations: Vec<Observation>) {
        self.beside.observations.extend(observations);
    }

    /// Tells the audit log, if there is one, of a command that is about to run.
    ///
    /// # Errors
    ///
    /// When the log does not take it: the command must not run then.
    pub fn audit_command(&self, call_id: &str, tool: &str, input: &str) -> std::io::Result<()> {
        let Some(trail) = &self.audit else { return Ok(()) };
        let input = self.redactor.redact(input);
        trail.audit.command(trail.whose(&self.run), call_id, tool, &input)
    }

    /// Returns once everything noted is on disk.
    ///
    /// # Errors
    ///
    /// When the ledger does not take it: the run must end then, because nothing may be done that
    /// is not on record.
    pub async fn flush(&mut self) -> Result<(), LedgerError> {
        let events = std::mem::take(&mut self.riding);
        if events.is_empty() {
            return Ok(());
        }
        let beside = std::mem::take(&mut self.beside);
        self.ledger.append_with(&self.run, events, beside).await.map(|_| ())
    }

    /// Closes the run: calls without an ending get one, then the last event is stored.
    pub async fn end(
        &mut self,
        reason: Reason,
        finish: Finish,
        answer: &str,
        error: Option<String>,
    ) {
        for call in std::mem::take(&mut self.open_calls) {
            let (ending, summary) = match call.running {
                Some(_) => (CallEnding::Failed { fault: "cancelled".to_owned() }, "stopped"),
                None => (CallEnding::NotRun, "not executed"),
            };
            self.ride(Event::CallEnded {
                turn: call.turn,
                call_id: call.call_id,
                tool: call.tool,
                ending,
                text: format!("{summary}: the run ended before this call did"),
                images: Vec::new(),
                summary: summary.to_owned(),
                data: None,
                exit_code: None,
                elapsed_us: call.running.map_or(0, Stopwatch::elapsed_us),
            });
        }
        let ended = self.redactor.redact_event(Event::Ended {
            reason,
            finish,
            answer: answer.to_owned(),
            error,
            usage: self.tally.usage,
            turns: self.tally.turns,
            tool_calls: self.tally.tool_calls,
            elapsed_ms: self.running.elapsed_ms(),
            in_flight: Vec::new(),
        });
        self.ride(ended.clone());
        let Err(err) = self.flush().await else { return };
        // What was lost before (a full disk, a flush that was cut off) must not cost the end: that
        // one may follow on anything.
        tracing::error!(run = self.run, "events of the run are lost: {}", with_causes(&err));
        if let Err(err) = self.ledger.append(&self.run, vec![(now_ms(), ended)]).await {
            tracing::error!(run = self.run, "the end of the run is lost: {}", with_causes(&err));
        }
    }

    fn count(&mut self, event: &Event) {
        match event {
            Event::TurnStarted { .. } => self.tally.turns += 1,
            Event::Replied { turn, calls, usage, .. } => {
                self.tally.tool_calls += u32::try_from(calls.len()).unwrap_or(u32::MAX);
                self.tally.usage += usage.unwrap_or_default();
                self.open_calls.extend(calls.iter().map(|call| OpenCall {
                    turn: *turn,
                    call_id: call.id.clone(),
                    tool: call.tool.clone(),
                    running: None,
                }));
            }
            Event::CallStarted { call_id, .. } => {
                let open = self.open_calls.iter_mut().find(|call| call.call_id == *call_id);
                if let Some(call) = open {
                    call.running = Some(Stopwatch::start());
                }
                self.tally.calls_begun += 1;
            }
            Event::CallEnded { call_id, tool, ending, text, .. } => {
                self.open_calls.retain(|call| call.call_id != *call_id);
                if let (CallEnding::Denied { guard, rule }, Some(trail)) = (ending, &self.audit) {
                    let denied = Denied { call_id, tool, guard, rule, text };
                    trail.audit.denial(trail.whose(&self.run), denied);
                }
            }
            Event::Note { text } => self.tally.notes.push(text.clone()),
            _ => {}
        }
    }
}
