//! The start of a run: put together from a request, put on record, let go in a task of its own.
//!
//! A request that was sent before finds its run (`twice`). Everything that can go wrong before a
//! run exists is a refusal, and leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::live::{Live, Run};
use super::open::unreadable;
use super::refusal::workspace_busy;
use super::run::{Prepared, Started, drive};
use super::{ANY_MODEL, Harness, RunRequest, Tighter, ToolUse};
use crate::agent::Limits;
use crate::config::Busy;
use crate::error::Refusal;
use crate::event::Event;
use crate::message::Message;
use crate::plugin::{Plugins, Profile, Tool};
use crate::prompt;
use crate::record::Record;
use crate::upstream::{Conversation, Offers, ToolOffer};

impl Harness {
    /// Starts a run, or finds the one that this request became when it was sent before.
    ///
    /// # Errors
    ///
    /// For the client: no such session or workspace, another run in it, too many runs, a request
    /// that was run before and has no answer, a server that is stopping, or a fault of ours. Then
    /// nothing was done.
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
        let prepared = self.prepare(&plugins, &request)?;
        self.settle(&request).await?;
        let caller = request.mark.caller.as_str();
        let workspace = self.canonical(caller, request.workspace.as_deref()).await?;
        // One at a time: a directory never gets two sessions, nor a request two runs.
        let _opening = self.opening.lock().await;
        if let Some(run) = self.sent_before(&request).await? {
            return Ok(run);
        }
        let permit = self.permits.clone().try_acquire_owned().map_err(|_| {
            Refusal::busy(format!("{} runs are under way, no more may be", self.config.max_runs), 5)
        })?;
        let session = self.open(caller, request.session.as_deref(), workspace.as_deref()).await?;
        let id = format!("run_{}", uuid::Uuid::now_v7().simple());
        let taken = self.holds.take(&session.directory, &id);
        let (hold, in_the_way) = match (taken, self.config.busy) {
            (Ok(hold), _) => (Ok(hold), None),
            (Err(other), Busy::Refuse) => return Err(workspace_busy(&other)),
            (Err(other), Busy::Queue) => {
                (Err(self.holds.queue(&session.directory, &id)), Some(other))
            }
        };
        let started = Event::Started {
            session: session.id.clone(),
            workspace: session.directory.clone(),
            model: prepared.model.clone(),
            profile: prepared.profile.clone(),
            conversation: prepared.conversation.messages().to_vec(),
        };
        let (mark, audit) = (request.mark.clone(), self.audit.clone());
        let ledger = self.ledger.clone();
        let record =
            Record::start(ledger, self.redactor.clone(), &id, &session.id, mark, audit, started);
        let mut record = record.await.map_err(|err| unreadable(&err))?;
        for note in &request.notes {
            record.note(note.clone());
        }
        if let Some(other) = &in_the_way {
            tracing::info!(run = id, "waits for run `{other}`");
            record.note(format!("waits for run `{other}`, which is at work in this workspace"));
        }
        let limits = self.limits(&request.limits, &mut record);

        let (ending, ended) = watch::channel(None);
        let cancel = self.cancel.child_token();
        let interest = Arc::new(cancel.clone().drop_guard());
        let live = Live {
            session: session.id.clone(),
            workspace: session.directory.clone(),
            model: prepared.model.clone(),
            caller: request.mark.caller.clone(),
            cancel: cancel.clone(),
            ended: ended.clone(),
            interest: Arc::downgrade(&interest),
        };
        let run = Run {
            id: id.clone(),
            session: live.session.clone(),
            workspace: live.workspace.clone(),
            model: live.model.clone(),
            ended,
            _interest: Some(interest.clone()),
        };
        self.live.add(&id, live);
        let alone = request.detach.then_some(interest);
        let started = Started {
            harness: self.clone(),
            plugins,
            session,
            prepared,
            request,
            limits,
            record,
            hold,
            id,
        };
        self.runs.spawn(async move {
            let (harness, id) = (started.harness.clone(), started.id.clone());
            let finished = drive(started, cancel).await;
            drop(permit);
            ending.send_replace(Some(finished));
            harness.live.remove(&id);
            drop(alone);
        });
        Ok(run)
    }

    /// What can be made ready before anything is locked: it may be much text.
    fn prepare(&self, plugins: &Plugins, request: &RunRequest) -> Result<Prepared, Refusal> {
        let asked = request.model.as_deref().filter(|model| *model != ANY_MODEL);
        let model = asked.or(self.config.upstream.model.as_deref());
        let model = model.ok_or_else(no_model)?.to_owned();
        let upstream = &self.config.upstream;
        let profile = plugins
            .profile(upstream.profile.as_deref(), &upstream.base_url, &model)
            .map_err(|err| {
                tracing::error!("{err}");
                Refusal::internal(format!("no profile for this upstream: {err}"))
            })?;
        let offers = self.offers(plugins, profile, request.tools)?;
        let mut conversation = Conversation::new(profile.quirks.clone());
        let system = Message::System { text: prompt::system(&request.system) };
        for message in std::iter::once(&system).chain(&request.messages) {
            // What the model reads is what is on record.
            conversation.push(self.redactor.redact_message(message.clone()));
        }
        Ok(Prepared { profile: profile.name.clone(), conversation, offers, model })
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
                record.note(format!(
                    "`harness.{name}` of {asked} is over the server's {limit}, which holds"
                ));
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

fn no_model() -> Refusal {
    let message = "`model` is missing, and the server has no `upstream.model` to ask instead";
    Refusal::invalid("model", message).with_code("missing")
}
