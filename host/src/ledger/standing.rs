//! A look at a ledger from outside: whether there is one, and whether a server has it.
//!
//! Changes nothing and closes no run. What it says may be over at once; whoever opens the ledger
//! is told anew.

use std::path::Path;

use super::{LedgerError, lock, schema};

/// How a ledger stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// There is none; opening makes one.
    Absent,
    /// It can be opened.
    Free,
    /// A process has it open, this one where it said so.
    InUse(Option<u32>),
}

/// How the ledger in the file `path` stands.
///
/// # Errors
/// As [`Ledger::open`](super::Ledger::open), but for [`LedgerError::InUse`].
pub fn standing(path: &Path) -> Result<Standing, LedgerError> {
    if let Some(process) = lock::holder_of(path)? {
        return Ok(Standing::InUse(process));
    }
    if !path.exists() {
        return Ok(Standing::Absent);
    }
    let reading = || LedgerError::storage("open its file for reading");
    let connection = schema::open_reader(path).map_err(reading())?;
    match schema::version(&connection).map_err(reading())? {
        found if found > schema::FORMAT => {
            Err(LedgerError::Newer { path: path.to_owned(), found, known: schema::FORMAT })
        }
        0 if schema::has_tables(&connection).map_err(reading())? => {
            Err(LedgerError::Foreign { path: path.to_owned() })
        }
        _ => Ok(Standing::Free),
    }
}
