//! Moves the write-ahead log into the file, off the writer's thread.
//!
//! Woken by the writer once enough was written; never makes a commit wait while the log is of
//! ordinary size. Under a load that never pauses SQLite cannot start the log over by itself, so a
//! very large one is cut, for which the writer waits some milliseconds.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::{LedgerError, schema};

/// Pages of log after which the checkpointer is woken: 4 MiB, SQLite's own default.
const WAKE_PAGES: u64 = 1_000;

/// Pages of log from which it is cut rather than only copied: 64 MiB.
const CUT_PAGES: i64 = 16_384;

/// How long a cut waits for readers before it gives up until the next time; the writer waits too.
const CUT_WAIT: Duration = Duration::from_millis(50);

const PAGE_BYTES: u64 = 4_096;

/// The writer's end: counts what was written and wakes the thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    pages: u64,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    /// Starts the thread with a connection of its own.
    pub(super) fn start(path: &Path) -> Result<Checkpointer, LedgerError> {
        let connection = schema::open_checkpointer(path)
            .and_then(|connection| connection.busy_timeout(CUT_WAIT).map(|()| connection))
            .map_err(LedgerError::storage("open its file"))?;
        let (wake, woken) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("ledger-checkpoint".to_owned())
            .spawn(move || work(&connection, &woken))
            .map_err(|source| LedgerError::File { path: path.to_owned(), source })?;
        Ok(Checkpointer { pages: 0, wake, thread })
    }

    /// Counts one commit of about `bytes` of content.
    pub(super) fn committed(&mut self, bytes: u64) {
        // A commit rewrites at least a leaf of each tree it touches.
        self.pages += 2 + bytes / PAGE_BYTES;
        if self.pages >= WAKE_PAGES {
            self.pages = 0;
            // Full means that it is awake already.
            let _ = self.wake.try_send(());
        }
    }

    /// Lets the thread finish what it is doing, and waits for it.
    pub(super) fn stop(self) {
        drop(self.wake);
        // It has nothing to say; a panic there cost a checkpoint and no data.
        let _ = self.thread.join();
    }
}

fn work(connection: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        match checkpoint(connection, "PASSIVE") {
            Ok(pages) if pages >= CUT_PAGES => report(checkpoint(connection, "TRUNCATE")),
            outcome => report(outcome),
        }
    }
}

/// Runs one checkpoint and tells how many pages the log had.
pub(super) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(1))
}

fn report(outcome: rusqlite::Result<i64>) {
    // Not fatal: the log only grows, and the next one tries again.
    if let Err(err) = outcome {
        tracing::warn!("ledger could not be checkpointed: {err}");
    }
}
