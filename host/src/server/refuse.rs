//! From a [`Refusal`] to a response, and the refusals that the door itself has reason for.
//!
//! The only place that makes error responses: nothing leaves the server in another shape than
//! OpenAI's envelope, with `x-should-retry: false` where sending again would do harm.

use std::any::Any;

use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

use crate::error::{Refusal, RefusalKind};
use crate::wire::response::ErrorBody;

/// Read by OpenAI's SDKs, which send again after 408, 409, 429 and 5xx unless told not to.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Characters of a path that a message repeats.
const SHOWN_CHARS: usize = 80;

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &ErrorBody::from(&self));
        let headers = response.headers_mut();
        if !self.may_retry {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if self.status == 401 {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// A response with a JSON body.
pub(super) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    let (status, bytes) = match serde_json::to_vec(value) {
        Ok(bytes) => (status, bytes),
        Err(err) => {
            tracing::error!("a response could not be written as JSON: {err}");
            (StatusCode::INTERNAL_SERVER_ERROR, Vec::new())
        }
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// 404: nothing is there.
pub(super) async fn no_route(request: Request) -> Refusal {
    let path = request.uri().path();
    let hint = if path.starts_with("/v1/") { "" } else { "; the API lies under `/v1`" };
    let message = format!("there is no route `{} {}`{hint}", request.method(), shown(path));
    Refusal::not_found(message).with_code("unknown_route")
}

/// 405: something is there, but not for this method. `Allow` is set by the router.
pub(super) async fn no_method(request: Request) -> Refusal {
    Refusal {
        status: 405,
        kind: RefusalKind::InvalidRequestError,
        message: format!("`{}` does not take `{}`", shown(request.uri().path()), request.method()),
        param: None,
        code: Some("method_not_allowed".to_owned()),
        may_retry: false,
        retry_after: None,
    }
}

/// 500: a handler panicked. What it said is for the log alone.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let said = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("nothing readable");
    tracing::error!("a handler panicked: {said}");
    Refusal::internal("the server met a fault of its own; its log says more").into_response()
}

/// A part of the request's address, short enough to be repeated.
pub(super) fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}
