//! One id and one log line for each request; one in the audit log for each that is turned away.
//!
//! Outermost, so that the id stands on every response, those of panics included. Never logs a
//! header, a query or a body.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue};

use super::Door;
use super::refuse::shown;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Names the request, lets it be answered and logs how.
pub(super) async fn request(
    State(door): State<Arc<Door>>,
    request: Request,
    next: Next,
) -> Response {
    let started = Instant::now();
    let id = format!("req_{}", uuid::Uuid::now_v7().simple());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let mut response = next.run(request).await;
    // A stream's end is not seen here: this is the time to its first byte.
    tracing::info!(
        request = %id,
        %method,
        path,
        status = response.status().as_u16(),
        elapsed_ms = started.elapsed().as_millis() as u64,
        "answered"
    );
    if let (401 | 403, Some(audit)) = (response.status().as_u16(), door.harness.audit()) {
        audit.refusal(&id, method.as_str(), &shown(&path), response.status().as_u16());
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
