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
use crate::harness::{Finished, Run};
use crate::wire::response::{Chunks, ErrorBody};

const SIGN_OF_LIFE: &[u8] = b": keep-alive\n\n";
const DONE: &[u8] = b"data: [DONE]\n\n";

/// The longest piece of an answer in one chunk: some clients cannot read lines over 64 KiB, and
/// escaping makes a byte six.
const PIECE_BYTES: usize = 8 * 1024;

/// Line ends that JSON leaves alone and that some clients split lines at.
const STRAY_LINE_ENDS: [(char, &str); 3] =
    [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// The response; its body drives the run's end to the client.
pub(super) fn respond(run: Run, place: Place, chunks: Chunks, keep_alive: Duration) -> Response {
    let reply = Reply {
        stage: Stage::Opening,
        finished: Box::pin(run.finished()),
        place,
        chunks,
        keep_alive,
    };
    let mut response = Response::new(Body::from_stream(unfold(reply, Reply::next)));
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
    keep_alive: Duration,
}

enum Stage {
    Opening,
    Waiting,
    Over,
}

impl Reply {
    /// The next bytes; None after the last.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Reply)> {
        let bytes = match self.stage {
            Stage::Opening => {
                self.stage = Stage::Waiting;
                let mut frames = Vec::new();
                data(&mut frames, &self.chunks.opening());
                Bytes::from(frames)
            }
            Stage::Waiting => tokio::select! {
                finished = &mut self.finished => {
                    self.stage = Stage::Over;
                    Bytes::from(self.ending(finished))
                }
                () = tokio::time::sleep(self.keep_alive) => Bytes::from_static(SIGN_OF_LIFE),
            },
            Stage::Over => return None,
        };
        Some((Ok(bytes), self))
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

/// Appends one event.
fn data(frames: &mut Vec<u8>, value: &impl Serialize) {
    match serde_json::to_string(value) {
        Ok(mut json) => {
            for (stray, escape) in STRAY_LINE_ENDS {
                // Outside texts JSON is ASCII, so this changes texts alone, and not what they say.
                if json.contains(stray) {
                    json = json.replace(stray, escape);
                }
            }
            frames.extend_from_slice(b"data: ");
            frames.extend_from_slice(json.as_bytes());
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
