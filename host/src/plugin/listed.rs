//! One plugin as a person is shown it: in the log, by `harness plugin list` and by `doctor`.
//!
//! Data and its words; what is in force is not decided by what stands here.

use super::load::Role;
use super::source::Source;
use super::used::Used;

/// One plugin, in force or not.
#[derive(Clone, Debug)]
pub struct Listed {
    /// In the configuration.
    pub name: String,
    /// `built in`, or the path.
    pub source: String,
    /// None when it could not be told.
    pub role: Option<Role>,
    /// `blake3:` and the digest of its file; None when it could not be read.
    pub digest: Option<String>,
    /// The powers it imports and was granted.
    pub powers: Vec<&'static str>,
    /// It imports WASI, as languages with a runtime do, and got one that reaches nothing.
    pub brings_runtime: bool,
    /// What it offers, or why it does not load.
    pub offers: Result<Vec<String>, String>,
    /// Why the file as it is now is not in force, where an earlier version of it still is.
    pub outdated: Option<String>,
    /// Size of the file, in bytes.
    pub bytes: usize,
    /// What the first question to it used: what it offers, or what it wants to see. None when it
    /// does not load.
    pub used: Option<Used>,
}

impl Listed {
    /// What is known before it is loaded.
    pub(super) fn of(source: &Source) -> Listed {
        Listed {
            name: source.name.clone(),
            source: source.origin.clone(),
            role: source.role,
            digest: source.digest.clone(),
            powers: Vec::new(),
            brings_runtime: false,
            offers: Ok(Vec::new()),
            outdated: None,
            bytes: 0,
            used: None,
        }
    }

    /// What is wrong with it, if anything is.
    pub fn problem(&self) -> Option<String> {
        match (&self.offers, &self.outdated) {
            (Err(cause), _) => Some(format!("does not load: {cause}")),
            (Ok(_), Some(cause)) => Some(format!(
                "has changed and does not load, the version before stays in force: {cause}"
            )),
            (Ok(_), None) => None,
        }
    }
}
