//! Queries that look for several rows, or for a row by what it is about.
//!
//! Lists come newest first: ids of sessions and runs begin with their time, so that "after this id"
//! is a comparison. Reads only.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::reader::{READING, RawEvent, SESSIONS, to_session};
use super::rows::{Content, KeptFile, Page, Sent, SessionRow};
use super::schema::integer;
use super::{Ledger, LedgerError, RunSummary, reader};
use crate::event::Event;

impl Ledger {
    /// A caller's sessions that were not removed.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn sessions(&self, caller: &str, page: Page) -> Result<Vec<SessionRow>, LedgerError> {
        let caller = caller.to_owned();
        self.readers.read(move |connection| sessions(connection, &caller, &page)).await
    }

    /// A caller's runs, those of removed sessions too; of one session when it is named.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] and [`LedgerError::Unreadable`].
    pub async fn runs(
        &self,
        caller: &str,
        session: Option<&str>,
        page: Page,
    ) -> Result<Vec<RunSummary>, LedgerError> {
        let (caller, session) = (caller.to_owned(), session.map(str::to_owned));
        self.readers
            .read(move |connection| {
                let ids = run_ids(connection, &caller, session.as_deref(), &page)?;
                let found = ids.iter().map(|id| reader::run(connection, id));
                found.filter_map(Result::transpose).collect()
            })
            .await
    }

    /// The newest run that a request of this caller with this `Idempotency-Key` became.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn sent_with_key(
        &self,
        caller: &str,
        key: &str,
    ) -> Result<Option<Sent>, LedgerError> {
        let (caller, key) = (caller.to_owned(), key.to_owned());
        let query = "SELECT run, digest FROM requests WHERE caller = ?1 AND key = ?2 \
                     ORDER BY run DESC LIMIT 1";
        self.readers.read(move |connection| sent(connection, query, params![caller, key])).await
    }

    /// The newest run since `since_ms` that a request of this caller with this digest became.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn sent_alike(
        &self,
        caller: &str,
        digest: &str,
        since_ms: u64,
    ) -> Result<Option<Sent>, LedgerError> {
        let (caller, digest) = (caller.to_owned(), digest.to_owned());
        let query = "SELECT run, digest FROM requests JOIN runs ON runs.id = run \
                     WHERE caller = ?1 AND digest = ?2 AND created_ms >= ?3 \
                     ORDER BY run DESC LIMIT 1";
        self.readers
            .read(move |connection| {
                sent(connection, query, params![caller, digest, integer(since_ms)])
            })
            .await
    }

    /// How many calls of a run were begun.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn calls_begun(&self, run: &str) -> Result<u64, LedgerError> {
        let run = run.to_owned();
        self.readers
            .read(move |connection| {
                connection
                    .prepare_cached(
                        "SELECT count(*) FROM events WHERE run = ?1 AND kind = 'call-started'",
                    )
                    .and_then(|mut statement| {
                        statement.query_row([run], |row| reader::unsigned(row, 0))
                    })
                    .map_err(LedgerError::storage(READING))
            })
            .await
    }

    /// What was downgraded or ignored in a run.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] and [`LedgerError::Unreadable`].
    pub async fn notes(&self, run: &str) -> Result<Vec<String>, LedgerError> {
        let run = run.to_owned();
        self.readers.read(move |connection| notes(connection, &run)).await
    }

    /// The files that a run changed, by path.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn files(&self, run: &str) -> Result<Vec<KeptFile>, LedgerError> {
        let run = run.to_owned();
        self.readers.read(move |connection| files(connection, &run)).await
    }

    /// Sessions in directories that the server made, not removed, in which no run began since
    /// `before_ms`; at most the one of that id, when one is named.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn unused_since(
        &self,
        before_ms: u64,
        id: Option<&str>,
    ) -> Result<Vec<SessionRow>, LedgerError> {
        let id = id.map(str::to_owned);
        self.readers.read(move |connection| unused_since(connection, before_ms, id)).await
    }

    /// Whether there ever was a session of that id, and if so, whether it is still there.
    ///
    /// # Errors
    /// [`LedgerError::Storage`] when the file cannot be read.
    pub async fn is_session(&self, id: &str) -> Result<Option<bool>, LedgerError> {
        let id = id.to_owned();
        self.readers
            .read(move |connection| {
                connection
                    .prepare_cached(
                        "SELECT NOT EXISTS (SELECT 1 FROM removals WHERE session = id) \
                         FROM sessions WHERE id = ?1",
                    )
                    .and_then(|mut statement| {
                        statement.query_row([id], |row| row.get(0)).optional()
                    })
                    .map_err(LedgerError::storage(READING))
            })
            .await
    }
}

fn sessions(
    connection: &Connection,
    caller: &str,
    page: &Page,
) -> Result<Vec<SessionRow>, LedgerError> {
    connection
        .prepare_cached(&format!(
            "{SESSIONS} AND caller = ?1 AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3"
        ))
        .and_then(|mut statement| {
            statement
                .query_map(params![caller, page.after, integer(page.limit as u64)], to_session)?
                .collect()
        })
        .map_err(LedgerError::storage(READING))
}

fn run_ids(
    connection: &Connection,
    caller: &str,
    session: Option<&str>,
    page: &Page,
) -> Result<Vec<String>, LedgerError> {
    connection
        .prepare_cached(
            "SELECT runs.id FROM runs JOIN sessions ON sessions.id = session \
             WHERE caller = ?1 AND (?2 IS NULL OR session = ?2) AND (?3 IS NULL OR runs.id < ?3) \
             ORDER BY runs.id DESC LIMIT ?4",
        )
        .and_then(|mut statement| {
            let limit = integer(page.limit as u64);
            statement
                .query_map(params![caller, session, page.after, limit], |row| row.get(0))?
                .collect()
        })
        .map_err(LedgerError::storage(READING))
}

fn sent(
    connection: &Connection,
    query: &str,
    params: impl rusqlite::Params,
) -> Result<Option<Sent>, LedgerError> {
    connection
        .prepare_cached(query)
        .and_then(|mut statement| {
            let sent = |row: &Row<'_>| Ok(Sent { run: row.get(0)?, digest: row.get(1)? });
            statement.query_row(params, sent).optional()
        })
        .map_err(LedgerError::storage(READING))
}

fn notes(connection: &Connection, run: &str) -> Result<Vec<String>, LedgerError> {
    let rows = connection
        .prepare_cached(
            "SELECT seq, at_ms, body FROM events WHERE run = ?1 AND kind = 'note' ORDER BY seq",
        )
        .and_then(|mut statement| {
            statement.query_map([run], RawEvent::from_row)?.collect::<rusqlite::Result<Vec<_>>>()
        })
        .map_err(LedgerError::storage(READING))?;
    let mut notes = Vec::new();
    for row in rows {
        if let Event::Note { text } = row.event(run)? {
            notes.push(text);
        }
    }
    Ok(notes)
}

fn files(connection: &Connection, run: &str) -> Result<Vec<KeptFile>, LedgerError> {
    connection
        .prepare_cached(
            "SELECT b.path, b.size, b.bytes, a.path IS NOT NULL, a.size, a.bytes FROM files b \
             LEFT JOIN files a ON a.run = b.run AND a.path = b.path AND a.moment = 'after' \
             WHERE b.run = ?1 AND b.moment = 'before' ORDER BY b.path",
        )
        .and_then(|mut statement| {
            let file = |row: &Row<'_>| {
                Ok(KeptFile {
                    path: row.get(0)?,
                    before: content(row, 1)?,
                    after: row.get::<_, bool>(3)?.then(|| content(row, 4)).transpose()?,
                })
            };
            statement.query_map([run], file)?.collect()
        })
        .map_err(LedgerError::storage(READING))
}

/// From the columns size and bytes.
fn content(row: &Row<'_>, column: usize) -> rusqlite::Result<Content> {
    let size: Option<i64> = row.get(column)?;
    let bytes: Option<Vec<u8>> = row.get(column + 1)?;
    Ok(match (size, bytes) {
        (_, Some(bytes)) => Content::Bytes(bytes),
        (Some(size), None) => {
            Content::NotKept { size_bytes: u64::try_from(size).unwrap_or_default() }
        }
        (None, None) => Content::Absent,
    })
}

fn unused_since(
    connection: &Connection,
    before_ms: u64,
    id: Option<String>,
) -> Result<Vec<SessionRow>, LedgerError> {
    connection
        .prepare_cached(&format!(
            "{SESSIONS} AND fresh AND created_ms < ?1 AND (?2 IS NULL OR id = ?2) AND NOT EXISTS \
             (SELECT 1 FROM runs WHERE session = sessions.id AND created_ms >= ?1)"
        ))
        .and_then(|mut statement| {
            statement.query_map(params![integer(before_ms), id], to_session)?.collect()
        })
        .map_err(LedgerError::storage(READING))
}
