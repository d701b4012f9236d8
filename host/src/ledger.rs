//! The record: sessions, runs and every event of every run, in one SQLite file; beside it what each
//! session was shown and what its plugins keep, as of now.
//!
//! Append-only, one writer at a time, group commit. An append returns once its commit is done, and
//! never before; a run's state is what its events say and is stored nowhere else. Whatever a kill
//! cut off is closed as interrupted at the next opening. Knows no tool, no model and no HTTP.
//!
//! `rows` holds what is stored beside events, `schema` the tables, `desk` the queue, `writer` the pen,
//! `reader` the queries, `listing` those that look for several, `fold` what events add up to,
//! `recovery` what a dead process left, `follow` how far each live run is, `checkpoint` the log's way
//! into the file, `lock` the rule of one process at a time, `standing` a look from outside.

mod checkpoint;
mod desk;
mod error;
mod fold;
mod follow;
mod listing;
mod lock;
mod reader;
mod recovery;
mod rows;
mod schema;
mod standing;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::task::spawn_blocking;

pub use error::LedgerError;
pub use fold::RunSummary;
pub use follow::Progress;
pub use recovery::Interrupted;
pub use rows::{
    Beside, Content, FileState, Kept, KeptFile, Mark, Moment, Observation, Page, Sent, SessionRow,
};
pub use standing::{Standing, standing};

use crate::config::LedgerSync;
use crate::event::{Event, Recorded};
use checkpoint::Checkpointer;
use desk::Desk;
use follow::Followers;
use reader::Readers;
use writer::{Entry, Live, Work, Writer};

/// The open record. Cheap to clone. The file is let go of when any clone is closed, or with the
/// last one that is dropped.
#[derive(Clone, Debug)]
pub struct Ledger {
    desk: Arc<Desk>,
    readers: Arc<Readers>,
    followers: Arc<Followers>,
}

impl Ledger {
    /// Opens the ledger in the file `path`, creating it (mode 0600) in a directory that exists,
    /// and closes the runs that a dead process left open. Blocks while it does.
    ///
    /// # Errors
    /// [`LedgerError::InUse`] while another process has it open, [`LedgerError::Newer`] and
    /// [`LedgerError::Foreign`] for files this version must not touch, [`LedgerError::File`] and
    /// [`LedgerError::Storage`] for what the system and SQLite say.
    pub fn open(path: &Path, sync: LedgerSync) -> Result<(Ledger, Vec<Interrupted>), LedgerError> {
        let lock = lock::take(path)?;
        let mut connection = schema::open_writer(path, sync)?;
        let interrupted = recovery::close_open_runs(&mut connection, now_ms())?;
        let followers = Arc::<Followers>::default();
        let writer = Writer {
            connection,
            checkpointer: Checkpointer::start(path)?,
            followers: Arc::clone(&followers),
            live: Live::default(),
            lock,
        };
        let desk = Desk::new(writer, sync);
        let ledger = Ledger { desk, readers: Readers::new(path.to_owned()), followers };
        Ok((ledger, interrupted))
    }

    /// Stores a session.
    ///
    /// # Errors
    /// [`LedgerError::Duplicate`] when there is one of that id.
    pub async fn add_session(&self, session: SessionRow) -> Result<(), LedgerError> {
        self.desk.request(Work::Session(session)).await.map(|_| ())
    }

    /// Removes a session with what it was shown: from now on it is not found. What its runs did
    /// stays on record.
    ///
    /// # Errors
    /// [`LedgerError::UnknownSession`] when there never was one of that id.
    pub async fn remove_session(&self, session: &str) -> Result<(), LedgerError> {
        let work = Work::Removal { session: session.to_owned(), at_ms: now_ms() };
        self.desk.request(work).await.map(|_| ())
    }

    /// The session of that id, unless it was removed.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn session(&self, id: &str) -> Result<Option<SessionRow>, LedgerError> {
        let id = id.to_owned();
        self.readers.read(move |connection| reader::session(connection, &id)).await
    }

    /// The newest session of `caller` in the directory `workspace` that was not removed.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn session_in(
        &self,
        caller: &str,
        workspace: &str,
    ) -> Result<Option<SessionRow>, LedgerError> {
        let (caller, workspace) = (caller.to_owned(), workspace.to_owned());
        self.readers
            .read(move |connection| reader::session_in(connection, &caller, &workspace))
            .await
    }

    /// What a session was shown, as of the last commit.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn observations(&self, session: &str) -> Result<Vec<Observation>, LedgerError> {
        let session = session.to_owned();
        self.readers.read(move |connection| reader::observations(connection, &session)).await
    }

    /// What plugins keep for a session, as of the last commit.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn kept(&self, session: &str) -> Result<Vec<Kept>, LedgerError> {
        let session = session.to_owned();
        self.readers.read(move |connection| reader::kept(connection, &session)).await
    }

    /// Stores a value that a plugin keeps for a session, or that it no longer does.
    ///
    /// # Errors
    /// [`LedgerError::UnknownSession`]; [`LedgerError::Storage`] when it could not be stored.
    pub async fn keep(&self, session: &str, kept: Kept) -> Result<(), LedgerError> {
        self.desk.request(Work::Kept { session: session.to_owned(), kept }).await.map(drop)
    }

    /// Stores a run, what marks its request, and its first event in one commit, stamped with the
    /// time of the call.
    ///
    /// # Errors
    /// [`LedgerError::UnknownSession`], [`LedgerError::Duplicate`], [`LedgerError::OutOfOrder`]
    /// when `first` may not be first, and [`LedgerError::Storage`]. Then there is no such run.
    pub async fn start_run(
        &self,
        run: &str,
        session: &str,
        mark: Mark,
        first: Event,
    ) -> Result<Recorded, LedgerError> {
        let at_ms = now_ms();
        let entry = Entry::new(run, at_ms, first.clone())?;
        let (id, session) = (run.to_owned(), session.to_owned());
        let work = Work::Run { id, session, mark, first: Box::new(entry) };
        let seq = self.desk.request(work).await?;
        Ok(Recorded { run: run.to_owned(), seq, at_ms, event: first })
    }

    /// Stores `events`, each with its time in milliseconds since 1970, behind the run's others:
    /// all of them or none. Returns the seq of the last, and only after the commit. Dropping the
    /// future does not take back what was queued.
    ///
    /// # Errors
    /// [`LedgerError::RunEnded`], [`LedgerError::UnknownRun`], [`LedgerError::OutOfOrder`] when
    /// the state machine says no, [`LedgerError::Storage`] when the disk does.
    pub async fn append(&self, run: &str, events: Vec<(u64, Event)>) -> Result<u64, LedgerError> {
        self.append_with(run, events, Beside::default()).await
    }

    /// The same, with what else is stored in the same commit.
    ///
    /// # Errors
    /// As [`Ledger::append`].
    pub async fn append_with(
        &self,
        run: &str,
        events: Vec<(u64, Event)>,
        beside: Beside,
    ) -> Result<u64, LedgerError> {
        let entries = events
            .into_iter()
            .map(|(at_ms, event)| Entry::new(run, at_ms, event))
            .collect::<Result<Vec<Entry>, LedgerError>>()?;
        self.desk.request(Work::Events { run: run.to_owned(), entries, beside }).await
    }

    /// What a run comes to so far, folded from its events; None when it is not known.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] and [`LedgerError::Unreadable`].
    pub async fn run(&self, id: &str) -> Result<Option<RunSummary>, LedgerError> {
        let id = id.to_owned();
        self.readers.read(move |connection| reader::run(connection, &id)).await
    }

    /// At most `limit` events of `run` after `after_seq`, in order. None is an empty list, also
    /// for a run that is not known.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] and [`LedgerError::Unreadable`].
    pub async fn events(
        &self,
        run: &str,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let run = run.to_owned();
        self.readers
            .read(move |connection| reader::events(connection, &run, after_seq, limit))
            .await
    }

    /// How far a run has come, now and from now on. A follower reads events up to `seq`, stops if
    /// it ended there, and otherwise waits for a change; it never holds the run up. A run that is
    /// over, or not known (seq 0), gives a receiver that already says so and never changes. If
    /// the ledger closes first, the receiver's `changed` fails.
    pub fn watch(&self, run: &str) -> watch::Receiver<Progress> {
        if let Some(receiver) = self.followers.follow(run) {
            return receiver;
        }
        // A file that cannot be read tells the follower so at its next read.
        let progress = self.readers.read_here(|connection| reader::progress(connection, run));
        watch::channel(progress.unwrap_or(Progress { seq: 0, ended: true })).1
    }

    /// Waits until everything queued is stored, moves the log into the file and lets go of it.
    /// From then on an append says [`LedgerError::Closed`]. Closing twice is fine.
    pub async fn close(&self) {
        let desk = Arc::clone(&self.desk);
        // An error here means that the runtime is going down.
        let _ = spawn_blocking(move || desk.close()).await;
    }
}

/// The record for looking only: opens no lock, so it works beside the server that writes it.
#[derive(Clone, Debug)]
pub struct LedgerReader(Arc<Readers>);

impl LedgerReader {
    /// Opens the ledger in the file `path`, which must exist.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when there is none, or it cannot be read.
    pub fn open(path: &Path) -> Result<LedgerReader, LedgerError> {
        let readers = Readers::new(path.to_owned());
        readers.read_here(|_| Ok(()))?;
        Ok(LedgerReader(readers))
    }

    /// As [`Ledger::events`].
    ///
    /// # Errors
    /// [`LedgerError::Storage`] and [`LedgerError::Unreadable`].
    pub async fn events(
        &self,
        run: &str,
        after_seq: u64,
        limit: usize,
    ) -> Result<Vec<Recorded>, LedgerError> {
        let run = run.to_owned();
        self.0.read(move |connection| reader::events(connection, &run, after_seq, limit)).await
    }
}

/// The time that goes beside an event: milliseconds since 1970, UTC.
pub fn now_ms() -> u64 {
    // Before 1970 there was no ledger.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
