//! How long the upstream itself asks to wait, in whatever place and spelling.
//!
//! Headers, fields of an error body and, last, the words of its message. Reads durations and dates;
//! what is to become of a wait, `retry` decides. Nothing here fails: what cannot be read was not
//! said.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The wait that the headers of a refusal ask for.
pub(super) fn in_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let milliseconds = text(headers, "retry-after-ms").and_then(|text| text.parse::<f64>().ok());
    let milliseconds = milliseconds.and_then(|number| seconds(number / 1e3));
    milliseconds
        .or_else(|| {
            let text = text(headers, RETRY_AFTER.as_str())?;
            duration(text).or_else(|| {
                let at = httpdate::parse_http_date(text).ok()?;
                Some(at.duration_since(now).unwrap_or_default())
            })
        })
        .or_else(|| used_up(headers))
}

/// True when the headers say that the same request will not be served later either.
pub(super) fn forbids_another(headers: &HeaderMap) -> bool {
    text(headers, "x-should-retry") == Some("false")
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// Until the limits come back of which nothing is left. A limit that still has something left did
/// not cause the refusal, and its reset may be a day away.
fn used_up(headers: &HeaderMap) -> Option<Duration> {
    let reset = |what: &str| {
        let is_used_up = text(headers, &format!("x-ratelimit-remaining-{what}")) == Some("0");
        let reset = text(headers, &format!("x-ratelimit-reset-{what}"));
        reset.filter(|_| is_used_up).and_then(duration)
    };
    ["requests", "tokens"].into_iter().filter_map(reset).max()
}

/// The wait that an error object asks for: Google's `RetryInfo` and `quotaResetDelay`, and plain
/// `retry_after` fields.
pub(super) fn in_body(error: &Value) -> Option<Duration> {
    let field = |name: &str| match error.get(name)? {
        Value::Number(number) => number.as_f64().and_then(seconds),
        Value::String(text) => duration(text),
        _ => None,
    };
    let details = error.get("details").and_then(Value::as_array).into_iter().flatten();
    let delays = details.filter_map(|detail| {
        let delay = detail.get("retryDelay");
        let delay = delay.or_else(|| detail.get("metadata")?.get("quotaResetDelay"));
        duration(delay?.as_str()?)
    });
    delays.max().or_else(|| field("retry_after")).or_else(|| field("retryDelay"))
}

/// The wait that the words of a message ask for.
pub(super) fn in_words(message: &str) -> Option<Duration> {
    const BEFORE: [&str; 4] = ["try again in ", "reset after ", "retry in ", "retry after "];
    let message = message.to_ascii_lowercase();
    BEFORE.iter().find_map(|words| {
        let rest = &message[message.find(words)? + words.len()..];
        let is_part = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '.';
        let told: String = rest.chars().take_while(is_part).collect();
        let told = told.trim_end_matches('.');
        // A number alone has its unit as the next word.
        let unit = rest[told.len()..].trim_start();
        let unit = unit.split(|letter: char| !letter.is_ascii_alphabetic()).next()?;
        let Ok(number) = told.parse::<f64>() else { return duration(told) };
        match unit {
            "ms" | "milliseconds" => seconds(number / 1e3),
            "s" | "sec" | "second" | "seconds" => seconds(number),
            "m" | "min" | "minute" | "minutes" => seconds(number * 60.0),
            "h" | "hour" | "hours" => seconds(number * 3_600.0),
            _ => None,
        }
    })
}

/// `3`, `0.5`, `6s`, `373.8ms`, `1m30.5s`, `1h0m0s`.
fn duration(text: &str) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        return seconds(number);
    }
    let mut rest = text.trim();
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| letter.is_ascii_alphabetic())?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let scale = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum = sum.checked_add(seconds(number.parse::<f64>().ok()? * scale)?)?;
        rest = tail;
    }
    (!text.trim().is_empty()).then_some(sum)
}

/// None for what is no span of time.
fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use serde_json::json;

    use super::*;

    fn milliseconds(wait: Option<Duration>) -> Option<u128> {
        wait.map(|wait| wait.as_millis())
    }

    #[test]
    fn headers() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_770);
        let check = |pairs: &[(&'static str, &str)], expected: Option<u128>| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().expect("a header value"));
            }
            assert_eq!(milliseconds(in_headers(&headers, now)), expected, "{pairs:?}");
        };
        check(&[], None);
        check(&[("retry-after", "3")], Some(3_000));
        check(&[("retry-after", "0.5")], Some(500));
        check(&[("retry-after", "1m30s")], Some(90_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(7_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Some(0));
        // A recipient must take the old forms too.
        check(&[("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT")], Some(7_000));
        check(&[("retry-after", "Sun Nov  6 08:49:37 1994")], Some(7_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 99999999999999999999:49:37 GMT")], None);
        check(&[("retry-after", "-1")], None);
        check(&[("retry-after", "NaN")], None);
        check(&[("retry-after", "1e300")], None);
        check(&[("retry-after", "later")], None);
        check(&[("retry-after", "3"), ("retry-after-ms", "1500")], Some(1_500));
        check(&[("retry-after", "3"), ("retry-after-ms", "soon")], Some(3_000));
        let limits = |requests: &'static str, tokens: &'static str| {
            [
                ("x-ratelimit-remaining-requests", requests),
                ("x-ratelimit-reset-requests", "8m38.4s"),
                ("x-ratelimit-remaining-tokens", tokens),
                ("x-ratelimit-reset-tokens", "1.57s"),
            ]
        };
        check(&limits("99", "0"), Some(1_570));
        check(&limits("0", "0"), Some(518_400));
        check(&limits("99", "5"), None);
    }

    #[test]
    fn bodies() {
        let check = |body: Value, expected: Option<u128>| {
            assert_eq!(milliseconds(in_body(&body)), expected, "{body}");
        };
        check(json!({"message": "x"}), None);
        check(json!({"details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}), Some(34_500));
        check(json!({"details": [{"metadata": {"quotaResetDelay": "373.801628ms"}}]}), Some(373));
        check(json!({"details": [{"metadata": {}}, 7, {"retryDelay": "soon"}]}), None);
        check(json!({"retry_after": 2}), Some(2_000));
        check(json!("text"), None);
    }

    #[test]
    fn words() {
        let check = |message: &str, expected: Option<u128>| {
            assert_eq!(milliseconds(in_words(message)), expected, "{message}");
        };
        check("Rate limit reached. Please try again in 1.57s. Visit us", Some(1_570));
        check("Please try again in 7m12.5s.", Some(432_500));
        check("Please try again in 6ms.", Some(6));
        check("Your quota will reset after 12s.", Some(12_000));
        check("Retry after 3 seconds.", Some(3_000));
        check("try again in 2 minutes", Some(120_000));
        check("try again in 20 ms", Some(20));
        check("try again in a moment", None);
        check("try again in 5", None);
        check("try again in 5 days", None);
        check("slow down", None);
    }
}
