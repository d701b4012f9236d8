//! A scripted upstream: a server that speaks OpenAI's API and says what a script tells it to.
//!
//! For tests, benchmarks and trying things out without a model or a key. It checks every request
//! more strictly than any provider does and tells in `GET /mock/requests` what came when. It knows
//! nothing of the harness behind the requests.
#![expect(clippy::disallowed_types, reason = "one of the two doors that listen")]

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::stream;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

mod answer;
mod body;
mod script;
mod stage;
mod thread;

#[cfg(test)]
mod tests;

pub use script::{Script, ScriptError};
pub use stage::Seen;

use answer::Place;
use script::{Play, Turn};
use stage::{Cue, Ending, Stage};

/// Largest request that is read: four times what the harness itself accepts from a client.
const MAX_BODY_BYTES: usize = 64 << 20;

/// A scripted upstream that cannot listen.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on `{address}`")]
pub struct MockError {
    /// Where it should have.
    address: SocketAddr,
    source: io::Error,
}

/// A scripted upstream that listens. It stops when this is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stage: Arc<Stage>,
    _stop: DropGuard,
}

impl Running {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for a client.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Everything that came so far, in order.
    pub fn requests(&self) -> Vec<Seen> {
        self.stage.seen()
    }
}

/// Listens on `address` (port 0 takes a free one) and plays `script` until the result is dropped.
pub async fn start(script: Script, address: SocketAddr) -> Result<Running, MockError> {
    let failed = |source| MockError { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    // Small pieces must leave at once.
    let listener = listener.tap_io(|socket| drop(socket.set_nodelay(true)));
    let stage = Arc::new(Stage::new(script));
    let router = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/v1/models", get(models))
        .route("/v1/chat/completions", post(complete))
        .route("/mock/requests", get(requests))
        .with_state(Arc::clone(&stage));
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    tokio::spawn(axum::serve(listener, router).with_graceful_shutdown(stopped).into_future());
    Ok(Running { address, stage, _stop: stop.drop_guard() })
}

async fn models(State(stage): State<Arc<Stage>>) -> Response {
    json(StatusCode::OK, answer::models(&stage.script.model, stage.script.context_window))
}

async fn requests(State(stage): State<Arc<Stage>>) -> Response {
    let lines: String = stage
        .seen()
        .iter()
        .filter_map(|seen| serde_json::to_string(seen).ok())
        .map(|line| line + "\n")
        .collect();
    ([(CONTENT_TYPE, "application/x-ndjson")], lines).into_response()
}

async fn complete(State(stage): State<Arc<Stage>>, request: Request) -> Response {
    let Ok(body) = to_bytes(request.into_body(), MAX_BODY_BYTES).await else {
        return json(
            StatusCode::PAYLOAD_TOO_LARGE,
            answer::error_json("the body is too large or broke off", "body"),
        );
    };
    // What this server itself does with a request is no part of the client's time.
    let received_us = stage.now_us();
    let body_bytes = body.len();
    let (cue, ending) = stage.receive(received_us, body);
    match cue {
        Cue::Refuse(what) => {
            json(StatusCode::BAD_REQUEST, answer::error_json(&what, "mock_violation"))
        }
        Cue::UsedUp(what) => {
            let mut response =
                json(StatusCode::INTERNAL_SERVER_ERROR, answer::error_json(&what, "mock_used_up"));
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
            response
        }
        Cue::Play { turn, ordinal, repetition, stream, stream_usage } => {
            let turn = &stage.script.turns[turn];
            let place =
                Place { model: &stage.script.model, ordinal, repetition, body_bytes, stream_usage };
            if !turn.pause.is_zero() {
                tokio::time::sleep(turn.pause).await;
            }
            let (status, kind, pieces) = match &turn.play {
                Play::Error { status, body } => {
                    (*status, "application/json", vec![Bytes::from(body.clone())])
                }
                Play::Raw(bytes) => (StatusCode::OK, "text/event-stream", vec![bytes.clone()]),
                Play::Reply(reply) if stream => {
                    (StatusCode::OK, "text/event-stream", answer::stream(reply, place))
                }
                Play::Reply(reply) => {
                    (StatusCode::OK, "application/json", vec![answer::whole(reply, place)])
                }
            };
            let mut headers: HeaderMap = turn.headers.iter().cloned().collect();
            headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static(kind));
            (status, headers, play(pieces, turn, ending)).into_response()
        }
    }
}

/// The pieces as a body: one by one where there is a pause between them, else at once.
fn play(mut pieces: Vec<Bytes>, turn: &Turn, ending: Ending) -> Body {
    let (pause, disconnect) = (turn.piece_pause, turn.disconnect);
    if pause.is_zero() && pieces.len() > 1 {
        pieces = vec![pieces.concat().into()];
    }
    let state = (pieces.into_iter(), true, disconnect, ending);
    Body::from_stream(stream::unfold(
        state,
        move |(mut pieces, is_first, disconnect, ending)| async move {
            match pieces.next() {
                Some(piece) => {
                    if !is_first && !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                    Some((Ok(piece), (pieces, false, disconnect, ending)))
                }
                None if disconnect => {
                    // Lets the server send what it has before it hears of the error.
                    tokio::task::yield_now().await;
                    Some((
                        Err(io::Error::from(io::ErrorKind::ConnectionAborted)),
                        (pieces, false, false, ending),
                    ))
                }
                None => None,
            }
        },
    ))
}

fn json(status: StatusCode, body: String) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
