//! The ledger's tables, and how a connection to them is opened.
//!
//! Append-only is a property of the file: triggers abort every update and every delete, whoever
//! tries; what a session was shown and what its plugins keep is no record of what happened, and is kept as it
//! is now.
//! `user_version` is the format; a newer one is refused, an older one is brought up to this
//! one here, by adding what it lacks. A run has no state column: its state is what its events say.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::LedgerError;
use crate::config::LedgerSync;

/// The format this version writes, and the newest it reads.
pub(super) const FORMAT: i64 = 4;

/// How long a connection waits for another one's lock. Nothing of ours ever takes one for long;
/// this is for a person with a SQLite client.
pub(super) const BUSY: Duration = Duration::from_secs(10);

/// A format's step from the one before: what makes its tables, and those that only grow.
struct Step {
    append_only: &'static [&'static str],
    sql: &'static str,
}

/// In order; the first makes format 1. `events_ended` finds the runs that never ended without
/// reading their events, and makes a second end impossible.
const STEPS: [Step; FORMAT as usize] = [
    Step { append_only: &["sessions", "runs", "events"], sql: FIRST },
    Step { append_only: &["removals", "requests", "files"], sql: SECOND },
    Step { append_only: &[], sql: THIRD },
    Step { append_only: &[], sql: FOURTH },
];

const FIRST: &str = "
CREATE TABLE sessions (
    id TEXT PRIMARY KEY NOT NULL,
    caller TEXT NOT NULL,
    workspace TEXT NOT NULL,
    fresh INTEGER NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX sessions_workspace ON sessions (caller, workspace, created_ms);
CREATE TABLE runs (
    id TEXT PRIMARY KEY NOT NULL,
    session TEXT NOT NULL REFERENCES sessions (id),
    created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE events (
    run TEXT NOT NULL REFERENCES runs (id),
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX events_ended ON events (run) WHERE kind = 'ended';
";

/// A removed session keeps its row: its runs are on record.
const SECOND: &str = "
CREATE TABLE removals (
    session TEXT PRIMARY KEY NOT NULL REFERENCES sessions (id),
    at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE requests (
    run TEXT PRIMARY KEY NOT NULL REFERENCES runs (id),
    caller TEXT NOT NULL,
    key TEXT,
    digest TEXT NOT NULL
) STRICT;
CREATE INDEX requests_key ON requests (caller, key) WHERE key IS NOT NULL;
CREATE INDEX requests_digest ON requests (caller, digest);
CREATE TABLE files (
    run TEXT NOT NULL REFERENCES runs (id),
    path TEXT NOT NULL,
    moment TEXT NOT NULL,
    size INTEGER,
    bytes BLOB,
    PRIMARY KEY (run, path, moment)
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_session ON runs (session, created_ms);
CREATE INDEX sessions_caller ON sessions (caller, id);
";

/// Goes with its session.
const THIRD: &str = "
CREATE TABLE observations (
    session TEXT NOT NULL REFERENCES sessions (id),
    path TEXT NOT NULL,
    seen TEXT NOT NULL,
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;
";

/// Goes with its session, like what it was shown.
const FOURTH: &str = "
CREATE TABLE kept (
    session TEXT NOT NULL REFERENCES sessions (id),
    plugin TEXT NOT NULL,
    key TEXT NOT NULL,
    revision INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (session, plugin, key)
) STRICT, WITHOUT ROWID;
";

/// Opens the one connection that writes, creating the tables in an empty file.
///
/// # Errors
/// [`LedgerError::Newer`] and [`LedgerError::Foreign`] for files that are not for us,
/// [`LedgerError::Storage`] for everything SQLite says.
pub(super) fn open_writer(path: &Path, sync: LedgerSync) -> Result<Connection, LedgerError> {
    let opening = || LedgerError::storage("open its file");
    let mut connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(opening())?;
    // Looked at before anything is changed: a file that is not ours stays as it is.
    let found = version(&connection).map_err(opening())?;
    if found > FORMAT {
        return Err(LedgerError::Newer { path: path.to_owned(), found, known: FORMAT });
    }
    if found == 0 && has_tables(&connection).map_err(opening())? {
        return Err(LedgerError::Foreign { path: path.to_owned() });
    }
    prepare(&connection, sync).map_err(opening())?;
    if found < FORMAT {
        migrate(&mut connection, found).map_err(LedgerError::storage("create its tables"))?;
    }
    Ok(connection)
}

/// Opens a connection that can only read.
pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Opens the connection that moves the log into the file, and does nothing else.
pub(super) fn open_checkpointer(path: &Path) -> rusqlite::Result<Connection> {
    open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)
}

fn open(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    // Each connection is used by one thread at a time, so SQLite's own mutexes are not needed.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY)?;
    Ok(connection)
}

fn prepare(connection: &Connection, sync: LedgerSync) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(
        None,
        "synchronous",
        match sync {
            LedgerSync::Normal => "normal",
            LedgerSync::Full => "full",
        },
    )?;
    // The checkpointer does it, so that no commit ever waits for one.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "foreign_keys", true)
}

pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(super) fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))
}

/// From the format `found`, 0 in an empty file, to this one, in one commit.
fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let steps = usize::try_from(found).unwrap_or_default();
    for Step { append_only, sql } in STEPS.iter().skip(steps) {
        transaction.execute_batch(sql)?;
        for table in *append_only {
            for change in ["UPDATE", "DELETE"] {
                transaction.execute_batch(&format!(
                    "CREATE TRIGGER {table}_no_{change} BEFORE {change} ON {table} \
                     BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;"
                ))?;
            }
        }
    }
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// A count or a time as SQLite's integer. What does not fit (2^63 ms) never comes up.
pub(super) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
