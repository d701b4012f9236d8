//! What can go wrong with the ledger, in one list.
//!
//! Opening errors are the operator's and end the start-up. Errors of an append end the run they
//! belong to: what could not be stored is never claimed. Nothing here is shown to a model.

use std::io;
use std::path::PathBuf;

use crate::event::IllegalTransition;

/// Why the ledger did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// Another process, or another [`Ledger`](super::Ledger) of this one, holds the file.
    #[error("ledger `{}` is in use by {}", path.display(), holder(*process))]
    InUse {
        /// The ledger's file.
        path: PathBuf,
        /// The process that holds it, where it said so.
        process: Option<u32>,
    },
    /// The file was written by a version of the harness that this one does not know.
    #[error("ledger `{}` has format {found}, this version reads up to {known}", path.display())]
    Newer {
        /// The ledger's file.
        path: PathBuf,
        /// The format it has.
        found: i64,
        /// The newest format this version knows.
        known: i64,
    },
    /// A SQLite file with tables that are not ours.
    #[error("file `{}` is a database, but not a ledger", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file or its lock could not be opened or created.
    #[error("ledger `{}` could not be opened", path.display())]
    File {
        /// The file that was asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// SQLite failed: the disk is full, broken, or the file is damaged. Nothing was stored.
    #[error("ledger could not {doing}")]
    Storage {
        /// What was to be done.
        doing: &'static str,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// An event was stored that cannot be read.
    #[error("event {seq} of run `{run}` cannot be read")]
    Unreadable {
        /// The run.
        run: String,
        /// The event's place in it.
        seq: u64,
        /// What is wrong with its JSON.
        source: serde_json::Error,
    },
    /// An event cannot be written as JSON; a fault of the harness.
    #[error("event of run `{run}` cannot be written as JSON")]
    Unwritable {
        /// The run.
        run: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// An append to a run that was never started.
    #[error("run `{run}` is not in the ledger")]
    UnknownRun {
        /// The run.
        run: String,
    },
    /// A run was to be started in a session that is not there.
    #[error("session `{session}` is not in the ledger")]
    UnknownSession {
        /// The session.
        session: String,
    },
    /// A session or run of that id is there already.
    #[error("id `{id}` is already in the ledger")]
    Duplicate {
        /// The session's or run's id.
        id: String,
    },
    /// An append after the run's `ended` event.
    #[error("run `{run}` has ended, nothing may follow")]
    RunEnded {
        /// The run.
        run: String,
    },
    /// An event that may not follow; a fault of the harness. None of the append was stored.
    #[error("run `{run}` was given an event out of order")]
    OutOfOrder {
        /// The run.
        run: String,
        /// Which event, in which state.
        source: IllegalTransition,
    },
    /// The ledger was closed, or its writer is gone.
    #[error("ledger is closed")]
    Closed,
}

impl LedgerError {
    /// Turns SQLite's error into ours, saying what was to be done.
    pub(super) fn storage(doing: &'static str) -> impl FnOnce(rusqlite::Error) -> LedgerError {
        move |source| LedgerError::Storage { doing, source }
    }
}

fn holder(process: Option<u32>) -> String {
    match process {
        Some(id) => format!("process {id}"),
        None => "another process".to_owned(),
    }
}
