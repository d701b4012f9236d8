//! One request, sent once, and its answer read to the end.
//!
//! Owns the timers and the socket's errors. Dropping the future closes the connection, which is
//! how a run that is cancelled stops its model. Tries nothing a second time: `Upstream::ask` does.

use std::error::Error;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::time::{Instant, timeout, timeout_at};

use super::conversation::Conversation;
use super::error::{UpstreamError, Wait};
use super::growing::Body;
use super::reading::Reading;
use super::retry::Failure;
use super::{Upstream, hint, verdict};
use crate::message::Reply;

/// How long usage may follow the finish reason; some servers never close their stream.
const AFTER_FINISH: Duration = Duration::from_secs(5);

/// How long the connection's own end may follow `[DONE]`. Read, it can be used again.
const AFTER_DONE: Duration = Duration::from_millis(50);

/// How much of an error's body is read, and for how long.
const ERROR_BODY_BYTES: usize = 64 << 10;
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// Sends `body` and reads the reply.
pub(super) async fn attempt(
    upstream: &Upstream,
    body: Body,
    conversation: &Conversation,
) -> Result<Reply, Failure> {
    let timers = &upstream.inner.timers;
    let mut until = Instant::now() + timers.first_event;
    let mut waiting = Wait::FirstEvent;
    let request = upstream
        .inner
        .client
        .post(upstream.inner.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "text/event-stream, application/json")
        .body(reqwest::Body::wrap(body));
    let mut response = match timeout_at(until, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(err)) => return Err(unreachable(&err).into()),
        Err(_) => return Err(UpstreamError::TimedOut { waiting }.into()),
    };
    if !response.status().is_success() {
        return Err(refusal(response).await);
    }
    let mut reading = Reading::new();
    loop {
        let bytes = match timeout_at(until, response.chunk()).await {
            Ok(Ok(Some(bytes))) => bytes,
            Ok(Ok(None)) => break,
            // The reply is whole already; how its stream ends is of no interest.
            Ok(Err(_)) | Err(_) if reading.has_finished() => break,
            Ok(Err(_)) => {
                return Err(UpstreamError::Broken { what: "the connection was lost" }.into());
            }
            Err(_) => return Err(UpstreamError::TimedOut { waiting }.into()),
        };
        let went_on = reading.feed(&bytes)?;
        // A stream that comes faster than it is read is never waited for: without this, neither
        // the deadline nor a cancel would be looked at until its end.
        tokio::task::consume_budget().await;
        if reading.is_done() {
            until = Instant::now() + AFTER_DONE;
        } else if went_on && reading.has_finished() {
            until = Instant::now() + AFTER_FINISH;
        } else if went_on {
            until = Instant::now() + timers.idle;
            waiting = Wait::NextEvent;
        }
    }
    Ok(reading.end(conversation.call_ids(), conversation.messages().len())?)
}

pub(super) async fn refusal(mut response: Response) -> Failure {
    let status = response.status().as_u16();
    let asked = hint::in_headers(response.headers(), SystemTime::now());
    let is_final = hint::forbids_another(response.headers());
    let mut body = Vec::new();
    // Whatever came of the body is good enough: the status alone decides most cases.
    let _ = timeout(ERROR_BODY_TIME, async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = ERROR_BODY_BYTES - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == ERROR_BODY_BYTES {
                break;
            }
        }
    })
    .await;
    Failure { error: verdict::of_status(status, &body).asking_to_wait(asked), is_final }
}

/// What went wrong before an answer began, in words without names or addresses.
pub(super) fn unreachable(err: &reqwest::Error) -> UpstreamError {
    let mut what = match () {
        () if err.is_timeout() => "the connection was not made in time",
        () if err.is_connect() => "the connection could not be made",
        () => "the connection was lost before an answer",
    };
    let mut cause: Option<&(dyn Error + 'static)> = err.source();
    while let Some(source) = cause {
        if let Some(io) = source.downcast_ref::<std::io::Error>() {
            what = match io.kind() {
                ErrorKind::ConnectionRefused => "the connection was refused",
                ErrorKind::ConnectionReset => "the connection was reset",
                ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
                    "there is no route to it"
                }
                _ => what,
            };
        }
        // These causes have no types of their own that could be looked at.
        let text = source.to_string();
        if text.contains("dns error") {
            what = "its name does not resolve";
        } else if text.contains("certificate") {
            what = "its certificate was not accepted";
        }
        cause = source.source();
    }
    UpstreamError::Unreachable { what }
}
