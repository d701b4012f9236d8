//! An answer as the guest gets it: bounded, without cookies, without a secret.

use http::header::{HeaderMap, SET_COOKIE};
use reqwest::Response as Incoming;

use super::fault;
use super::judge::Target;
use crate::redact::Redactor;
use crate::wit::Fault;
use crate::wit::fetch::Response;

/// Bytes of a body; the rest is left unread.
const BODY_BYTES: usize = 4 << 20;

/// Read beyond that, so that a secret is found which the cap would cut in two.
const BEYOND_BYTES: usize = 64 << 10;

/// Headers of an answer, and bytes of all of them.
const HEADERS: usize = 100;
const ALL_BYTES: usize = 64 << 10;

/// The old way to set a cookie; no cookie is for a plugin to see.
const SET_COOKIE2: &str = "set-cookie2";

/// Reads the rest of an answer.
pub(super) async fn read(
    mut incoming: Incoming,
    target: &Target,
    redactor: &Redactor,
) -> Result<Response, Fault> {
    let place = &target.place;
    let status = incoming.status().as_u16();
    let headers = headers(incoming.headers(), redactor).map_err(|size| {
        fault::too_large(format!(
            "`{place}` answered with headers of {size} bytes, over the limit of {HEADERS} or \
             {ALL_BYTES} bytes"
        ))
    })?;
    let mut body = Vec::new();
    while body.len() <= BODY_BYTES + BEYOND_BYTES {
        match incoming.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => break,
            Err(_) => {
                let message = format!("`{place}` broke off in the middle of its answer");
                return Err(fault::unavailable(message));
            }
        }
    }
    let mut cut = body.len() > BODY_BYTES;
    let mut body = redactor.redact_bytes(body);
    cut |= body.len() > BODY_BYTES;
    body.truncate(BODY_BYTES);
    let url = redactor.redact(target.url.as_str()).into_owned();
    Ok(Response { status, url, headers, body, cut })
}

/// Names are in lower case as they come; what is no text is shown as far as it is.
fn headers(headers: &HeaderMap, redactor: &Redactor) -> Result<Vec<(String, String)>, usize> {
    let size = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > HEADERS || size > ALL_BYTES {
        return Err(size);
    }
    let shown = headers.iter().filter(|(name, _)| *name != SET_COOKIE && *name != SET_COOKIE2);
    let pairs = shown.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (redactor.redact(name.as_str()).into_owned(), redactor.redact(&value).into_owned())
    });
    Ok(pairs.collect())
}
