//! Who asks: a token's holder, or anyone on this machine while there are no tokens.
//!
//! A token is kept and compared as its digest, in a time that does not depend on where two differ.
//! Never shows or logs one. Only the two probes of a process's health are open to everyone.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use http::request::Parts;

use super::Door;
use crate::error::Refusal;

/// Who asks while there are no tokens.
const LOCAL: &str = "local";

/// Paths that need no token: whoever watches over the process has none.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Whom a request comes from. Sessions and runs belong to one.
#[derive(Clone, Debug)]
pub(super) struct Caller(pub(super) String);

/// Everyone who may ask.
pub(super) struct Callers(Vec<blake3::Hash>);

impl Callers {
    /// The holders of these tokens; anyone, when there are none.
    pub(super) fn new(tokens: &[String]) -> Callers {
        Callers(tokens.iter().map(|token| blake3::hash(token.as_bytes())).collect())
    }

    /// The caller of a request with these headers.
    fn of(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        if self.0.is_empty() {
            return Ok(Caller(LOCAL.to_owned()));
        }
        let shown = headers.get(AUTHORIZATION).map(|value| value.as_bytes());
        let Some(token) = shown.and_then(bearer) else {
            let message = "this server needs a token, expected `Authorization: Bearer …`";
            return Err(unknown(message));
        };
        let digest = blake3::hash(token);
        // Every one is looked at, and each look takes the same time.
        let found = self.0.iter().fold(false, |found, known| found | (*known == digest));
        if !found {
            return Err(unknown("this token is not known here"));
        }
        Ok(Caller(format!("token-{}", &digest.to_hex()[..16])))
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

/// As OpenAI says it.
fn unknown(message: &str) -> Refusal {
    Refusal::invalid("Authorization", message).with_status(401).with_code("invalid_api_key")
}

/// Lets a request of a known caller through, or refuses it with 401.
pub(super) async fn check(
    State(door): State<Arc<Door>>,
    mut request: Request,
    next: Next,
) -> Response {
    if OPEN.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    match door.callers.of(request.headers()) {
        Ok(caller) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Caller, Refusal> {
        // The check above put it there.
        parts.extensions.get().cloned().ok_or_else(|| unknown("nobody is known to ask"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens() {
        let callers =
            Callers::new(&["first-token-0123".to_owned(), "second-token-0123".to_owned()]);
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            if !value.is_empty() {
                headers.insert(AUTHORIZATION, value.parse().unwrap());
            }
            callers.of(&headers).map(|caller| caller.0).map_err(|refusal| refusal.status)
        };
        let first = of("Bearer first-token-0123").unwrap();
        assert_eq!(of("bearer  first-token-0123 ").as_deref(), Ok(first.as_str()));
        assert_ne!(of("Bearer second-token-0123").unwrap(), first);
        for wrong in
            ["", "Bearer", "Bearer ", "Bearer first-token-012", "first-token-0123", "Basic x"]
        {
            assert_eq!(of(wrong), Err(401), "{wrong}");
        }
        assert_eq!(Callers::new(&[]).of(&HeaderMap::new()).unwrap().0, "local");
    }
}
