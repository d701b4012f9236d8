//! The pen: one transaction after the other.
//!
//! It commits a group of requests as one transaction; only then does anybody hear of it. It gives
//! out the seqs, and it alone knows which runs are live. It reads nothing, and no reader and no
//! checkpoint stands in its way. Who holds it, and when, is the desk's to say.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior, ffi, params};
use tokio::sync::oneshot;

use super::LedgerError;
use super::checkpoint::{self, Checkpointer};
use super::follow::{Followers, Progress};
use super::lock::Lock;
use super::rows::{Beside, Content, FileState, Kept, Mark, Observation, SessionRow};
use super::schema::integer;
use crate::event::{Event, State};

const PAGE_BYTES: u64 = 4_096;

/// One thing to store.
#[derive(Debug)]
pub(super) enum Work {
    /// A session's row.
    Session(SessionRow),
    /// A session is removed.
    Removal { session: String, at_ms: u64 },
    /// A value that a plugin keeps for a session, or no longer.
    Kept { session: String, kept: Kept },
    /// A run's row, what marks its request, and its first event.
    Run { id: String, session: String, mark: Mark, first: Box<Entry> },
    /// More events of a run, and what goes with them.
    Events { run: String, entries: Vec<Entry>, beside: Beside },
}

impl Work {
    /// About how much it writes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Work::Session(_) | Work::Removal { .. } => 0,
            Work::Kept { kept, .. } => kept.value.as_ref().map_or(0, |(_, bytes)| bytes.len()),
            Work::Run { first, .. } => first.body.len(),
            Work::Events { entries, beside, .. } => {
                entries.iter().map(|entry| entry.body.len()).sum::<usize>() + beside.bytes()
            }
        }
    }
}

/// One event, already encoded: its sender does that, before anybody holds the pen for it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at_ms: u64,
    pub(super) event: Event,
    pub(super) body: String,
}

impl Entry {
    /// Encodes `event`.
    pub(super) fn new(run: &str, at_ms: u64, event: Event) -> Result<Entry, LedgerError> {
        let body = serde_json::to_string(&event)
            .map_err(|source| LedgerError::Unwritable { run: run.to_owned(), source })?;
        Ok(Entry { at_ms, event, body })
    }
}

/// Work, and who waits for it. The answer is the run's last seq; 0 for work without one.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) work: Work,
    pub(super) reply: oneshot::Sender<Result<u64, LedgerError>>,
}

/// Where a live run's record ends.
#[derive(Clone, Copy, Debug)]
struct Tail {
    seq: u64,
    state: State,
}

/// What it takes to write. The lock is the last field, so that it is let go of last.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) connection: Connection,
    pub(super) checkpointer: Checkpointer,
    pub(super) followers: Arc<Followers>,
    pub(super) live: Live,
    pub(super) lock: Lock,
}

/// The live runs. Starts empty: opening closed whatever an earlier process left.
#[derive(Debug, Default)]
pub(super) struct Live(HashMap<String, Tail>);

impl Writer {
    /// Moves the log into the file and lets go of it.
    pub(super) fn finish(self) {
        let Writer { connection, checkpointer, lock, followers, .. } = self;
        followers.close();
        checkpointer.stop();
        // Failure costs the next start a few milliseconds of reading the log.
        let _ = checkpoint::checkpoint(&connection, "TRUNCATE");
        drop(connection);
        drop(lock);
    }

    /// Commits a group and answers each of it.
    ///
    /// # Errors
    /// The group itself, not stored, while somebody else has locked the file and there is no
    /// `patience` to wait for them. With patience, that is told to the askers like every failure.
    pub(super) fn commit_all(
        &mut self,
        group: Vec<Request>,
        patience: Duration,
    ) -> Result<(), Vec<Request>> {
        let is_alone = group.len() == 1;
        let committed = self
            .connection
            .busy_timeout(patience)
            .and_then(|()| self.commit(group.iter().map(|request| &request.work)));
        match committed {
            Ok(answers) => {
                for (request, answer) in group.into_iter().zip(answers) {
                    // Nobody waits when the caller was cancelled; it is stored all the same.
                    let _ = request.reply.send(answer);
                }
            }
            Err(source)
                if patience.is_zero()
                    && source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
            {
                return Err(group);
            }
            Err(source) if is_alone => {
                if let Some(request) = group.into_iter().next() {
                    let _ = request.reply.send(Err(LedgerError::storage("store")(source)));
                }
            }
            // Nothing of the group was stored. One by one, so that each fails for itself alone.
            Err(_) => {
                let mut left = group.into_iter();
                while let Some(request) = left.next() {
                    if let Err(mut unwritten) = self.commit_all(vec![request], patience) {
                        unwritten.extend(left);
                        return Err(unwritten);
                    }
                }
            }
        }
        Ok(())
    }

    /// One transaction. An error means that nothing of it is stored; a refusal (the inner error)
    /// concerns one request and leaves the others alone.
    fn commit<'a>(
        &mut self,
        group: impl Iterator<Item = &'a Work>,
    ) -> rusqlite::Result<Vec<Result<u64, LedgerError>>> {
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut batch =
            Batch { connection: &transaction, live: &self.live, changed: HashMap::new(), pages: 0 };
        let mut answers = Vec::new();
        for work in group {
            answers.push(batch.apply(work)?);
        }
        let Batch { changed, pages, .. } = batch;
        transaction.commit()?;

        self.checkpointer.committed(pages, &self.connection);
        for (run, tail) in changed {
            let ended = tail.state.is_final();
            self.followers.advance(&run, Progress { seq: tail.seq, ended });
            if ended {
                self.live.0.remove(&run);
            } else {
                self.live.0.insert(run, tail);
            }
        }
        Ok(answers)
    }
}

/// One transaction in the making: what the live runs become if it commits.
struct Batch<'a> {
    connection: &'a Connection,
    live: &'a Live,
    changed: HashMap<String, Tail>,
    /// About how much was written: a leaf for each row, and what does not fit into one.
    pages: u64,
}

impl Batch<'_> {
    fn apply(&mut self, work: &Work) -> rusqlite::Result<Result<u64, LedgerError>> {
        match work {
            Work::Session(row) => self.add_session(row),
            Work::Removal { session, at_ms } => self.remove_session(session, *at_ms),
            Work::Kept { session, kept } => self.keep(session, kept),
            Work::Run { id, session, mark, first } => self.start_run(id, session, mark, first),
            Work::Events { run, entries, beside } => match self.append(run, entries)? {
                Ok(seq) => {
                    self.keep_files(run, &beside.files)?;
                    self.keep_observations(run, &beside.observations)?;
                    Ok(Ok(seq))
                }
                refused => Ok(refused),
            },
        }
    }

    fn add_session(&mut self, row: &SessionRow) -> rusqlite::Result<Result<u64, LedgerError>> {
        let inserted = self
            .connection
            .prepare_cached(
                "INSERT INTO sessions (id, caller, workspace, fresh, created_ms) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?
            .execute(params![
                row.id,
                row.caller,
                row.workspace,
                row.fresh,
                integer(row.created_ms)
            ]);
        Ok(match refused(inserted)? {
            None => Ok(0),
            Some(_) => Err(LedgerError::Duplicate { id: row.id.clone() }),
        })
    }

    fn remove_session(
        &mut self,
        session: &str,
        at_ms: u64,
    ) -> rusqlite::Result<Result<u64, LedgerError>> {
        for table in ["observations", "kept"] {
            self.connection
                .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
                .execute([session])?;
        }
        let inserted = self
            .connection
            .prepare_cached("INSERT INTO removals (session, at_ms) VALUES (?1, ?2)")?
            .execute(params![session, integer(at_ms)]);
        Ok(match refused(inserted)? {
            Some(ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
                Err(LedgerError::UnknownSession { session: session.to_owned() })
            }
            // Removed already is what was asked for.
            None | Some(_) => Ok(0),
        })
    }

    fn keep(&mut self, session: &str, kept: &Kept) -> rusqlite::Result<Result<u64, LedgerError>> {
        let Kept { plugin, key, value } = kept;
        let stored = match value {
            Some((revision, bytes)) => {
                self.pages += 1 + bytes.len() as u64 / PAGE_BYTES;
                self.connection
                    .prepare_cached(
                        "INSERT OR REPLACE INTO kept (session, plugin, key, revision, bytes) \
                         VALUES (?1, ?2, ?3, ?4, ?5)",
                    )?
                    .execute(params![session, plugin, key, integer(*revision), bytes])
            }
            None => self
                .connection
                .prepare_cached("DELETE FROM kept WHERE session = ?1 AND plugin = ?2 AND key = ?3")?
                .execute([session, plugin, key]),
        };
        Ok(match refused(stored)? {
            None => Ok(0),
            Some(_) => Err(LedgerError::UnknownSession { session: session.to_owned() }),
        })
    }

    /// The first content of a moment stands; a later one of the same is passed over.
    fn keep_files(&mut self, run: &str, files: &[FileState]) -> rusqlite::Result<()> {
        for FileState { path, moment, content } in files {
            let (size, bytes) = match content {
                Content::Absent => (None, None),
                Content::Bytes(bytes) => (Some(bytes.len() as u64), Some(bytes)),
                Content::NotKept { size_bytes } => (Some(*size_bytes), None),
            };
            self.connection
                .prepare_cached(
                    "INSERT OR IGNORE INTO files (run, path, moment, size, bytes) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![run, path, moment.as_str(), size.map(integer), bytes])?;
            self.pages += 1 + bytes.map_or(0, Vec::len) as u64 / PAGE_BYTES;
        }
        Ok(())
    }

    /// What the run's session was shown, as it is now.
    fn keep_observations(
        &mut self,
        run: &str,
        observations: &[Observation],
    ) -> rusqlite::Result<()> {
        const SESSION: &str = "(SELECT session FROM runs WHERE id = ?1)";
        for observation in observations {
            let Observation { path, seen } = observation;
            match seen {
                Some(seen) => self
                    .connection
                    .prepare_cached(&format!(
                        "INSERT OR REPLACE INTO observations (session, path, seen) \
                         VALUES ({SESSION}, ?2, ?3)"
                    ))?
                    .execute([run, path, seen])?,
                None => self
                    .connection
                    .prepare_cached(&format!(
                        "DELETE FROM observations WHERE session = {SESSION} AND path = ?2"
                    ))?
                    .execute([run, path])?,
            };
            self.pages += 1 + observation.bytes() as u64 / PAGE_BYTES;
        }
        Ok(())
    }

    fn start_run(
        &mut self,
        id: &str,
        session: &str,
        mark: &Mark,
        first: &Entry,
    ) -> rusqlite::Result<Result<u64, LedgerError>> {
        // Judged before anything is written: a refusal leaves no row behind.
        if let Err(source) = State::Created.after(&first.event) {
            return Ok(Err(LedgerError::OutOfOrder { run: id.to_owned(), source }));
        }
        let inserted = self
            .connection
            .prepare_cached("INSERT INTO runs (id, session, created_ms) VALUES (?1, ?2, ?3)")?
            .execute(params![id, session, integer(first.at_ms)]);
        match refused(inserted)? {
            None => {}
            Some(ffi::SQLITE_CONSTRAINT_FOREIGNKEY) => {
                return Ok(Err(LedgerError::UnknownSession { session: session.to_owned() }));
            }
            Some(_) => return Ok(Err(LedgerError::Duplicate { id: id.to_owned() })),
        }
        self.connection
            .prepare_cached(
                "INSERT INTO requests (run, caller, key, digest) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![id, mark.caller, mark.key, mark.digest])?;
        self.extend(id, Tail { seq: 0, state: State::Created }, std::slice::from_ref(first))
    }

    fn append(
        &mut self,
        run: &str,
        entries: &[Entry],
    ) -> rusqlite::Result<Result<u64, LedgerError>> {
        match self.changed.get(run).or_else(|| self.live.0.get(run)).copied() {
            Some(tail) if tail.state.is_final() => {
                Ok(Err(LedgerError::RunEnded { run: run.to_owned() }))
            }
            Some(tail) => self.extend(run, tail, entries),
            // Not live: it is over, or it never was.
            None => {
                let exists = self
                    .connection
                    .prepare_cached("SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?1)")?
                    .query_row([run], |row| row.get::<_, bool>(0))?;
                let run = run.to_owned();
                Ok(Err(if exists {
                    LedgerError::RunEnded { run }
                } else {
                    LedgerError::UnknownRun { run }
                }))
            }
        }
    }

    /// Writes `entries` behind `tail`: all of them, or none if one may not follow.
    fn extend(
        &mut self,
        run: &str,
        mut tail: Tail,
        entries: &[Entry],
    ) -> rusqlite::Result<Result<u64, LedgerError>> {
        let mut state = tail.state;
        for entry in entries {
            state = match state.after(&entry.event) {
                Ok(next) => next,
                Err(_) if state.is_final() => {
                    return Ok(Err(LedgerError::RunEnded { run: run.to_owned() }));
                }
                Err(source) => {
                    return Ok(Err(LedgerError::OutOfOrder { run: run.to_owned(), source }));
                }
            };
        }
        tail.state = state;
        for entry in entries {
            tail.seq += 1;
            insert_event(self.connection, run, tail.seq, entry)?;
            self.pages += 1 + entry.body.len() as u64 / PAGE_BYTES;
        }
        self.changed.insert(run.to_owned(), tail);
        Ok(Ok(tail.seq))
    }
}

/// Writes one event's row.
pub(super) fn insert_event(
    connection: &Connection,
    run: &str,
    seq: u64,
    entry: &Entry,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO events (run, seq, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![
            run,
            integer(seq),
            integer(entry.at_ms),
            entry.event.name(),
            entry.body
        ])?;
    Ok(())
}

/// The constraint that said no, if one did. A statement that breaks one is undone by SQLite and
/// leaves its transaction alive; every other error is passed on.
fn refused(outcome: rusqlite::Result<usize>) -> rusqlite::Result<Option<i32>> {
    match outcome {
        Ok(_) => Ok(None),
        Err(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == ErrorCode::ConstraintViolation =>
        {
            Ok(Some(failure.extended_code))
        }
        Err(err) => Err(err),
    }
}
