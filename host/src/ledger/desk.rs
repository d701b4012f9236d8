//! Where requests wait, and who writes them.
//!
//! There is one pen and no thread for it: whoever asks takes the pen if it lies there and writes for
//! everybody who has queued by then; who finds it taken is written for. A thread of its own would
//! have to be woken for each commit, and wake the asker in turn, which costs several times what the
//! commit does. What would hold up the asker's thread goes to the blocking pool: commits that wait
//! for the disk, and a file that somebody else has locked.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use super::LedgerError;
use super::schema::BUSY;
use super::writer::{Request, Work, Writer};
use crate::config::LedgerSync;

/// Requests in one commit. Whoever came first waits for the last one's rows, so not without end.
const MAX_GROUP: usize = 256;

/// Work that is written on the blocking pool: some milliseconds for the disk's cache alone.
const MUCH_BYTES: usize = 1 << 20;

/// The queue and the pen.
#[derive(Debug)]
pub(super) struct Desk {
    queue: Mutex<VecDeque<Request>>,
    /// None once the ledger is closed.
    pen: Mutex<Option<Writer>>,
    sync: LedgerSync,
}

impl Desk {
    pub(super) fn new(writer: Writer, sync: LedgerSync) -> Arc<Desk> {
        Arc::new(Desk { queue: Mutex::default(), pen: Mutex::new(Some(writer)), sync })
    }

    /// Returns once the work is committed. Dropping the future does not take back what was queued.
    pub(super) async fn request(self: &Arc<Desk>, work: Work) -> Result<u64, LedgerError> {
        let is_small = work.bytes() < MUCH_BYTES;
        let (reply, answer) = oneshot::channel();
        self.queue().push_back(Request { work, reply });
        let is_prompt = is_small && self.sync == LedgerSync::Normal;
        let is_seen_to = is_prompt && self.write(Duration::ZERO);
        if !is_seen_to {
            let desk = Arc::clone(self);
            // How it went is told in the answer.
            drop(spawn_blocking(move || desk.write(BUSY)));
        }
        answer.await.map_err(|_| LedgerError::Closed)?
    }

    /// Writes what is queued, unless somebody is at it already. False when the file is locked by
    /// somebody else and stays so for `patience`; then what was queued still is, in its order.
    fn write(&self, patience: Duration) -> bool {
        // Looked at again after the pen was laid down: whoever queued while it was held, and found
        // it taken, has nobody else to write for them.
        while !self.queue().is_empty() {
            let mut pen = match self.pen.try_lock() {
                Ok(pen) => pen,
                Err(TryLockError::WouldBlock) => return true,
                // Somebody panicked while writing: what the file holds is whole, what the writer
                // holds in memory may not be.
                Err(TryLockError::Poisoned(_)) => {
                    self.queue().clear();
                    return true;
                }
            };
            let Some(writer) = pen.as_mut() else {
                // Closed; their askers hear so when the requests are dropped.
                self.queue().clear();
                return true;
            };
            while let Some(group) = self.group() {
                if let Err(group) = writer.commit_all(group, patience) {
                    let mut queue = self.queue();
                    group.into_iter().rev().for_each(|request| queue.push_front(request));
                    return false;
                }
            }
        }
        true
    }

    /// The next ones to be committed together.
    fn group(&self) -> Option<Vec<Request>> {
        let mut queue = self.queue();
        let count = queue.len().min(MAX_GROUP);
        (count > 0).then(|| queue.drain(..count).collect())
    }

    /// Writes what is queued, moves the log into the file and lets go of it. Blocks while it does.
    pub(super) fn close(&self) {
        self.write(BUSY);
        let writer = self.pen.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            writer.finish();
        }
        self.queue().clear();
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Request>> {
        // A queue has no half state.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.close();
    }
}
