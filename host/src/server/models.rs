//! What can be asked for, and whether asking makes sense now.
//!
//! Read by clients that list models and by whoever watches over the process. Starts nothing, and
//! asks the upstream nothing.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use super::Door;
use super::id::Id;
use super::refuse::{json, shown};
use crate::error::{Refusal, RefusalKind};
use crate::wire::response::{Model, ModelList};

/// `GET /v1/models`
pub(super) async fn list(State(door): State<Arc<Door>>) -> Response {
    let window = door.harness.known_window();
    let models = door.harness.models().into_iter();
    let data = models.map(|id| Model::new(id, door.started, window)).collect();
    json(StatusCode::OK, &ModelList::new(data))
}

/// `GET /v1/models/{id}`
pub(super) async fn one(State(door): State<Arc<Door>>, Id(id): Id) -> Result<Response, Refusal> {
    if !door.harness.models().contains(&id) {
        let message = format!("there is no model `{}`", shown(&id));
        return Err(Refusal::not_found(message).with_code("model_not_found"));
    }
    Ok(json(StatusCode::OK, &Model::new(id, door.started, door.harness.known_window())))
}

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> Response {
    json(StatusCode::OK, &json!({"status": "ok"}))
}

/// `GET /readyz`: a run would be taken.
pub(super) async fn ready(State(door): State<Arc<Door>>) -> Result<Response, Refusal> {
    match door.harness.ready() {
        Ok(()) => {
            let sandbox = door.harness.walls();
            Ok(json(StatusCode::OK, &json!({"status": "ready", "sandbox": sandbox})))
        }
        Err(reason) => Err(Refusal {
            status: 503,
            kind: RefusalKind::ServerError,
            message: reason,
            param: None,
            code: Some("not_ready".to_owned()),
            may_retry: true,
            retry_after: None,
        }),
    }
}
