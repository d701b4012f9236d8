//! Moves the write-ahead log into the file, off the writer's thread.
//!
//! Woken by the writer once enough was written, and never in a commit's way. Under a load that
//! never pauses the log would still grow for ever, because SQLite starts it over only when all of
//! it was copied; then the writer copies the last few pages itself, between two commits.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;

use super::{LedgerError, schema};

/// Pages of log after which the checkpointer is woken: 4 MiB, SQLite's own default.
const WAKE_PAGES: u64 = 1_000;

/// Pages of log from which the writer lends a hand: 32 MiB.
const LARGE_PAGES: i64 = 8_192;

/// The writer's end: counts what was written and wakes the thread.
#[derive(Debug)]
pub(super) struct Checkpointer {
    pages: u64,
    /// The log's size when the thread had last copied it.
    log_pages: Arc<AtomicI64>,
    wake: SyncSender<()>,
    thread: JoinHandle<()>,
}

impl Checkpointer {
    /// Starts the thread with a connection of its own.
    pub(super) fn start(path: &Path) -> Result<Checkpointer, LedgerError> {
        let connection =
            schema::open_checkpointer(path).map_err(LedgerError::storage("open its file"))?;
        let log_pages = Arc::new(AtomicI64::new(0));
        let (wake, woken) = sync_channel(1);
        let told = Arc::clone(&log_pages);
        let thread = thread::Builder::new()
            .name("ledger-checkpoint".to_owned())
            .spawn(move || work(&connection, &woken, &told))
            .map_err(|source| LedgerError::File { path: path.to_owned(), source })?;
        Ok(Checkpointer { pages: 0, log_pages, wake, thread })
    }

    /// Counts one commit of about so many pages. `writer` is the connection that made it.
    pub(super) fn committed(&mut self, pages: u64, writer: &Connection) {
        self.pages += pages;
        if self.pages >= WAKE_PAGES {
            self.pages = 0;
            // Full means that it is awake already.
            let _ = self.wake.try_send(());
        }
        if self.log_pages.load(Ordering::Relaxed) >= LARGE_PAGES {
            self.log_pages.store(0, Ordering::Relaxed);
            // Only what was written since the thread copied: its next round says if it helped.
            report(checkpoint(writer, "PASSIVE").map(|_| ()));
        }
    }

    /// Lets the thread finish what it is doing, and waits for it.
    pub(super) fn stop(self) {
        drop(self.wake);
        // It has nothing to say; a panic there cost a checkpoint and no data.
        let _ = self.thread.join();
    }
}

fn work(connection: &Connection, woken: &Receiver<()>, log_pages: &AtomicI64) {
    while woken.recv().is_ok() {
        let copied = checkpoint(connection, "PASSIVE");
        report(copied.map(|pages| log_pages.store(pages, Ordering::Relaxed)));
    }
}

/// Runs one checkpoint and tells how many pages the log had.
pub(super) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| row.get(1))
}

fn report(outcome: rusqlite::Result<()>) {
    // Not fatal: the log only grows, and the next one tries again.
    if let Err(err) = outcome {
        tracing::warn!("ledger could not be checkpointed: {err}");
    }
}
