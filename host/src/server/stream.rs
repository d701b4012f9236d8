//! A streamed reply: who speaks at once, a comment now and then, the answer when the run has ended.
//!
//! Only `data:` lines and comments, since named events and `retry:` break clients. The run lives
//! in the body: when the client is gone, hyper drops the body and that cancels the run. A failure
//! after the headers is one `data:` line with the error's envelope.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use serde::Serialize;

use super::chat::Place;
use super::follow::{Follower, brief};
use crate::event::Recorded;
use crate::harness::{Finished, Run};
use crate::wire::response::{Chunks, ErrorBody};

pub(super) const SIGN_OF_LIFE: &[u8] = b": keep-alive\n\n";
const DONE: &[u8] = b"data: [DONE]\n\n";

/// The longest piece of an answer in one chunk: some clients cannot read lines over 64 KiB, and
/// escaping makes a byte six.
const PIECE_BYTES: usize = 8 * 1024;

/// Line ends that JSON leaves alone and that some clients split lines at.
const STRAY_LINE_ENDS: [(char, &str); 3] =
    [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// The response; its body drives the run's end to the client.
pub(super) fn respond(
    run: Run,
    place: Place,
    chunks: Chunks,
    events: Option<Follower>,
    keep_alive: Duration,
) -> Response {
    let reply = Reply {
        stage: Stage::Opening,
        finished: Box::pin(run.finished()),
        place,
        chunks,
        events,
        keep_alive,
    };
    event_stream(Body::from_stream(unfold(reply, Reply::next)))
}

/// A response of server-sent events.
pub(super) fn event_stream(body: Body) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // nginx would hold the stream back until it ends.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Reply {
    stage: Stage,
    finished: Pin<Box<dyn Future<Output = Finished> + Send>>,
    place: Place,
    chunks: Chunks,
    /// What happens in the run, when the client wants to see it.
    events: Option<Follower>,
    keep_alive: Duration,
}

enum Stage {
    Opening,
    Waiting,
    /// The run has ended, and its last events may not have been sent.
    Ending(Box<Finished>),
    Over,
}

impl Reply {
    /// The next bytes; None after the last.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Reply)> {
        let bytes = match std::mem::replace(&mut self.stage, Stage::Waiting) {
            Stage::Opening => {
                let mut frames = Vec::new();
                data(&mut frames, &self.chunks.opening());
                Bytes::from(frames)
            }
            Stage::Waiting => tokio::select! {
                biased;
                page = next_page(&mut self.events) => Bytes::from(self.told(page)),
                finished = &mut self.finished => {
                    self.stage = Stage::Ending(Box::new(finished));
                    Bytes::new()
                }
                () = tokio::time::sleep(self.keep_alive) => Bytes::from_static(SIGN_OF_LIFE),
            },
            Stage::Ending(finished) => {
                let page = match &mut self.events {
                    Some(events) => events.page().await.unwrap_or_default(),
                    None => None,
                };
                let mut frames = self.told(page.unwrap_or_default());
                if frames.is_empty() {
                    self.stage = Stage::Over;
                    frames = self.ending(*finished);
                } else {
                    self.stage = Stage::Ending(finished);
                }
                Bytes::from(frames)
            }
            Stage::Over => return None,
        };
        Some((Ok(bytes), self))
    }

    /// Events, a chunk each.
    fn told(&self, events: Vec<Recorded>) -> Vec<u8> {
        let mut frames = Vec::new();
        for event in &events {
            data(&mut frames, &self.chunks.event(&brief(event)));
        }
        frames
    }

    /// Everything after the run's end.
    fn ending(&self, finished: Finished) -> Vec<u8> {
        let mut frames = Vec::new();
        if let Some(refusal) = &finished.error {
            data(&mut frames, &ErrorBody::from(refusal));
        } else {
            let (answer, ending) = self.place.ending(finished);
            for piece in pieces(&answer) {
                data(&mut frames, &self.chunks.content(piece));
            }
            data(&mut frames, &self.chunks.closing(&ending));
            if let Some(usage) = self.chunks.usage(&ending) {
                data(&mut frames, &usage);
            }
        }
        frames.extend_from_slice(DONE);
        frames
    }
}

/// The next events; never, when there is nobody who wants them or no more of them.
async fn next_page(events: &mut Option<Follower>) -> Vec<Recorded> {
    if let Some(follower) = events {
        match follower.page().await {
            Ok(Some(page)) => return page,
            Ok(None) => {}
            // The answer still comes; what happened can be asked for later.
            Err(err) => tracing::warn!("events could not be read for a stream: {err}"),
        }
        *events = None;
    }
    std::future::pending().await
}

/// JSON without anything that somebody takes for the end of a line.
pub(super) fn one_line(mut json: String) -> String {
    for (stray, escape) in STRAY_LINE_ENDS {
        // Outside texts JSON is ASCII, so this changes texts alone, and not what they say.
        if json.contains(stray) {
            json = json.replace(stray, escape);
        }
    }
    json
}

/// Appends one event.
pub(super) fn data(frames: &mut Vec<u8>, value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(json) => {
            frames.extend_from_slice(b"data: ");
            frames.extend_from_slice(one_line(json).as_bytes());
            frames.extend_from_slice(b"\n\n");
        }
        Err(err) => tracing::error!("a chunk could not be written as JSON: {err}"),
    }
}

/// `text` cut between characters.
fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}
