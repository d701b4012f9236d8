//! One run: put together from a request, let go in a task of its own, ended on record.
//!
//! Whoever asked holds a [`Run`]; dropping it cancels. The task goes on just long enough to write
//! down how it ended, and lets go of the directory last.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::open::{Hold, unreadable};
use super::refusal::{cancelled, refusal};
use super::{ANY_MODEL, Finished, Harness, RunRequest, Tighter, ToolUse};
use crate::agent::{self, Ending, Limits, Task};
use crate::error::Refusal;
use crate::event::{Event, Reason};
use crate::message::{Finish, Message, Usage};
use crate::plugin::{Plugins, Profile, Tool};
use crate::prompt;
use crate::record::Record;
use crate::session::Session;
use crate::upstream::{Conversation, Offers, ToolChoice, ToolOffer};

/// For tools to let go of the workspace after the end of their run.
const LETTING_GO: Duration = Duration::from_secs(5);

/// A run under way. Dropping it cancels the run.
#[derive(Debug)]
pub struct Run {
    /// `run_` and 32 hexadecimal digits.
    pub id: String,
    /// The session's id.
    pub session: String,
    /// The session's directory.
    pub workspace: String,
    /// The model that is asked.
    pub model: String,
    finished: oneshot::Receiver<Finished>,
    _cancel: DropGuard,
}

impl Run {
    /// Waits for the end. Dropping the future cancels the run.
    pub async fn finished(self) -> Finished {
        match self.finished.await {
            Ok(finished) => finished,
            // Only a panic while the end was written down loses the sender.
            Err(_) => Finished {
                reason: Reason::Internal,
                finish: Finish::Stop,
                answer: String::new(),
                error: Some(Refusal::internal("the run ended without a word; this is our fault")),
                usage: Usage::default(),
                turns: 0,
                tool_calls: 0,
                notes: Vec::new(),
            },
        }
    }
}

/// Everything a run's task owns.
struct Started {
    harness: Arc<Harness>,
    plugins: Arc<Plugins>,
    session: Arc<Session>,
    conversation: Conversation,
    offers: Offers,
    model: String,
    request: RunRequest,
    limits: Limits,
    record: Record,
    hold: Hold,
    id: String,
}

impl Harness {
    /// Starts a run.
    ///
    /// # Errors
    ///
    /// For the client: no such session or workspace, another run in it, too many runs, a server
    /// that is stopping, or a fault of ours. Then nothing was done.
    pub async fn start(self: &Arc<Self>, request: RunRequest) -> Result<Run, Refusal> {
        self.refuse_when_stopping()?;
        // In a task of its own: a client that leaves in the middle of it drops the run, which
        // cancels it, and not the half-done start of one, which nobody would ever end.
        let starting = self.runs.spawn(self.clone().begin(request));
        starting.await.unwrap_or_else(|_| {
            Err(Refusal::internal("the run met a fault of the server before it began"))
        })
    }

    async fn begin(self: Arc<Self>, request: RunRequest) -> Result<Run, Refusal> {
        let plugins = tokio::select! {
            () = self.cancel.cancelled() => None,
            plugins = self.plugins() => Some(plugins),
        };
        self.refuse_when_stopping()?;
        let Some(plugins) = plugins else {
            return Err(Refusal::internal("the server stopped before the run began"));
        };
        let permit = self.permits.clone().try_acquire_owned().map_err(|_| {
            Refusal::busy(format!("{} runs are under way, no more may be", self.config.max_runs), 5)
        })?;
        let session =
            self.open(&request.caller, request.session.as_deref(), request.workspace.as_deref());
        let session = session.await?;
        let id = format!("run_{}", uuid::Uuid::now_v7().simple());
        let hold = self.hold(&session, &id)?;

        let asked = request.model.as_deref().filter(|model| *model != ANY_MODEL);
        let model = asked.unwrap_or(&self.config.upstream.model).to_owned();
        let upstream = &self.config.upstream;
        let profile = plugins
            .profile(upstream.profile.as_deref(), &upstream.base_url, &model)
            .map_err(|err| {
                tracing::error!("{err}");
                Refusal::internal(format!("no profile for this upstream: {err}"))
            })?;
        let offers = self.offers(&plugins, profile, request.tools)?;
        let mut conversation = Conversation::new(profile.quirks.clone());
        let system = Message::System { text: prompt::system(&request.system) };
        for message in std::iter::once(&system).chain(&request.messages) {
            // What the model reads is what is on record.
            conversation.push(self.redactor.redact_message(message.clone()));
        }
        let started = Event::Started {
            session: session.id.clone(),
            workspace: session.directory.clone(),
            model: model.clone(),
            profile: profile.name.clone(),
            conversation: conversation.messages().to_vec(),
        };
        let record =
            Record::start(self.ledger.clone(), self.redactor.clone(), &id, &session.id, started);
        let mut record = record.await.map_err(|err| unreadable(&err))?;
        for note in &request.notes {
            record.note(note.clone());
        }
        let limits = self.limits(&request.limits, &mut record);

        let (sender, finished) = oneshot::channel();
        let cancel = self.cancel.child_token();
        let run = Run {
            id: id.clone(),
            session: session.id.clone(),
            workspace: session.directory.clone(),
            model: model.clone(),
            finished,
            _cancel: cancel.clone().drop_guard(),
        };
        let started = Started {
            harness: self.clone(),
            plugins,
            session,
            conversation,
            offers,
            model,
            request,
            limits,
            record,
            hold,
            id,
        };
        self.runs.spawn(async move {
            let finished = drive(started, cancel).await;
            drop(permit);
            // Nobody may be there to hear it; it is on record.
            let _ = sender.send(finished);
        });
        Ok(run)
    }

    /// The tools as this profile's models are told of them.
    fn offers(
        &self,
        plugins: &Plugins,
        profile: &Profile,
        tools: ToolUse,
    ) -> Result<Offers, Refusal> {
        let offered: &[Tool] = if tools == ToolUse::Off { &[] } else { plugins.tools() };
        let offers = offered.iter().map(|tool| ToolOffer {
            name: tool.spec().name.clone(),
            description: tool.spec().description.clone(),
            schema: tool.spec().input_schema.clone(),
        });
        let offers: Vec<ToolOffer> = offers.collect();
        Offers::new(&offers, &profile.quirks).map_err(|err| {
            tracing::error!("{err}");
            Refusal::internal(format!("the tools cannot be offered: {err}"))
        })
    }

    /// The configured limits, or tighter ones; what would be looser is clamped and noted.
    fn limits(&self, asked: &Tighter, record: &mut Record) -> Limits {
        let budget = self.config.budget;
        let mut clamp = |name: &str, asked: Option<u64>, limit: u64| match asked {
            Some(asked) if asked > limit => {
                record.note(format!("`harness.{name}` of {asked} is over the server's {limit}"));
                limit
            }
            Some(asked) => asked,
            None => limit,
        };
        let turns = clamp("max_turns", asked.max_turns.map(u64::from), budget.max_turns.into());
        let tokens = clamp("max_total_tokens", asked.max_total_tokens, budget.max_total_tokens);
        let seconds = clamp("max_seconds", asked.max_seconds, budget.max_time.as_secs());
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        Limits::new(turns, tokens, Duration::from_secs(seconds))
    }
}

/// Runs a task to its end, whatever that is, and puts it on record.
async fn drive(started: Started, cancel: CancellationToken) -> Finished {
    let Started {
        harness,
        plugins,
        session,
        conversation,
        offers,
        model,
        request,
        limits,
        mut record,
        hold,
        id,
    } = started;
    let mut task = Task {
        upstream: &harness.upstream,
        plugins: &plugins,
        session: &session,
        conversation,
        offers: &offers,
        model: &model,
        extra: &request.extra,
        first_choice: match request.tools {
            ToolUse::Required => ToolChoice::Required,
            ToolUse::Auto | ToolUse::Off => ToolChoice::Auto,
        },
        limits,
        parallel_reads: harness.config.parallel_reads,
        running: TaskTracker::new(),
    };
    let ended = {
        // The state behind the unwind is the record and the conversation: the record is closed
        // below from what it has counted, the conversation is dropped.
        let running = AssertUnwindSafe(agent::run(&mut task, &mut record)).catch_unwind();
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            ended = running => Some(ended),
        }
    };
    // A tool that was dropped in the middle of a write finishes it before the directory is free.
    task.running.close();
    if tokio::time::timeout(LETTING_GO, task.running.wait()).await.is_err() {
        tracing::error!(run = id, "a tool still runs after the end of its run");
    }
    let (ending, error) = match ended {
        Some(Ok(Ok(ending))) => (ending, None),
        Some(Ok(Err(stop))) => (without_answer(stop.reason()), Some(refusal(&stop))),
        Some(Err(_)) => {
            let refusal = Refusal::internal("the run met a fault of the server and was ended");
            (without_answer(Reason::Internal), Some(refusal))
        }
        None => {
            // What a cancelled run's commands left behind has nobody to come back to it.
            let session = session.clone();
            let ending = tokio::task::spawn_blocking(move || session.workspace.shell.end());
            if let Err(err) = ending.await {
                tracing::error!(run = id, "what its commands left running was not ended: {err}");
            }
            (without_answer(Reason::Cancelled), Some(cancelled()))
        }
    };
    let answer = cut_at_stop(ending.answer, &request.answer.stop);
    let error = error.map(|error| Refusal {
        message: record.redact(&error.message),
        may_retry: error.may_retry && record.tally().tool_calls == 0,
        ..error
    });
    record.end(ending.reason, &answer, error.as_ref().map(|error| error.message.clone())).await;
    let tally = record.tally();
    tracing::info!(
        run = id,
        session = session.id,
        reason = ending.reason.as_str(),
        turns = tally.turns,
        calls = tally.tool_calls,
        "run ended"
    );
    drop(hold);
    Finished {
        reason: ending.reason,
        finish: ending.finish,
        answer,
        error,
        usage: tally.usage,
        turns: tally.turns,
        tool_calls: tally.tool_calls,
        notes: tally.notes.clone(),
    }
}

fn without_answer(reason: Reason) -> Ending {
    Ending { reason, finish: Finish::Stop, answer: String::new() }
}

/// The answer up to the first stop text; the provider would have stopped there.
fn cut_at_stop(mut answer: String, stop: &[String]) -> String {
    let ends = stop.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| answer.find(stop));
    if let Some(end) = ends.min() {
        answer.truncate(end);
    }
    answer
}
