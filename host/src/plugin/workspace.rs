//! What the tools of one session may reach: its workspace, and what the model was shown of it.
//!
//! Held by the session, lent to each call. Opening one is the session's business, using it the
//! imports'; nothing else touches the jail.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use harness_jail::{Jail, Observations, Shell};

use super::commands::{Commands, Scripted};
use crate::ledger::{Content, FileState, Kept, Ledger, Moment, Observation};
use crate::redact::Redactor;
use crate::wit::NamedPath;

/// The largest content of a file that is kept for the diff of a run.
const KEPT_BYTES: usize = 1 << 20;

/// One session's reach.
pub struct Workspace {
    /// The directory.
    pub jail: Jail,
    /// What the model was shown.
    pub seen: Observations,
    /// Runs commands, and knows what they left running.
    pub shell: Commands,
    /// Applied to everything a tool says.
    pub redactor: Arc<Redactor>,
    kept: tokio::sync::Mutex<Keep>,
    changed: Mutex<Vec<FileState>>,
    /// The place that one call at a time has for certain, whatever other sessions do.
    pub(super) first_call: Arc<tokio::sync::Semaphore>,
}

/// What plugins keep between calls, by plugin and key: a revision, and bytes.
#[derive(Default)]
pub(super) struct Keep {
    pub(super) values: HashMap<(String, String), (u64, Vec<u8>)>,
    /// Where it outlives the process, and for which session; None where there is none.
    pub(super) ledger: Option<(Ledger, String)>,
}

impl Workspace {
    /// A reach over an open jail, by a model that was shown nothing yet.
    pub fn new(jail: Jail, shell: Shell, redactor: Arc<Redactor>) -> Workspace {
        Workspace {
            jail,
            seen: Observations::new(),
            shell: Commands::Shell(Box::new(shell)),
            redactor,
            kept: tokio::sync::Mutex::default(),
            changed: Mutex::default(),
            first_call: Arc::new(tokio::sync::Semaphore::new(1)),
        }
    }

    /// The same, with results of commands that are there already; no process is started.
    #[must_use]
    pub fn with_script(self, script: Scripted) -> Workspace {
        Workspace { shell: Commands::Scripted(script), ..self }
    }

    /// The same, by a model that was shown these.
    #[must_use]
    pub fn with_seen(self, seen: Vec<Observation>) -> Workspace {
        let seen = seen.into_iter().filter_map(|kept| Some((kept.path, kept.seen?)));
        Workspace { seen: Observations::restored(seen), ..self }
    }

    /// The same, whose plugins keep values for `session` in `ledger`, and kept these.
    #[must_use]
    pub fn keeping(self, ledger: Ledger, session: &str, kept: Vec<Kept>) -> Workspace {
        let values =
            kept.into_iter().filter_map(|kept| Some(((kept.plugin, kept.key), kept.value?)));
        let keep = Keep { values: values.collect(), ledger: Some((ledger, session.to_owned())) };
        Workspace { kept: tokio::sync::Mutex::new(keep), ..self }
    }

    /// What was in the files that tools changed since the last time this was asked, before each
    /// change.
    pub fn take_changed(&self) -> Vec<FileState> {
        std::mem::take(&mut self.changed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What the model was shown since the last time this was asked, and what it no longer knows.
    pub fn take_seen(&self) -> Vec<Observation> {
        let changed = self.seen.take_changed().into_iter();
        changed.map(|(path, seen)| Observation { path, seen }).collect()
    }

    /// Where the paths that a call names lead, as guards are told.
    pub fn destinations(&self, named: &[(String, String)]) -> Vec<NamedPath> {
        let find = |(argument, path): &(String, String)| {
            let path = self.jail.parse(path).and_then(|path| self.jail.destination(&path));
            NamedPath { argument: argument.clone(), path: path.ok() }
        };
        named.iter().map(find).collect()
    }

    /// What is in the files of these paths now. Blocks.
    pub fn look_after(&self, paths: impl Iterator<Item = String>) -> Vec<FileState> {
        let look = |path: String| {
            let content = content_of(&self.jail, &path);
            FileState { path, moment: Moment::After, content }
        };
        paths.map(look).collect()
    }

    /// Keeps what was in a file before it was changed; None where there was no file.
    pub(super) fn changed(&self, path: String, before: Option<Vec<u8>>) {
        let content = match before {
            None => Content::Absent,
            Some(bytes) if bytes.len() > KEPT_BYTES => {
                Content::NotKept { size_bytes: bytes.len() as u64 }
            }
            Some(bytes) => Content::Bytes(bytes),
        };
        let state = FileState { path, moment: Moment::Before, content };
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).push(state);
    }

    /// What plugins keep for this session. One at a time: a value is compared, stored and set.
    pub(super) async fn kept(&self) -> tokio::sync::MutexGuard<'_, Keep> {
        self.kept.lock().await
    }
}

/// What is in a file of a workspace, as far as it is kept for diffs. Blocks.
pub fn content_of(jail: &Jail, path: &str) -> Content {
    let read = jail.parse(path).and_then(|path| {
        let size_bytes = jail.stat(&path)?.size_bytes;
        if size_bytes > KEPT_BYTES as u64 {
            return Ok(Content::NotKept { size_bytes });
        }
        Ok(Content::Bytes(jail.read(&path, 0, KEPT_BYTES as u64)?.bytes))
    });
    // A file that is gone, and one that cannot be looked at any more, has no content to show.
    read.unwrap_or(Content::Absent)
}
