//! Reads a request's body: JSON by its own word, and no larger than allowed.
//!
//! Bytes only; what they mean is `wire`'s to say.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use futures_util::StreamExt;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};

use tokio::time::{Instant, timeout_at};

use crate::error::{Refusal, RefusalKind};

/// Of a body that is too large, what is still read and thrown away, and for how long: a client
/// that finds its connection closed while it sends never reads why, and sends it all again.
const DISCARD_BYTES: usize = 256 * 1024 * 1024;
const DISCARD_TIME: Duration = Duration::from_secs(5);

/// For a body to arrive. The largest one is 16 MiB: at 300 kB a second, 53 s.
const BODY_TIME: Duration = Duration::from_secs(60);

/// The whole body.
pub(super) async fn read_json(
    headers: &HeaderMap,
    body: Body,
    max_bytes: usize,
) -> Result<Vec<u8>, Refusal> {
    if !is_json(headers) {
        let got = match headers.get(CONTENT_TYPE) {
            Some(value) => format!("`{}`", value.as_bytes().escape_ascii()),
            None => "none".to_owned(),
        };
        let message = format!("`Content-Type` must be `application/json`, got {got}");
        return Err(Refusal::invalid("Content-Type", message)
            .with_status(415)
            .with_code("unsupported_media_type"));
    }
    let mut stream = body.into_data_stream();
    let told = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if told.is_some_and(|bytes: u64| bytes > max_bytes as u64) {
        // Who asks first has sent nothing yet.
        if !headers.contains_key(EXPECT) {
            discard(stream).await;
        }
        return Err(too_large(max_bytes));
    }
    let mut bytes = Vec::new();
    let until = Instant::now() + BODY_TIME;
    while let Some(piece) = timeout_at(until, stream.next()).await.map_err(|_| too_slow())? {
        let piece = piece.map_err(|err| broken(&err))?;
        if bytes.len() + piece.len() > max_bytes {
            discard(stream).await;
            return Err(too_large(max_bytes));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

fn too_slow() -> Refusal {
    let seconds = BODY_TIME.as_secs();
    Refusal::invalid("body", format!("the body must arrive within {seconds} s"))
        .with_status(408)
        .with_code("timeout")
}

/// A page of another site can send any other type without asking the browser first.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

async fn discard(mut stream: BodyDataStream) {
    let reading = async {
        let mut left = DISCARD_BYTES;
        while let Some(Ok(piece)) = stream.next().await {
            left = left.saturating_sub(piece.len());
            if left == 0 {
                return;
            }
        }
    };
    // Whether all of it came does not matter: the answer is the same.
    let _ = tokio::time::timeout(DISCARD_TIME, reading).await;
}

fn too_large(max_bytes: usize) -> Refusal {
    Refusal {
        status: 413,
        kind: RefusalKind::InvalidRequestError,
        message: format!("the body must be at most {max_bytes} bytes, got more"),
        param: None,
        code: Some("body_too_large".to_owned()),
        may_retry: false,
        retry_after: None,
    }
}

fn broken(err: &axum::Error) -> Refusal {
    Refusal::invalid("body", format!("the body could not be read: {err}")).with_code("broken_body")
}
