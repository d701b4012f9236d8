//! One run, from its first turn to its end on record.
//!
//! Runs in a task of its own, whatever becomes of the connection that asked for it. It lets go of
//! the directory last.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::holds::{Hold, Queued};
use super::refusal::{cancelled, refusal, workspace_gone, workspace_stayed_busy};
use super::{Finished, Harness, RunRequest, ToolUse};
use crate::agent::{self, Ending, Limits, Stop, Task};
use crate::error::Refusal;
use crate::event::Reason;
use crate::message::Finish;
use crate::plugin::Plugins;
use crate::record::Record;
use crate::session::Session;
use crate::upstream::{Conversation, Offers, ToolChoice};

/// For tools to let go of the workspace after the end of their run.
const LETTING_GO: Duration = Duration::from_secs(5);

/// What is asked of the model, and how.
pub(super) struct Prepared {
    pub(super) profile: String,
    pub(super) conversation: Conversation,
    pub(super) offers: Offers,
    pub(super) model: String,
}

/// Everything a run's task owns.
pub(super) struct Started {
    pub(super) harness: Arc<Harness>,
    pub(super) plugins: Arc<Plugins>,
    pub(super) session: Arc<Session>,
    pub(super) prepared: Prepared,
    pub(super) request: RunRequest,
    pub(super) limits: Limits,
    pub(super) record: Record,
    /// The directory, or this run's place in the queue for it.
    pub(super) hold: Result<Hold, Queued>,
    pub(super) id: String,
}

/// What came of the loop.
enum Came {
    /// It ended by itself.
    Ended(Result<Ending, Stop>),
    /// It panicked.
    Panicked,
    /// Somebody stopped it.
    Cancelled,
    /// The directory was not free in time.
    Waited,
    /// The directory was gone by the time it was free.
    Gone,
}

/// Runs a task to its end, whatever that is, and puts it on record.
pub(super) async fn drive(started: Started, cancel: CancellationToken) -> Finished {
    let Started {
        harness,
        plugins,
        session,
        prepared: Prepared { conversation, offers, model, .. },
        request,
        limits,
        mut record,
        hold,
        id,
    } = started;
    let was_queued = hold.is_err();
    let (mut hold, queued) = match hold {
        Ok(hold) => (Some(hold), None),
        Err(queued) => (None, Some(queued)),
    };
    let mut task = Task {
        upstream: &harness.upstream,
        plugins: &plugins,
        session: &session,
        conversation,
        offers: &offers,
        model: &model,
        extra: &request.extra,
        answer_limit: request.answer.max_tokens,
        answer_extra: request.answer.formatted.as_ref(),
        first_choice: match request.tools {
            ToolUse::Required => ToolChoice::Required,
            ToolUse::Auto | ToolUse::Off => ToolChoice::Auto,
        },
        limits,
        parallel_reads: harness.config.parallel_reads,
        running: TaskTracker::new(),
    };
    let came = {
        let work = async {
            if let Some(queued) = queued {
                hold = tokio::time::timeout(limits.work.left(), queued.wait()).await.ok();
            }
            match &hold {
                None => Came::Waited,
                // While it waited, anybody may have moved it away.
                Some(_) if was_queued && !session.workspace.jail.is_current() => Came::Gone,
                Some(_) => {
                    // What is left of an earlier run's changes is not this one's.
                    drop(session.workspace.take_changed());
                    Came::Ended(agent::run(&mut task, &mut record).await)
                }
            }
        };
        // The state behind the unwind is the record and the conversation: the record is closed
        // below from what it has counted, the conversation is dropped.
        let work = AssertUnwindSafe(work).catch_unwind();
        tokio::select! {
            biased;
            () = cancel.cancelled() => Came::Cancelled,
            came = work => came.unwrap_or(Came::Panicked),
        }
    };
    // A tool that was dropped in the middle of a write finishes it before the directory is free.
    task.running.close();
    let still_running = tokio::time::timeout(LETTING_GO, task.running.wait()).await.is_err();
    if still_running {
        tracing::error!(run = id, "a tool still runs after the end of its run");
    }
    let running = task.running.clone();
    let (ending, error) = match came {
        Came::Ended(Ok(ending)) => (ending, None),
        Came::Ended(Err(stop)) => (without_answer(stop.reason()), Some(refusal(&stop))),
        Came::Panicked => {
            let refusal = Refusal::internal("the run met a fault of the server and was ended");
            (without_answer(Reason::Internal), Some(refusal))
        }
        Came::Waited => {
            let other = harness.holds.holder(&session.directory).unwrap_or_default();
            (
                without_answer(Reason::MaxSeconds),
                Some(workspace_stayed_busy(limits.seconds, &other)),
            )
        }
        Came::Gone => {
            let refusal = workspace_gone(&session.id, "it was removed or moved meanwhile");
            (without_answer(Reason::Internal), Some(refusal))
        }
        Came::Cancelled => {
            // What a cancelled run's commands left behind has nobody to come back to it. One that
            // only waited has none: what runs in the session is another's.
            if hold.is_some() {
                let session = session.clone();
                let ending = tokio::task::spawn_blocking(move || session.workspace.shell.end());
                if let Err(err) = ending.await {
                    tracing::error!(
                        run = id,
                        "what its commands left running was not ended: {err}"
                    );
                }
            }
            (without_answer(Reason::Cancelled), Some(cancelled()))
        }
    };
    if hold.is_some() {
        keep_files(&session, &mut record).await;
    }
    let answer = cut_at_stop(ending.answer, &request.answer.stop);
    let error = error.map(|error| Refusal {
        message: record.redact(&error.message),
        may_retry: error.may_retry && record.tally().calls_begun == 0,
        ..error
    });
    let told = error.as_ref().map(|error| error.message.clone());
    record.end(ending.reason, ending.finish, &answer, told).await;
    let tally = record.tally();
    tracing::info!(
        run = id,
        session = session.id,
        reason = ending.reason.as_str(),
        turns = tally.turns,
        calls = tally.tool_calls,
        "run ended"
    );
    if still_running {
        // The directory is not free before it is let go of, however long that takes.
        tokio::spawn(async move {
            running.wait().await;
            drop(hold);
        });
    } else {
        drop(hold);
    }
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

/// What the run changed, as it is now, for its diff; and what its last calls showed.
async fn keep_files(session: &Arc<Session>, record: &mut Record) {
    record.keep_before(session.workspace.take_changed());
    record.keep_observations(session.workspace.take_seen());
    let paths: Vec<String> = record.changed().collect();
    if paths.is_empty() {
        return;
    }
    let session = session.clone();
    let looking =
        tokio::task::spawn_blocking(move || session.workspace.look_after(paths.into_iter()));
    match looking.await {
        Ok(files) => record.keep_after(files),
        Err(err) => tracing::error!("what the run changed could not be looked at: {err}"),
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
