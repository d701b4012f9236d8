//! What a run is and did: its summary, its events as they happen, its diff; and an end to it.
//!
//! Translates; whose run it is and what it changed is for the harness to say.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::try_unfold;
use harness_jail::quoted;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use serde_json::json;

use super::Door;
use super::caller::Caller;
use super::follow::Follower;
use super::id::Id;
use super::query::Query;
use super::refuse::{json, shown};
use super::stream::{SIGN_OF_LIFE, event_stream, one_line};
use crate::error::Refusal;
use crate::ledger::RunSummary;
use crate::wire::list::List;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

#[derive(Serialize)]
struct RunObject {
    object: &'static str,
    #[serde(flatten)]
    summary: RunSummary,
}

impl From<RunSummary> for RunObject {
    fn from(summary: RunSummary) -> RunObject {
        RunObject { object: "run", summary }
    }
}

/// `GET /v1/runs?session=&limit=&after=`, newest first.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let query = Query::read(query.as_deref(), &["session", "limit", "after"])?;
    let page = query.page("run_")?;
    let limit = page.limit - 1;
    let runs = door.harness.list_runs(&caller, query.get("session"), page).await?;
    let runs = runs.into_iter().map(RunObject::from).collect();
    Ok(json(StatusCode::OK, &List::cut(runs, limit)))
}

/// `GET /v1/runs/{id}`
pub(super) async fn summary(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let summary = door.harness.run(&caller, &id).await?;
    Ok(json(StatusCode::OK, &RunObject::from(summary)))
}

/// `POST /v1/runs/{id}/cancel`: the run as it stands once it ended.
pub(super) async fn cancel(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let summary = door.harness.cancel_run(&caller, &id).await?;
    Ok(json(StatusCode::OK, &RunObject::from(summary)))
}

/// `GET /v1/runs/{id}/diff`: a patch, or JSON for who accepts that.
pub(super) async fn diff(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let diff = door.harness.diff(&caller, &id).await?;
    if accepts(&headers, "application/json") {
        let files: Vec<_> = diff
            .files
            .iter()
            .map(|file| json!({"path": file.path, "status": file.status, "diff": file.diff}))
            .collect();
        let body = json!({"object": "run.diff", "files": files, "also_changed": diff.others});
        return Ok(json(StatusCode::OK, &body));
    }
    let mut text = String::new();
    // Lines before the first file are passed over by whatever applies a patch.
    match &diff.others {
        Some(others) => {
            let told = others
                .iter()
                .map(|path| format!("# also changed since the run began: {}\n", quoted(path)));
            text.extend(told);
        }
        None => text.push_str("# what else changed in the workspace could not be told\n"),
    }
    text.extend(diff.files.iter().map(|file| file.diff.as_str()));
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/x-diff; charset=utf-8"));
    Ok(response)
}

/// `GET /v1/runs/{id}/events?after=SEQ`, until the run's end: a line of JSON for each event, or
/// server-sent events for who accepts those.
pub(super) async fn events(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    Id(id): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let query = Query::read(query.as_deref(), &["after"])?;
    // A browser that lost its connection asks the same address again, and says in a header how far
    // it came.
    let after = query.number("after")?.unwrap_or_default().max(last_event_id(&headers)?);
    let run = door.harness.run(&caller, &id).await?;
    let keep_alive = door.options.keep_alive;
    let ledger = door.harness.ledger();
    if accepts(&headers, "text/event-stream")
        && run.reason.is_some()
        && ledger.watch(&id).borrow().seq <= after
    {
        // Tells it that there is no more, and not to ask again.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let follower = Follower::new(door, id, after);
    if accepts(&headers, "text/event-stream") {
        let told = try_unfold(follower, move |mut follower| async move {
            let page = tokio::time::timeout(keep_alive, follower.page());
            let bytes = match page.await {
                Err(_) => Bytes::from_static(SIGN_OF_LIFE),
                Ok(page) => match page.map_err(io::Error::other)? {
                    None => return Ok::<_, io::Error>(None),
                    Some(page) => lines(&page, |seq| format!("id: {seq}\ndata: "), "\n\n")?,
                },
            };
            Ok(Some((bytes, follower)))
        });
        return Ok(event_stream(Body::from_stream(told)));
    }
    let told = try_unfold(follower, |mut follower| async move {
        let page = follower.page().await.map_err(io::Error::other)?;
        let Some(page) = page else { return Ok::<_, io::Error>(None) };
        Ok(Some((lines(&page, |_| String::new(), "\n")?, follower)))
    });
    let mut response = Response::new(Body::from_stream(told));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Each event as JSON, between `before` it and `behind` it.
fn lines(
    page: &[crate::event::Recorded],
    before: impl Fn(u64) -> String,
    behind: &str,
) -> io::Result<Bytes> {
    let mut lines = Vec::new();
    for event in page {
        lines.extend_from_slice(before(event.seq).as_bytes());
        lines.extend_from_slice(one_line(serde_json::to_string(event)?).as_bytes());
        lines.extend_from_slice(behind.as_bytes());
    }
    Ok(Bytes::from(lines))
}

/// Where a client that lost its connection goes on; 0 for one that begins.
fn last_event_id(headers: &HeaderMap) -> Result<u64, Refusal> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(0) };
    let text = value.to_str().unwrap_or_default();
    text.trim().parse().map_err(|_| {
        let message = format!("`Last-Event-ID` must be an event's `seq`, got `{}`", shown(text));
        Refusal::invalid("Last-Event-ID", message).with_code("invalid_value")
    })
}

/// Whether the client names that type, and not only "anything".
fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let named = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = named.flat_map(|value| value.split(','));
    kinds.any(|named| named.split(';').next().is_some_and(|named| named.trim() == kind))
}
