//! `GET /v1/openapi.json`: the description of this API, as `docs/openapi.json` has it.
//!
//! Serves the bytes that were there when the server was built, and never changes them. That they
//! and the router name the same routes is a test's to say (`server/tests/openapi.rs`).

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::CONTENT_TYPE;

const DOCUMENT: &[u8] = include_bytes!("../../../docs/openapi.json");

/// `GET /v1/openapi.json`
pub(super) async fn document() -> Response {
    let mut response = Response::new(Body::from(DOCUMENT));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
