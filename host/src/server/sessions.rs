//! Sessions over HTTP: opened, listed, looked at, removed.
//!
//! Translates; what a session is and who may have it is for the harness to say.

use std::sync::Arc;

use axum::extract::{RawQuery, Request, State};
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;
use serde_json::json;

use super::caller::Caller;
use super::id::Id;
use super::query::Query;
use super::refuse::json;
use super::{Door, body};
use crate::error::Refusal;
use crate::harness::SessionView;
use crate::wire::list::List;
use crate::wire::session::NewSession;

#[derive(Serialize)]
struct SessionObject {
    object: &'static str,
    id: String,
    workspace: String,
    /// Whether the workspace is ours, and goes with the session.
    fresh: bool,
    created_ms: u64,
    active_run: Option<String>,
}

impl From<SessionView> for SessionObject {
    fn from(view: SessionView) -> SessionObject {
        let SessionView { row, active_run } = view;
        SessionObject {
            object: "session",
            id: row.id,
            workspace: row.workspace,
            fresh: row.fresh,
            created_ms: row.created_ms,
            active_run,
        }
    }
}

/// `POST /v1/sessions`: the session of a directory, or one in a fresh directory.
pub(super) async fn open(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = body::read_json(&parts.headers, body, door.options.max_body_bytes).await?;
    let asked = NewSession::from_json(&bytes)?;
    let view = door.harness.open_session(&caller, asked.workspace.as_deref()).await?;
    Ok(json(StatusCode::CREATED, &SessionObject::from(view)))
}

/// `GET /v1/sessions?limit=&after=`, newest first.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let page = Query::read(query.as_deref(), &["limit", "after"])?.page("ws_")?;
    let limit = page.limit - 1;
    let sessions = door.harness.list_sessions(&caller, page).await?;
    let sessions = sessions.into_iter().map(SessionObject::from).collect();
    Ok(json(StatusCode::OK, &List::cut(sessions, limit)))
}

/// `GET /v1/sessions/{id}`
pub(super) async fn one(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let view = door.harness.session(&caller, &id).await?;
    Ok(json(StatusCode::OK, &SessionObject::from(view)))
}

/// `DELETE /v1/sessions/{id}`
pub(super) async fn remove(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
) -> Result<Response, Refusal> {
    door.harness.remove_session(&caller, &id).await?;
    Ok(json(StatusCode::OK, &json!({"object": "session.deleted", "id": id, "deleted": true})))
}
