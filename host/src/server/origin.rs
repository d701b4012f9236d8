//! Who may speak to us from a browser: nobody but pages that we served ourselves.
//!
//! A page of any site can send requests to this machine, and a name of its own can be made to
//! point at it (DNS rebinding). Both show in `Host` or `Origin`, which a page cannot choose.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::header::{HOST, ORIGIN};
use http::uri::Authority;

use super::Door;
use crate::error::Refusal;

/// Lets a request through, or refuses it with 403.
pub(super) async fn check(State(door): State<Arc<Door>>, request: Request, next: Next) -> Response {
    match judge(&request, door.is_loopback) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn judge(request: &Request, is_loopback: bool) -> Result<(), Refusal> {
    let hosts: Vec<&[u8]> =
        request.headers().get_all(HOST).iter().map(|value| value.as_bytes()).collect();
    // In `GET http://name/path` the name counts, not the header.
    let named = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    if is_loopback {
        if hosts.is_empty() && named.is_none() {
            return Err(Refusal::forbidden("the request must have a `Host` header, got none"));
        }
        for host in hosts.iter().copied().chain(named) {
            if !is_loopback_authority(host) {
                return Err(Refusal::forbidden(format!(
                    "`Host` must be `localhost` or a loopback address, got `{}`",
                    host.escape_ascii()
                )));
            }
        }
    }
    let host = named.or(hosts.first().copied()).unwrap_or_default();
    for origin in request.headers().get_all(ORIGIN) {
        let origin = origin.as_bytes();
        let authority =
            origin.strip_prefix(b"http://").or_else(|| origin.strip_prefix(b"https://"));
        if !authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host)) {
            return Err(Refusal::forbidden(format!(
                "`Origin` must be absent or the host that was asked, got `{}`",
                origin.escape_ascii()
            )));
        }
    }
    Ok(())
}

/// Whether `text` is `localhost` or a loopback address, with or without a port.
fn is_loopback_authority(text: &[u8]) -> bool {
    let Ok(authority) = Authority::try_from(text) else { return false };
    let host = authority.host();
    if authority.as_str().contains('@') {
        return false;
    }
    if let Some(inner) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return inner.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback());
    }
    host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback())
}
