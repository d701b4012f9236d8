//! Closes what a dead process left open.
//!
//! Runs once, while the ledger is opened and nobody else can write: every run without an `ended`
//! event gets one, with reason `interrupted` and the calls that were running. Nothing is run
//! again and nothing is guessed: what those calls did is for the client to find out.

use rusqlite::{Connection, TransactionBehavior};

use super::LedgerError;
use super::fold::Fold;
use super::reader::{RawEvent, unsigned};
use super::writer::{Entry, insert_event};
use crate::event::Event;

/// A run that was closed because its process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interrupted {
    /// The run.
    pub run: String,
    /// The session it belongs to.
    pub session: String,
    /// Calls that had started and not ended: what they did is not known.
    pub in_flight: Vec<String>,
}

/// Closes every open run, in one commit, and reports them, oldest first.
pub(super) fn close_open_runs(
    connection: &mut Connection,
    now_ms: u64,
) -> Result<Vec<Interrupted>, LedgerError> {
    let closing = || LedgerError::storage("close interrupted runs");
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(closing())?;
    let mut interrupted = Vec::new();
    for (run, session, created_ms) in open_runs(&transaction).map_err(closing())? {
        let mut fold = Fold::new(&run, session.clone(), created_ms);
        let (mut last_seq, mut unread) = (0, 0);
        for row in rows(&transaction, &run).map_err(closing())? {
            last_seq = row.seq;
            // One bad event must not keep the server from starting for ever.
            match row.event(&run) {
                Ok(event) => fold.push(row.at_ms, event),
                Err(_) => unread += 1,
            }
        }
        // The clock may have been set back since.
        let at_ms = now_ms.max(fold.last_ms());
        let event = fold.into_interruption(unread);
        let entry = Entry::new(&run, at_ms, event)?;
        insert_event(&transaction, &run, last_seq + 1, &entry).map_err(closing())?;
        if let Event::Ended { in_flight, .. } = entry.event {
            interrupted.push(Interrupted { run, session, in_flight });
        }
    }
    transaction.commit().map_err(closing())?;
    Ok(interrupted)
}

fn open_runs(connection: &Connection) -> rusqlite::Result<Vec<(String, String, u64)>> {
    connection
        .prepare(
            "SELECT id, session, created_ms FROM runs WHERE NOT EXISTS \
             (SELECT 1 FROM events WHERE run = runs.id AND kind = 'ended') \
             ORDER BY created_ms, id",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, unsigned(row, 2)?)))?
        .collect()
}

fn rows(connection: &Connection, run: &str) -> rusqlite::Result<Vec<RawEvent>> {
    connection
        .prepare_cached("SELECT seq, at_ms, body FROM events WHERE run = ?1 ORDER BY seq")?
        .query_map([run], RawEvent::from_row)?
        .collect()
}
