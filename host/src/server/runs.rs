//! What a run is and did: its summary, and its events as they happen.
//!
//! Reads the ledger at the client's pace. A follower sleeps on a value that the ledger sets and
//! nobody waits for, so a client that reads slowly, or not at all, never stalls a run.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::try_unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};

use super::Door;
use super::id::Id;
use super::refuse::{json, shown};
use crate::error::Refusal;
use crate::event::Event;

/// Events read, and held, at one time for one follower.
const PAGE: usize = 128;

/// `GET /v1/runs/{id}`
pub(super) async fn summary(
    State(door): State<Arc<Door>>,
    Id(id): Id,
) -> Result<Response, Refusal> {
    let found = door.harness.ledger().run(&id).await.map_err(|err| unreadable(&err))?;
    let summary = found.ok_or_else(|| no_run(&id))?;
    Ok(json(StatusCode::OK, &summary))
}

/// `GET /v1/runs/{id}/events?after=SEQ`: a line of JSON for each event, until the run's end.
pub(super) async fn events(
    State(door): State<Arc<Door>>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let after = read_after(query.as_deref().unwrap_or_default())?;
    let found = door.harness.ledger().run(&id).await.map_err(|err| unreadable(&err))?;
    found.ok_or_else(|| no_run(&id))?;
    let follower = Follower { door, id, after, is_over: false };
    let mut response = Response::new(Body::from_stream(try_unfold(follower, Follower::next)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// Somebody who reads a run's events.
struct Follower {
    door: Arc<Door>,
    id: String,
    /// The last event that was sent.
    after: u64,
    /// True once the run's end was sent.
    is_over: bool,
}

impl Follower {
    /// The next lines; None after the run's end.
    async fn next(mut self) -> io::Result<Option<(Bytes, Follower)>> {
        if self.is_over {
            return Ok(None);
        }
        let ledger = self.door.harness.ledger();
        let mut progress = ledger.watch(&self.id);
        let mut is_last_look = false;
        loop {
            // Before reading: what is stored in between wakes us again.
            let has_ended = progress.borrow_and_update().ended || is_last_look;
            let page = ledger.events(&self.id, self.after, PAGE).await.map_err(io::Error::other)?;
            if let Some(last) = page.last() {
                self.after = last.seq;
                self.is_over = matches!(last.event, Event::Ended { .. });
                let mut lines = Vec::new();
                for event in &page {
                    serde_json::to_writer(&mut lines, event)?;
                    lines.push(b'\n');
                }
                return Ok(Some((Bytes::from(lines), self)));
            }
            if has_ended {
                return Ok(None);
            }
            // When nobody tells any more, what is stored by now is all there will be.
            is_last_look = progress.changed().await.is_err();
        }
    }
}

/// The number in `after=SEQ`; 0 when there is no query.
fn read_after(query: &str) -> Result<u64, Refusal> {
    let mut after = 0;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key != "after" {
            let message = format!("the query may hold `after`, got `{}`", shown(key));
            return Err(Refusal::invalid(shown(key), message).with_code("unknown_parameter"));
        }
        after = value.parse().map_err(|_| {
            let message = format!("`after` must be an event's `seq`, got `{}`", shown(value));
            Refusal::invalid("after", message).with_code("invalid_value")
        })?;
    }
    Ok(after)
}

fn no_run(id: &str) -> Refusal {
    Refusal::not_found(format!("there is no run `{}`", shown(id))).with_code("run_not_found")
}

fn unreadable(err: &dyn std::error::Error) -> Refusal {
    tracing::error!("the ledger could not be read: {err}");
    Refusal::internal("the ledger could not be read; the server's log says more")
}
