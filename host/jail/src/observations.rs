//! What the model was shown: of which file, in which version, which lines.
//!
//! One record per session, keyed by the path of the file itself beneath the root, so that a link
//! and its target share it. It never looks at the disk; whether an observation still holds is
//! decided where a change is made.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lines::LineSet;

/// The observations of one session. Shared freely between threads.
#[derive(Debug, Default)]
pub struct Observations {
    files: Mutex<HashMap<String, Observed>>,
}

/// What was shown of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) version: String,
    pub(crate) lines: LineSet,
    /// The part of the conversation that showed it is gone.
    pub(crate) is_forgotten: bool,
}

impl Observations {
    /// Nothing was shown yet.
    pub fn new() -> Observations {
        Observations::default()
    }

    /// Marks every observation as forgotten: the model no longer sees what showed the files, so
    /// they have to be read again before they are changed.
    pub fn forget_all(&self) {
        for observed in self.files().values_mut() {
            observed.is_forgotten = true;
        }
    }

    pub(crate) fn shown(&self, real: &str, version: &str, first_line: u64, last_line: u64) {
        let mut files = self.files();
        let observed = files.entry(real.to_owned()).or_insert_with(|| Observed::new(version));
        if observed.version != version || observed.is_forgotten {
            *observed = Observed::new(version);
        }
        observed.lines.add(first_line, last_line);
    }

    pub(crate) fn of(&self, real: &str) -> Option<Observed> {
        self.files().get(real).cloned()
    }

    /// Our own write made this version, of which the model knows these lines.
    pub(crate) fn written(&self, real: &str, version: &str, lines: LineSet) {
        let observed = Observed { version: version.to_owned(), lines, is_forgotten: false };
        self.files().insert(real.to_owned(), observed);
    }

    pub(crate) fn moved(&self, old_real: &str, new_real: &str) {
        let mut files = self.files();
        let below = format!("{old_real}/");
        let moved: Vec<String> = files
            .keys()
            .filter(|real| *real == old_real || real.starts_with(&below))
            .cloned()
            .collect();
        for real in moved {
            if let Some(observed) = files.remove(&real) {
                files.insert(format!("{new_real}{}", &real[old_real.len()..]), observed);
            }
        }
    }

    pub(crate) fn removed(&self, real: &str) {
        self.files().remove(real);
    }

    /// A panic elsewhere cannot leave the map half changed, so a poisoned lock is taken as it is.
    fn files(&self) -> MutexGuard<'_, HashMap<String, Observed>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observed {
    fn new(version: &str) -> Observed {
        Observed { version: version.to_owned(), lines: LineSet::default(), is_forgotten: false }
    }
}
