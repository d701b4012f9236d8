//! The headers of a request: those a guest may set, its credential, and what goes on to another host.

use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, RANGE, USER_AGENT,
};

use super::fault;
use crate::servers::{Credential, is_about_connection};
use crate::wit::Fault;

/// Headers of one request, and bytes of all of them.
const HEADERS: usize = 64;
const ALL_BYTES: usize = 16 << 10;

/// What says nothing about who asks: all that another host is told.
const HARMLESS: [HeaderName; 7] =
    [ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONTENT_LANGUAGE, CONTENT_TYPE, RANGE, USER_AGENT];

/// Reads what the guest set.
pub(super) fn read(pairs: &[(String, String)]) -> Result<HeaderMap, Fault> {
    let size: usize = pairs.iter().map(|(name, value)| name.len() + value.len()).sum();
    if pairs.len() > HEADERS || size > ALL_BYTES {
        let count = pairs.len();
        return Err(fault::invalid(format!(
            "there are {count} headers of {size} bytes, over the limit of {HEADERS} or {ALL_BYTES}"
        )));
    }
    let mut headers = HeaderMap::with_capacity(pairs.len());
    for (name, value) in pairs {
        let lower = name.to_ascii_lowercase();
        if is_about_connection(&lower) {
            return Err(fault::invalid(format!("header `{lower}` is the host's to set")));
        }
        let Ok(parsed) = HeaderName::from_bytes(lower.as_bytes()) else {
            return Err(fault::invalid(format!("`{name}` cannot be the name of a header")));
        };
        let Ok(value) = HeaderValue::from_str(value) else {
            return Err(fault::invalid(format!("header `{lower}` has a character it cannot have")));
        };
        headers.append(parsed, value);
    }
    Ok(headers)
}

/// Puts a credential in, in place of what the guest set there.
pub(super) fn set_credential(
    headers: &mut HeaderMap,
    credential: &Credential,
) -> Result<(), Fault> {
    let unfit = |what| fault::failed(format!("the credential's {what} cannot stand in a header"));
    let name = HeaderName::from_bytes(credential.header.as_bytes());
    let name = name.map_err(|_| unfit("header name"))?;
    let value = HeaderValue::from_str(&credential.header_value());
    let mut value = value.map_err(|_| unfit("value"))?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// Takes out what describes a body.
pub(super) fn without_body(headers: &mut HeaderMap) {
    for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE] {
        headers.remove(name);
    }
}

/// Takes out whatever may be meant for the host before: keys come in headers of any name.
pub(super) fn for_another_host(headers: &mut HeaderMap) {
    let names: Vec<HeaderName> = headers.keys().cloned().collect();
    for name in names.into_iter().filter(|name| !HARMLESS.contains(name)) {
        headers.remove(name);
    }
}
