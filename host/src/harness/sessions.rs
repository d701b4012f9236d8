//! Sessions as a client handles them: opened, listed, looked at, removed; and swept when nobody
//! used them for long.
//!
//! Removing a session ends what its commands left running and removes the workspace if we made it.
//! A directory that a client named is never touched. What its runs did stays on record.

use std::sync::Arc;
use std::time::Duration;

use super::Harness;
use super::open::unreadable;
use crate::error::{Refusal, with_causes};
use crate::ledger::{LedgerError, Page, SessionRow, now_ms};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// A session, for whoever it belongs to.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// As stored.
    pub row: SessionRow,
    /// The run that is in it.
    pub active_run: Option<String>,
}

impl Harness {
    /// Opens a session in `directory`, or in a fresh one. A directory that the caller has a session
    /// in already gives that one.
    ///
    /// # Errors
    ///
    /// For the client: the directory cannot be a workspace.
    pub async fn open_session(
        &self,
        caller: &str,
        directory: Option<&str>,
    ) -> Result<SessionView, Refusal> {
        self.refuse_when_stopping()?;
        let directory = self.canonical(caller, directory).await?;
        let _opening = self.opening.lock().await;
        let row = match directory.as_deref() {
            None => self.add_session(caller, None).await?,
            Some(directory) => {
                let known = self.ledger.session_in(caller, directory).await;
                match known.map_err(|err| unreadable(&err))? {
                    Some(row) => row,
                    None => self.add_session(caller, Some(directory)).await?,
                }
            }
        };
        Ok(self.view(row))
    }

    /// A caller's session.
    ///
    /// # Errors
    ///
    /// For the client: there is none of that id, or it is somebody else's.
    pub async fn session(&self, caller: &str, id: &str) -> Result<SessionView, Refusal> {
        self.known_session(caller, id, None).await.map(|row| self.view(row))
    }

    /// A caller's sessions, newest first.
    ///
    /// # Errors
    ///
    /// When the record does not answer.
    pub async fn list_sessions(
        &self,
        caller: &str,
        page: Page,
    ) -> Result<Vec<SessionView>, Refusal> {
        let rows = self.ledger.sessions(caller, page).await.map_err(|err| unreadable(&err))?;
        Ok(rows.into_iter().map(|row| self.view(row)).collect())
    }

    /// Removes a caller's session.
    ///
    /// # Errors
    ///
    /// For the client: there is none, or a run is in it.
    pub async fn remove_session(&self, caller: &str, id: &str) -> Result<(), Refusal> {
        let row = {
            let _opening = self.opening.lock().await;
            let row = self.known_session(caller, id, None).await?;
            if let Some(run) = self.run_in(&row) {
                let message = format!("run `{run}` is at work in session `{id}`; cancel it first");
                return Err(Refusal::conflict("session_busy", message));
            }
            self.ledger.remove_session(id).await.map_err(|err| unreadable(&err))?;
            row
        };
        self.let_go(row).await;
        Ok(())
    }

    /// The run that is in a session, or in its workspace if that goes with it.
    fn run_in(&self, row: &SessionRow) -> Option<String> {
        let in_workspace = || self.holds.holder(&row.workspace).filter(|_| row.fresh);
        self.live.in_session(&row.id).or_else(in_workspace)
    }

    /// Removes sessions in fresh workspaces that no run began in for `workspace.keep_days`, and
    /// what is left of fresh workspaces without a session.
    pub async fn sweep(&self) {
        let days = self.config.keep_days;
        if days == 0 {
            return;
        }
        let before_ms = now_ms().saturating_sub(days.saturating_mul(DAY_MS));
        if let Err(err) = self.sweep_before(before_ms).await {
            tracing::warn!("unused workspaces could not be swept: {}", with_causes(&err));
        }
    }

    /// Sweeps now and then, until the server stops.
    pub async fn keep_sweeping(self: Arc<Self>, pause: Duration) {
        loop {
            self.sweep().await;
            tokio::select! {
                () = self.cancel.cancelled() => return,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    async fn sweep_before(&self, before_ms: u64) -> Result<(), LedgerError> {
        for row in self.ledger.unused_since(before_ms, None).await? {
            {
                let _opening = self.opening.lock().await;
                // Somebody may have come back to it since the list was made.
                let unused = self.ledger.unused_since(before_ms, Some(&row.id)).await?;
                if unused.is_empty() || self.run_in(&row).is_some() {
                    continue;
                }
                self.ledger.remove_session(&row.id).await?;
            }
            tracing::info!(session = row.id, "a workspace nobody used for long is removed");
            self.let_go(row).await;
        }
        let places = self.places.clone();
        let listing = tokio::task::spawn_blocking(move || places.of_sessions()).await;
        let found = match listing.unwrap_or_else(|err| Err(std::io::Error::other(err))) {
            Ok(found) => found,
            Err(err) => {
                tracing::warn!("the directories of sessions could not be listed: {err}");
                return Ok(());
            }
        };
        for (name, changed_ms) in found {
            let left_over = match self.ledger.is_session(&name).await? {
                Some(is_there) => !is_there,
                // Made, and then the server died: kept as long as any other. Where other servers
                // make theirs too, it may be one of those.
                None => !self.places.shares_workspaces() && changed_ms < before_ms,
            };
            if left_over {
                tracing::info!(session = name, "what is left of a session is removed");
                self.remove_files(name.clone(), self.places.fresh_path(&name)).await;
            }
        }
        Ok(())
    }

    /// Ends and removes what is left of a session that the ledger has no more. Its id is never given
    /// again, so no run can come into it meanwhile.
    async fn let_go(&self, row: SessionRow) {
        let open = self.sessions().remove(&row.id);
        // Waits until its commands are gone: not on the runtime's threads. What an earlier process
        // of the server started ended with that.
        let ending = tokio::task::spawn_blocking(move || drop(open));
        if let Err(err) = ending.await {
            tracing::error!("what its commands left running was not ended: {err}");
        }
        self.remove_files(row.id, row.fresh.then_some(row.workspace)).await;
    }

    async fn remove_files(&self, session: String, workspace: Option<String>) {
        let places = self.places.clone();
        let id = session.clone();
        let removing = tokio::task::spawn_blocking(move || {
            places.remove_session(&session, workspace.as_deref())
        });
        let removed = removing.await.unwrap_or_else(|err| Err(std::io::Error::other(err)));
        if let Err(err) = removed {
            // The next sweep finds it.
            tracing::warn!(session = id, "its files could not be removed: {err}");
        }
    }

    fn view(&self, row: SessionRow) -> SessionView {
        SessionView { active_run: self.live.in_session(&row.id), row }
    }
}
