//! Which session a request means.
//!
//! Named by id, by directory, by both (then they must agree) or by neither (then in a fresh
//! directory). One session per caller and directory.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_jail::OpenError;

use super::Harness;
use super::refusal::workspace_gone;
use crate::containment::Containment;
use crate::error::{Refusal, with_causes};
use crate::ledger::{LedgerError, SessionRow, now_ms};
use crate::places::{Named, PlaceError};
use crate::plugin::Workspace;
use crate::session::{Changes, Session};

/// For the file system to say what a directory is. One that is mounted from elsewhere may never.
const ANSWERING: Duration = Duration::from_secs(10);

impl Harness {
    /// Opens the session that a request means. Only under the lock `opening`, so that one directory
    /// never gets two sessions.
    pub(super) async fn open(
        &self,
        caller: &str,
        id: Option<&str>,
        directory: Option<&str>,
    ) -> Result<Arc<Session>, Refusal> {
        let row = match (id, directory) {
            (Some(id), _) => self.known_session(caller, id, directory).await?,
            (None, Some(directory)) => match self
                .ledger
                .session_in(caller, directory)
                .await
                .map_err(|err| unreadable(&err))?
            {
                Some(row) => row,
                None => self.add_session(caller, Some(directory)).await?,
            },
            (None, None) => self.add_session(caller, None).await?,
        };
        // The roots may have been set since.
        if !row.fresh && !self.places.is_allowed(Path::new(&row.workspace)) {
            let message = format!("session `{}`: {}", row.id, PlaceError::OutsideRoots);
            return Err(Refusal::forbidden(message));
        }
        // Nor may the configuration count on what lies there now.
        if !self.places.is_apart(Path::new(&row.workspace)) {
            let own = PlaceError::ServersOwn(row.workspace);
            return Err(unusable(format!("session `{}`: {own}", row.id)));
        }
        let open = self.sessions().get(&row.id);
        match open {
            Some(session) if session.workspace.jail.is_current() => return Ok(session),
            // The directory was removed or made anew: its handle leads nowhere.
            Some(_) => let_go(self.sessions().remove(&row.id)),
            None => {}
        }
        let mut opened = self.places.jail(&row.workspace, &row.id);
        if opened.as_ref().is_err_and(OpenError::is_out_of_handles) {
            // Idle sessions hold two each.
            let idle = self.sessions().let_go_all();
            let letting_go = tokio::task::spawn_blocking(move || drop(idle)).await;
            letting_go.map_err(|_| Refusal::internal("idle sessions could not be let go of"))?;
            opened = self.places.jail(&row.workspace, &row.id);
        }
        let jail = opened.map_err(|err| match err.is_out_of_handles() {
            true => out_of_handles(),
            false => workspace_gone(&row.id, &err.to_string()),
        })?;
        if jail.root() != Path::new(&row.workspace) {
            return Err(workspace_gone(&row.id, "a link stands in its place, or on the way to it"));
        }
        let containment = self.containment.get().cloned().unwrap_or_else(Containment::none);
        let tmp = self.places.temporary(&row.id).map_err(|err| {
            tracing::error!(session = row.id, "no place for temporary files: {err}");
            Refusal::internal("there is no place for temporary files; the server's log says why")
        })?;
        let seen = self.ledger.observations(&row.id).await.map_err(|err| unreadable(&err))?;
        let shell = containment.shell(self.environment.clone(), &row.id, tmp);
        let kept = self.ledger.kept(&row.id).await.map_err(|err| unreadable(&err))?;
        let workspace = Workspace::new(jail, shell, self.redactor.clone()).with_seen(seen).keeping(
            self.ledger.clone(),
            &row.id,
            kept,
        );
        let session = Session {
            id: row.id,
            directory: workspace.jail.root().display().to_string(),
            workspace: Arc::new(workspace),
            changes: Changes::default(),
        };
        let (session, idle) = self.sessions().admit(session);
        let_go(idle);
        Ok(session)
    }

    /// The directory that a caller names, in its canonical form. Waits for the file system, so not
    /// under the lock `opening`.
    pub(super) async fn canonical(
        &self,
        caller: &str,
        directory: Option<&str>,
    ) -> Result<Option<String>, Refusal> {
        let Some(directory) = directory else { return Ok(None) };
        if !directory.starts_with('/') {
            return Err(unusable(format!("expected an absolute directory, got `{directory}`")));
        }
        let (places, named) = (self.places.clone(), directory.to_owned());
        let looking = tokio::task::spawn_blocking(move || places.canonical(&named));
        let Ok(Ok(looked)) = tokio::time::timeout(ANSWERING, looking).await else {
            return Err(unusable(format!("`{directory}` does not answer")));
        };
        let Named { path, fresh_of } = looked.map_err(|err| match err {
            PlaceError::OutsideRoots => Refusal::forbidden(format!("`{directory}`: {err}")),
            err => unusable(err.to_string()),
        })?;
        if let Some(session) = fresh_of {
            // Anybody's path leads there; only its owner may go in.
            let row = self.ledger.session(&session).await.map_err(|err| unreadable(&err))?;
            if row.is_none_or(|row| row.caller != caller) {
                let message = format!("`{directory}` is a workspace of no session of yours");
                return Err(Refusal::forbidden(message));
            }
        }
        Ok(Some(path))
    }

    pub(super) async fn known_session(
        &self,
        caller: &str,
        id: &str,
        directory: Option<&str>,
    ) -> Result<SessionRow, Refusal> {
        let row = self.ledger.session(id).await.map_err(|err| unreadable(&err))?;
        // Somebody else's session is told apart from none at all only to its owner.
        let Some(row) = row.filter(|row| row.caller == caller) else {
            return Err(Refusal::not_found(format!("there is no session `{id}`"))
                .with_code("session_not_found"));
        };
        match directory {
            Some(directory) if directory != row.workspace => Err(Refusal::invalid(
                "harness.workspace",
                format!("session `{id}` has another workspace than `{directory}`; name only one"),
            )
            .with_code("contradiction")),
            _ => Ok(row),
        }
    }

    pub(super) async fn add_session(
        &self,
        caller: &str,
        directory: Option<&str>,
    ) -> Result<SessionRow, Refusal> {
        let id = format!("ws_{}", uuid::Uuid::now_v7().simple());
        let workspace = match directory {
            Some(directory) => directory.to_owned(),
            None => self.places.fresh_workspace(&id).map_err(|err| {
                tracing::error!("no fresh workspace: {err}");
                Refusal::internal("a fresh workspace could not be made; the server's log says why")
            })?,
        };
        let row = SessionRow {
            id,
            caller: caller.to_owned(),
            workspace,
            fresh: directory.is_none(),
            created_ms: now_ms(),
        };
        self.ledger.add_session(row.clone()).await.map_err(|err| unreadable(&err))?;
        Ok(row)
    }
}

fn out_of_handles() -> Refusal {
    tracing::error!("no file handle is left for a workspace; raise the limit (`ulimit -n`)");
    Refusal {
        status: 503,
        may_retry: true,
        retry_after: Some(5),
        ..Refusal::internal("the server has no file handle left for a workspace")
    }
}

fn unusable(message: String) -> Refusal {
    Refusal::invalid("harness.workspace", message).with_code("unusable_workspace")
}

/// Letting go of a session ends what its commands left running, and waits for that: not here.
fn let_go(session: Option<Arc<Session>>) {
    if let Some(session) = session {
        drop(tokio::task::spawn_blocking(move || drop(session)));
    }
}

/// A ledger that does not answer: for the operator the cause, for the client that it is ours.
pub(super) fn unreadable(err: &LedgerError) -> Refusal {
    tracing::error!("{}", with_causes(err));
    Refusal::internal("the server's record does not answer; its log says why")
}
