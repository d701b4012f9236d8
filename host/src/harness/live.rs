//! The runs that are under way, and the handles of those who wait for them.
//!
//! Several clients may wait for one run: a request that was sent again finds the run of the first.
//! A run is cancelled when the last of them is gone, unless it was asked to go on alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::Finished;
use crate::error::Refusal;
use crate::event::Reason;

/// A run, for somebody who waits for it. When the last handle is dropped the run is cancelled.
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
    pub(super) ended: watch::Receiver<Option<Finished>>,
    /// None when the run goes on without anybody.
    pub(super) _interest: Option<Arc<DropGuard>>,
}

impl Run {
    /// Waits for the end. Dropping the future lets go of the run.
    pub async fn finished(mut self) -> Finished {
        match self.ended.wait_for(Option::is_some).await {
            Ok(finished) => finished.clone().unwrap_or_else(lost),
            // Only a panic while the end was written down loses the sender.
            Err(_) => lost(),
        }
    }
}

fn lost() -> Finished {
    let refusal = Refusal::internal("the run ended without a word; this is our fault");
    Finished::without_answer(Reason::Internal, refusal)
}

/// A run under way.
pub(super) struct Live {
    pub(super) session: String,
    pub(super) workspace: String,
    pub(super) model: String,
    pub(super) caller: String,
    pub(super) cancel: CancellationToken,
    pub(super) ended: watch::Receiver<Option<Finished>>,
    /// Held by everyone who waits; and by the run itself when it goes on alone.
    pub(super) interest: Weak<DropGuard>,
}

/// Every run under way, by id.
#[derive(Default)]
pub(super) struct LiveRuns(Mutex<HashMap<String, Live>>);

impl LiveRuns {
    pub(super) fn add(&self, id: &str, live: Live) {
        self.lock().insert(id.to_owned(), live);
    }

    pub(super) fn remove(&self, id: &str) {
        self.lock().remove(id);
    }

    /// One more handle of a run; None when it is over, or everyone has left it already.
    pub(super) fn attach(&self, id: &str) -> Option<Run> {
        let lives = self.lock();
        let live = lives.get(id)?;
        let interest = live.interest.upgrade()?;
        Some(Run {
            id: id.to_owned(),
            session: live.session.clone(),
            workspace: live.workspace.clone(),
            model: live.model.clone(),
            ended: live.ended.clone(),
            _interest: Some(interest),
        })
    }

    /// Where a run tells its end that everyone has left, so that it is being cancelled; None when
    /// somebody waits for it, and when it is over.
    pub(super) fn left_by_all(&self, id: &str) -> Option<watch::Receiver<Option<Finished>>> {
        let lives = self.lock();
        let live = lives.get(id).filter(|live| live.interest.strong_count() == 0)?;
        Some(live.ended.clone())
    }

    /// Cancels a run of that caller, and gives where it tells its end.
    pub(super) fn cancel(
        &self,
        caller: &str,
        id: &str,
    ) -> Option<watch::Receiver<Option<Finished>>> {
        let lives = self.lock();
        let live = lives.get(id).filter(|live| live.caller == caller)?;
        live.cancel.cancel();
        Some(live.ended.clone())
    }

    /// The run that is in a session.
    pub(super) fn in_session(&self, session: &str) -> Option<String> {
        let lives = self.lock();
        let found = lives.iter().find(|(_, live)| live.session == session);
        found.map(|(id, _)| id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Live>> {
        // No code that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
