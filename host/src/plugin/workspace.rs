//! What the tools of one session may reach: its workspace, and what the model was shown of it.
//!
//! Held by the session, lent to each call. Opening one is the session's business, using it the
//! imports'; nothing else touches the jail.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use harness_jail::{Jail, Observations, Shell};

use crate::redact::Redactor;

/// One session's reach.
pub struct Workspace {
    /// The directory.
    pub jail: Jail,
    /// What the model was shown.
    pub seen: Observations,
    /// Runs commands, and knows what they left running.
    pub shell: Shell,
    /// Applied to everything a tool says.
    pub redactor: Arc<Redactor>,
    kept: Mutex<HashMap<(String, String), Kept>>,
}

/// A small value that a plugin keeps between calls.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) revision: u64,
}

impl Workspace {
    /// A reach over an open jail.
    pub fn new(jail: Jail, shell: Shell, redactor: Arc<Redactor>) -> Workspace {
        Workspace {
            jail,
            seen: Observations::new(),
            shell,
            redactor,
            kept: Mutex::new(HashMap::new()),
        }
    }

    /// What plugins keep for this session, by plugin and key.
    pub(super) fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<(String, String), Kept>> {
        // A poisoned map is still whole: every change to it is one insert or one remove.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
