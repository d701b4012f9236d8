//! Runs as a client handles them: listed, looked at, stopped, and what they changed.
//!
//! Whatever a client asks about a run goes through here, so that nobody sees another's.

use std::path::Path;
use std::time::Duration;

use harness_jail::unified_diff;

use super::Harness;
use super::open::unreadable;
use crate::deadline::Deadline;
use crate::error::Refusal;
use crate::ledger::{Content, KeptFile, Page, RunSummary};

/// For a cancelled run to end on record.
const CANCELLING: Duration = Duration::from_secs(10);

/// For the look at what else was changed in the workspace.
const LOOKING: Duration = Duration::from_secs(2);

/// Other files named in a diff, at most.
const OTHERS: usize = 1_000;

/// What a run changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunDiff {
    /// Files that tools changed, by path.
    pub files: Vec<FileDiff>,
    /// Other files changed since the run began, by its commands or by anybody else; None when that
    /// cannot be told. Ignored files and those that are gone are not among them.
    pub others: Option<Vec<String>>,
}

/// One file's change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Relative to the workspace.
    pub path: String,
    /// `added`, `modified`, `removed` or `unchanged`.
    pub status: &'static str,
    /// Unified; one line of words where the content is not kept or not text.
    pub diff: String,
}

impl Harness {
    /// A caller's run.
    ///
    /// # Errors
    ///
    /// For the client: there is none of that id, or it is somebody else's.
    pub async fn run(&self, caller: &str, id: &str) -> Result<RunSummary, Refusal> {
        let found = self.ledger.run(id).await.map_err(|err| unreadable(&err))?;
        let mine = found.filter(|run| run.caller == caller);
        mine.ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            Refusal::not_found(format!("there is no run `{id}`")).with_code("run_not_found")
        })
    }

    /// A caller's runs, newest first; those of one session when it is named.
    ///
    /// # Errors
    ///
    /// When the record does not answer.
    pub async fn list_runs(
        &self,
        caller: &str,
        session: Option<&str>,
        page: Page,
    ) -> Result<Vec<RunSummary>, Refusal> {
        self.ledger.runs(caller, session, page).await.map_err(|err| unreadable(&err))
    }

    /// Stops a caller's run, and gives it as it then stands. One that is over stays as it is.
    ///
    /// # Errors
    ///
    /// For the client: there is none of that id, or it is somebody else's.
    pub async fn cancel_run(&self, caller: &str, id: &str) -> Result<RunSummary, Refusal> {
        if let Some(mut ended) = self.live.cancel(caller, id) {
            // A run that takes longer is shown as it is.
            let _ = tokio::time::timeout(CANCELLING, ended.wait_for(Option::is_some)).await;
        }
        self.run(caller, id).await
    }

    /// What a caller's run changed: of a run that is over as it was at its end, otherwise as it is.
    ///
    /// # Errors
    ///
    /// For the client: there is none of that id, or it is somebody else's.
    pub async fn diff(&self, caller: &str, id: &str) -> Result<RunDiff, Refusal> {
        let run = self.run(caller, id).await?;
        let kept = self.ledger.files(id).await.map_err(|err| unreadable(&err))?;
        let (places, redactor) = (self.places.clone(), self.redactor.clone());
        let work = tokio::task::spawn_blocking(move || {
            let jail = places.look(&run.workspace).ok();
            let jail = jail.filter(|jail| jail.root() == Path::new(&run.workspace));
            let files: Vec<FileDiff> = kept
                .into_iter()
                .map(|file| {
                    let after = file.after.clone().unwrap_or_else(|| match &jail {
                        Some(jail) => crate::plugin::content_of(jail, &file.path),
                        None => Content::Absent,
                    });
                    file_diff(&file, &after)
                })
                .map(|file| FileDiff { diff: redactor.redact(&file.diff).into_owned(), ..file })
                .collect();
            let until = Deadline::after(LOOKING).instant();
            let touched = jail.and_then(|jail| jail.touched_since(run.created_ms, until));
            let others = touched.map(|mut paths| {
                paths.retain(|path| !files.iter().any(|file| file.path == *path));
                paths.truncate(OTHERS);
                paths
            });
            RunDiff { files, others }
        });
        work.await.map_err(|err| {
            tracing::error!("a diff could not be made: {err}");
            Refusal::internal("the diff could not be made; the server's log says why")
        })
    }
}

fn file_diff(file: &KeptFile, after: &Content) -> FileDiff {
    let path = file.path.clone();
    let status = match (&file.before, after) {
        (before, after) if before == after => "unchanged",
        (Content::Absent, _) => "added",
        (_, Content::Absent) => "removed",
        _ => "modified",
    };
    let diff = match (bytes(&file.before), bytes(after)) {
        _ if status == "unchanged" => String::new(),
        (Ok(before), Ok(after)) => unified_diff(&path, before, after),
        (Err(size), _) | (_, Err(size)) => {
            format!("content of `{path}` is not kept: it has {size} bytes\n")
        }
    };
    FileDiff { path, status, diff }
}

/// The content to compare; its size when it was not kept.
fn bytes(content: &Content) -> Result<Option<&[u8]>, u64> {
    match content {
        Content::Absent => Ok(None),
        Content::Bytes(bytes) => Ok(Some(bytes)),
        Content::NotKept { size_bytes } => Err(*size_bytes),
    }
}
