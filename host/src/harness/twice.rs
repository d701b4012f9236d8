//! A request that is sent again is the same run: it waits for it, gets what it came to, or hears
//! what became of it.
//!
//! SDKs send again by themselves after a lost connection, a time-out and many errors, with a count
//! of how often (`x-stainless-retry-count`) and without a key of their own; some without the count.
//! What a tool has done is never done twice because of that. Where no call was begun, sending again
//! starts anew.

use std::time::Duration;

use tokio::sync::watch;

use super::live::Run;
use super::open::unreadable;
use super::{Finished, Harness, RunRequest};
use crate::error::Refusal;
use crate::event::Reason;
use crate::ledger::{RunSummary, Sent, now_ms};

/// For how long a request without a key is known again: SDKs give up long before.
const KNOWN: Duration = Duration::from_secs(3_600);

/// After a run that did something and failed: not every client says that it sends a request again,
/// and all that do so by themselves do it within seconds.
const JUST_NOW: Duration = Duration::from_secs(15);

/// For a run that everyone left to end.
const ENDING: Duration = Duration::from_secs(10);

impl Harness {
    /// What is to be done about a request that may have been sent before, while nothing is locked:
    /// a run of it that everyone left is let end, and a silent repeat is refused.
    ///
    /// # Errors
    ///
    /// What became of the run that it repeats.
    pub(super) async fn settle(&self, request: &RunRequest) -> Result<(), Refusal> {
        let Some(Sent { run, .. }) = self.find(request).await? else {
            return self.refuse_just_failed(request).await;
        };
        if let Some(mut ended) = self.live.left_by_all(&run) {
            // Too late a look counts as over.
            let _ = tokio::time::timeout(ENDING, ended.wait_for(Option::is_some)).await;
        }
        Ok(())
    }

    /// The run that this request became when it was sent before; None when it is to be run.
    ///
    /// # Errors
    ///
    /// What became of that run, when there is nothing else to give; or that its key belongs to
    /// another request.
    pub(super) async fn sent_before(&self, request: &RunRequest) -> Result<Option<Run>, Refusal> {
        let Some(Sent { run, digest }) = self.find(request).await? else { return Ok(None) };
        if digest != request.mark.digest {
            return Err(Refusal::invalid(
                "Idempotency-Key",
                format!("this `Idempotency-Key` belongs to another request, which became `{run}`"),
            )
            .with_status(422)
            .with_code("idempotency_key_reused"));
        }
        if let Some(run) = self.live.attach(&run) {
            tracing::info!(run = run.id, "a request that was sent again waits for its run");
            return Ok(Some(run));
        }
        let summary = self.ledger.run(&run).await.map_err(|err| unreadable(&err))?;
        let Some(summary) = summary else { return Ok(None) };
        if summary.reason.is_some() && summary.error.is_none() {
            return self.stored(summary).await.map(Some);
        }
        let begun = self.ledger.calls_begun(&run).await.map_err(|err| unreadable(&err))?;
        if begun == 0 && summary.reason.is_some() {
            return Ok(None);
        }
        Err(became(&summary, begun))
    }

    async fn find(&self, request: &RunRequest) -> Result<Option<Sent>, Refusal> {
        let mark = &request.mark;
        match &mark.key {
            Some(key) => {
                let found = self.ledger.sent_with_key(&mark.caller, key).await;
                found.map_err(|err| unreadable(&err))
            }
            None if request.is_sent_again => self.sent_within(request, KNOWN).await,
            None => Ok(None),
        }
    }

    async fn sent_within(
        &self,
        request: &RunRequest,
        time: Duration,
    ) -> Result<Option<Sent>, Refusal> {
        let since = now_ms().saturating_sub(time.as_millis() as u64);
        let found = self.ledger.sent_alike(&request.mark.caller, &request.mark.digest, since).await;
        found.map_err(|err| unreadable(&err))
    }

    /// A request that does not say so may be sent again all the same: the same request, seconds after
    /// it failed with something done.
    async fn refuse_just_failed(&self, request: &RunRequest) -> Result<(), Refusal> {
        if request.mark.key.is_some() || request.is_sent_again {
            return Ok(());
        }
        let Some(Sent { run, .. }) = self.sent_within(request, KNOWN).await? else { return Ok(()) };
        let Some(summary) = self.ledger.run(&run).await.map_err(|err| unreadable(&err))? else {
            return Ok(());
        };
        let since = now_ms().saturating_sub(JUST_NOW.as_millis() as u64);
        // Who stopped a run may well want another: nobody sends again what they left themselves,
        // or they say so.
        let is_stopped = summary.reason == Some(Reason::Cancelled);
        let is_old = summary.ended_ms.is_none_or(|ended| ended < since);
        if summary.error.is_none() || is_stopped || is_old {
            return Ok(());
        }
        match self.ledger.calls_begun(&run).await.map_err(|err| unreadable(&err))? {
            0 => Ok(()),
            begun => Err(became(&summary, begun)),
        }
    }

    /// A run that gave its answer, once more.
    async fn stored(&self, summary: RunSummary) -> Result<Run, Refusal> {
        let notes = self.ledger.notes(&summary.id).await.map_err(|err| unreadable(&err))?;
        let finished = Finished {
            reason: summary.reason.unwrap_or(Reason::Internal),
            finish: summary.finish,
            answer: summary.answer,
            error: None,
            usage: summary.usage,
            turns: summary.turns,
            tool_calls: summary.tool_calls,
            notes,
        };
        Ok(Run {
            id: summary.id,
            session: summary.session,
            workspace: summary.workspace,
            model: summary.model,
            ended: watch::channel(Some(finished)).1,
            _interest: None,
        })
    }
}

/// What became of a run that has no answer to give.
fn became(summary: &RunSummary, begun: u64) -> Refusal {
    let RunSummary { id, reason, error, .. } = summary;
    let calls = if begun == 1 { "1 call".to_owned() } else { format!("{begun} calls") };
    let became = match (reason, error) {
        (Some(reason), Some(error)) => {
            format!("it ended as `{}` after {calls}: {error}", reason.as_str())
        }
        _ => "it is still being ended".to_owned(),
    };
    let message = format!(
        "this request was run before, as `{id}`, and is not run twice; {became}; to run it anew, \
         send it with an `Idempotency-Key` of its own"
    );
    Refusal::conflict("already_run", message)
}
