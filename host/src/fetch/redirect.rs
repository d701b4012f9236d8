//! Where an answer sends on to. Whether that may be asked is judged like any request.

use http::header::{HeaderMap, LOCATION};
use http::{Method, StatusCode};
use reqwest::Url;

use super::{fault, judge};
use crate::wit::Fault;

/// The URL an answer redirects to; None where the answer is the last one.
pub(super) fn next(
    status: StatusCode,
    headers: &HeaderMap,
    from: &Url,
) -> Result<Option<Url>, Fault> {
    if !matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = headers.get(LOCATION) else { return Ok(None) };
    let unread = || fault::failed("redirected to something that is no URL");
    let location = location.to_str().map_err(|_| unread())?;
    let mut url = from.join(location).map_err(|_| unread())?;
    // A long one is refused like the guest's own.
    judge::parse(url.as_str())?;
    if from.scheme() == "https" && url.scheme() == "http" {
        let host = url.host_str().unwrap_or_default();
        return Err(fault::denied(format!(
            "redirected from `https` to `http`, by which everybody on the way could read it: `{host}`"
        )));
    }
    if url.fragment().is_none() {
        url.set_fragment(from.fragment());
    }
    Ok(Some(url))
}

/// Whether the next request is a `get` without a body, whatever this one was.
pub(super) fn forgets_body(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => true,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(
        status: u16,
        from: &str,
        location: Option<&str>,
        expected: Result<Option<&str>, &str>,
    ) {
        let mut headers = HeaderMap::new();
        if let Some(location) = location {
            headers.insert(LOCATION, HeaderValue::from_bytes(location.as_bytes()).unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        match (next(status, &headers, &Url::parse(from).unwrap()), expected) {
            (Ok(url), Ok(expected)) => {
                assert_eq!(url.as_ref().map(Url::as_str), expected, "{location:?}");
            }
            (Err(fault), Err(part)) => assert!(fault.message.contains(part), "{fault:?}"),
            (got, _) => panic!("{location:?}: expected {expected:?}, got {got:?}"),
        }
    }

    #[test]
    fn where_an_answer_leads() {
        let from = "https://a.example/x/y?q#part";
        check(200, from, Some("/z"), Ok(None));
        check(304, from, Some("/z"), Ok(None));
        check(301, from, None, Ok(None));
        check(302, from, Some("/z"), Ok(Some("https://a.example/z#part")));
        check(302, from, Some("z#other"), Ok(Some("https://a.example/x/z#other")));
        check(307, from, Some("//b.example/z"), Ok(Some("https://b.example/z#part")));
        check(308, from, Some("https://b.example"), Ok(Some("https://b.example/#part")));
        check(302, from, Some("http://a.example/z"), Err("from `https` to `http`"));
        check(302, from, Some("http:z"), Err("from `https` to `http`"));
        check(302, from, Some("https://[::z]/"), Err("no URL"));
        check(302, from, Some("/\u{e4}"), Err("no URL"));
        check(302, from, Some(&format!("/{}", "z".repeat(9_000))), Err("over the limit"));
        check(302, "http://a.example/", Some("https://a.example/"), Ok(Some("https://a.example/")));
        check(302, from, Some("file:///etc/passwd"), Ok(Some("file:///etc/passwd#part")));
    }

    #[test]
    fn what_becomes_of_a_body() {
        let forgets = |status: u16, method: Method| {
            forgets_body(StatusCode::from_u16(status).unwrap(), &method)
        };
        for (status, expected) in
            [(301, true), (302, true), (303, true), (307, false), (308, false)]
        {
            assert_eq!(forgets(status, Method::POST), expected, "{status}");
        }
    }
}
