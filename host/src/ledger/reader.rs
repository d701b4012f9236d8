//! Everything that reads: a few read-only connections, lent to the blocking pool.
//!
//! WAL gives each statement the file as it was at one commit, so a reader sees whole commits and
//! never waits for the writer, nor the writer for it. Nothing here can change the file.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::Semaphore;

use super::fold::{Fold, RunSummary};
use super::rows::{Kept, Observation, SessionRow};
use super::schema::{self, integer};
use super::{LedgerError, Progress};
use crate::event::{Event, Recorded};

/// Reads at one time. More would only take the processors from the runs.
const MAX_READS: usize = 4;

/// Lends connections.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    /// Opens nothing yet.
    pub(super) fn new(path: PathBuf) -> Arc<Readers> {
        Arc::new(Readers {
            path,
            idle: Mutex::default(),
            turns: Arc::new(Semaphore::new(MAX_READS)),
        })
    }

    /// Runs `query` on the blocking pool.
    pub(super) async fn read<T: Send + 'static>(
        self: &Arc<Readers>,
        query: impl FnOnce(&Connection) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        // The semaphore is never closed.
        let turn = self.turns.clone().acquire_owned().await.map_err(|_| LedgerError::Closed)?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            // Here, not in the future: who asked may leave while the query goes on.
            let _turn = turn;
            readers.read_here(query)
        });
        // An error here means that the runtime is going down.
        reading.await.map_err(|_| LedgerError::Closed)?
    }

    /// Runs `query` on this thread; for look-ups of some microseconds.
    pub(super) fn read_here<T>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::open_reader(&self.path)
                .map_err(LedgerError::storage("open its file for reading"))?,
        };
        let outcome = query(&connection);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection that failed is not worth keeping.
        if outcome.is_ok() && idle.len() < MAX_READS {
            idle.push(connection);
        }
        outcome
    }
}

pub(super) const READING: &str = "read from its file";

/// Every session that was not removed.
pub(super) const SESSIONS: &str = "SELECT id, caller, workspace, fresh, created_ms FROM sessions \
     WHERE NOT EXISTS (SELECT 1 FROM removals WHERE session = sessions.id)";

/// The session of that id.
pub(super) fn session(
    connection: &Connection,
    id: &str,
) -> Result<Option<SessionRow>, LedgerError> {
    connection
        .prepare_cached(&format!("{SESSIONS} AND id = ?1"))
        .and_then(|mut statement| statement.query_row([id], to_session).optional())
        .map_err(LedgerError::storage(READING))
}

/// The newest session of that caller in that directory.
pub(super) fn session_in(
    connection: &Connection,
    caller: &str,
    workspace: &str,
) -> Result<Option<SessionRow>, LedgerError> {
    connection
        .prepare_cached(&format!(
            "{SESSIONS} AND caller = ?1 AND workspace = ?2 \
             ORDER BY created_ms DESC, id DESC LIMIT 1"
        ))
        .and_then(|mut statement| statement.query_row([caller, workspace], to_session).optional())
        .map_err(LedgerError::storage(READING))
}

/// What a session was shown.
pub(super) fn observations(
    connection: &Connection,
    session: &str,
) -> Result<Vec<Observation>, LedgerError> {
    connection
        .prepare_cached("SELECT path, seen FROM observations WHERE session = ?1")
        .and_then(|mut statement| {
            let columns =
                |row: &Row<'_>| Ok(Observation { path: row.get(0)?, seen: Some(row.get(1)?) });
            statement.query_map([session], columns)?.collect()
        })
        .map_err(LedgerError::storage(READING))
}

/// What plugins keep for a session.
pub(super) fn kept(connection: &Connection, session: &str) -> Result<Vec<Kept>, LedgerError> {
    connection
        .prepare_cached("SELECT plugin, key, revision, bytes FROM kept WHERE session = ?1")
        .and_then(|mut statement| {
            let columns = |row: &Row<'_>| {
                let revision: i64 = row.get(2)?;
                let value = Some((revision.unsigned_abs(), row.get(3)?));
                Ok(Kept { plugin: row.get(0)?, key: row.get(1)?, value })
            };
            statement.query_map([session], columns)?.collect()
        })
        .map_err(LedgerError::storage(READING))
}

/// At most `limit` events of `run` after `after_seq`, in order.
pub(super) fn events(
    connection: &Connection,
    run: &str,
    after_seq: u64,
    limit: usize,
) -> Result<Vec<Recorded>, LedgerError> {
    let limit = integer(u64::try_from(limit).unwrap_or(u64::MAX));
    let rows = connection
        .prepare_cached(
            "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND seq > ?2 \
             ORDER BY seq LIMIT ?3",
        )
        .and_then(|mut statement| {
            statement
                .query_map(params![run, integer(after_seq), limit], RawEvent::from_row)?
                .collect::<rusqlite::Result<Vec<RawEvent>>>()
        })
        .map_err(LedgerError::storage(READING))?;
    rows.into_iter()
        .map(|row| {
            Ok(Recorded {
                run: run.to_owned(),
                seq: row.seq,
                at_ms: row.at_ms,
                event: row.event(run)?,
            })
        })
        .collect()
}

/// How far a run that is not live has come. One that is not known counts as ended at 0.
pub(super) fn progress(connection: &Connection, run: &str) -> Result<Progress, LedgerError> {
    connection
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE run = ?1")
        .and_then(|mut statement| statement.query_row([run], |row| unsigned(row, 0)))
        .map(|seq| Progress { seq, ended: true })
        .map_err(LedgerError::storage(READING))
}

/// What a run comes to; None when it is not known.
pub(super) fn run(connection: &Connection, id: &str) -> Result<Option<RunSummary>, LedgerError> {
    let found = connection
        .prepare_cached(
            "SELECT session, caller, runs.created_ms FROM runs \
             JOIN sessions ON sessions.id = session WHERE runs.id = ?1",
        )
        .and_then(|mut statement| {
            let columns = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, unsigned(row, 2)?));
            statement.query_row([id], columns).optional()
        })
        .map_err(LedgerError::storage(READING))?;
    let Some((session, caller, created_ms)) = found else { return Ok(None) };

    // An ended run's last event sums it up: two rows instead of thousands. Of the first one the
    // conversation is left out, which may be megabytes.
    let rows = connection
        .prepare_cached(
            "SELECT seq, at_ms, CASE WHEN seq = 1 AND json_valid(body) \
             THEN json_set(body, '$.conversation', json('[]')) ELSE body END \
             FROM events WHERE run = ?1 AND (seq = 1 OR kind = 'ended' OR NOT EXISTS (SELECT 1 FROM events WHERE run = ?1 AND kind = 'ended')) ORDER BY seq",
        )
        .and_then(|mut statement| {
            statement
                .query_map([id], RawEvent::from_row)?
                .collect::<rusqlite::Result<Vec<RawEvent>>>()
        })
        .map_err(LedgerError::storage(READING))?;
    let mut fold = Fold::new(id, session, created_ms);
    fold.set_caller(caller);
    for row in rows {
        fold.push(row.at_ms, row.event(id)?);
    }
    Ok(Some(fold.into_summary()))
}

/// An event's row, its body not yet parsed.
pub(super) struct RawEvent {
    pub(super) seq: u64,
    pub(super) at_ms: u64,
    body: String,
}

impl RawEvent {
    /// From the columns seq, at_ms and body.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<RawEvent> {
        Ok(RawEvent { seq: unsigned(row, 0)?, at_ms: unsigned(row, 1)?, body: row.get(2)? })
    }

    /// The event in it.
    pub(super) fn event(&self, run: &str) -> Result<Event, LedgerError> {
        serde_json::from_str(&self.body).map_err(|source| LedgerError::Unreadable {
            run: run.to_owned(),
            seq: self.seq,
            source,
        })
    }
}

pub(super) fn to_session(row: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: row.get(0)?,
        caller: row.get(1)?,
        workspace: row.get(2)?,
        fresh: row.get(3)?,
        created_ms: unsigned(row, 4)?,
    })
}

/// Everything we store is at least 0.
pub(super) fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|value| u64::try_from(value).unwrap_or(0))
}
