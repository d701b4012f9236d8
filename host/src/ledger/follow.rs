//! How far each live run has come, for those who follow it.
//!
//! A follower reads events from the file at its own pace and sleeps here in between; the writer
//! only ever sets a value, so that nobody who is slow can hold a run up. An entry lives from a
//! run's first event to its last: who still holds a receiver then keeps the final value.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Progress {
    /// The seq of the last event that is stored; 0 when there is none.
    pub seq: u64,
    /// True once that event is the run's end.
    pub ended: bool,
}

/// One entry for each live run.
#[derive(Debug, Default)]
pub(super) struct Followers {
    runs: Mutex<HashMap<String, watch::Sender<Progress>>>,
}

impl Followers {
    /// Tells whoever follows `run` how far it is now.
    pub(super) fn advance(&self, run: &str, progress: Progress) {
        let mut runs = self.lock();
        if progress.ended {
            if let Some(sender) = runs.remove(run) {
                sender.send_replace(progress);
            }
        } else if let Some(sender) = runs.get(run) {
            sender.send_replace(progress);
        } else {
            runs.insert(run.to_owned(), watch::Sender::new(progress));
        }
    }

    /// Lets go of every follower: nobody will tell them anything any more.
    pub(super) fn close(&self) {
        self.lock().clear();
    }

    /// A receiver for a live run; None when it is not live.
    pub(super) fn follow(&self, run: &str) -> Option<watch::Receiver<Progress>> {
        self.lock().get(run).map(watch::Sender::subscribe)
    }

    /// Live runs.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<Progress>>> {
        // No code that can panic runs under the lock, and a map of values has no half state.
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
