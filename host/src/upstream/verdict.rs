//! An upstream's "no" to one of our errors.
//!
//! Reads the many shapes of error bodies, takes the provider's own words out of them, and decides
//! by status, code and wording what the error is. A conversation that does not fit is told from
//! other refusals here, because only its cure is different.

use serde_json::Value;

use super::calls::cut;
use super::error::UpstreamError;

/// Longest message that is kept.
const MAX_MESSAGE_BYTES: usize = 2 << 10;

/// What providers say, in lower case, when the conversation is larger than the window.
const OVERFLOW: [&str; 19] = [
    "cannot be greater than the model's max prompt length",
    "context length exceeded",
    "context size has been exceeded",
    "context window exceeds limit",
    "context_length_exceeded",
    "exceed_context_size_error",
    "exceeded model token limit",
    "exceeds the available context size",
    "exceeds the context window",
    "exceeds the limit of",
    "exceeds the maximum number of tokens",
    "greater than the context length",
    "input is too long for requested model",
    "maximum context length",
    "maximum prompt length is",
    "model_context_window_exceeded",
    "prompt is too long",
    "reduce the length of the messages",
    "too large for model with",
];

/// Words of rate limits, whose texts otherwise look like the ones above.
const RATE: [&str; 5] = ["rate limit", "rate_limit", "per minute", "per day", "quota"];

/// Codes of an account without money: waiting does not help.
const BILLING: [&str; 3] =
    ["insufficient_quota", "billing_hard_limit_reached", "billing_not_active"];

/// What an error body said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    message: String,
    /// Its `code`, or else its `type`.
    code: Option<String>,
    /// A status named inside the body.
    status: Option<u16>,
}

/// The error that an answer with a status outside 200 to 299 stands for.
pub(super) fn of_status(status: u16, body: &[u8]) -> UpstreamError {
    let said = match serde_json::from_slice::<Value>(body) {
        Ok(value) => said(&value),
        Err(_) => Said { message: plain(body), ..Said::default() },
    };
    judge(status, said)
}

/// The error that an error object or text inside a stream stands for.
pub(super) fn of_error(error: &Value) -> UpstreamError {
    let said = said(error);
    let by_word = || {
        let code = said.code.as_deref().unwrap_or_default().to_ascii_lowercase();
        let has = |word: &str| code.contains(word);
        match () {
            () if has("overloaded") => 529,
            () if has("rate_limit") => 429,
            () if has("authentication") => 401,
            () if has("permission") => 403,
            () if has("not_found") => 404,
            () if has("invalid") || has("exceed") => 400,
            // The request was accepted, so what failed after that is the provider's.
            () => 500,
        }
    };
    let status = said.status.unwrap_or_else(by_word);
    judge(status, said)
}

fn judge(status: u16, said: Said) -> UpstreamError {
    let Said { message, code, .. } = said;
    let code_is = |words: &[&str]| code.as_deref().is_some_and(|code| words.contains(&code));
    if matches!(status, 400 | 413 | 422 | 500) && is_overflow(&message, code.as_deref()) {
        return UpstreamError::ContextOverflow { message };
    }
    match status {
        401..=403 => UpstreamError::Credentials { status },
        429 if !code_is(&BILLING) => UpstreamError::RateLimited { retry_after: None, message },
        408 | 500..=599 => UpstreamError::Failed { status, message },
        // The model wrote a call that its own server could not read; the next try is a new draw.
        400 if code_is(&["tool_use_failed"]) => {
            UpstreamError::Broken { what: "the model's tool call was not readable upstream" }
        }
        300..=399 => UpstreamError::Refused {
            status,
            message: "it answered with a redirect, which is not followed".to_owned(),
            code,
        },
        _ => UpstreamError::Refused { status, message, code },
    }
}

fn is_overflow(message: &str, code: Option<&str>) -> bool {
    let text = format!("{} {}", code.unwrap_or_default(), message).to_lowercase();
    let says_so = OVERFLOW.iter().any(|words| text.contains(words))
        || (text.contains("input token count") && text.contains("exceeds the maximum"));
    says_so && !RATE.iter().any(|words| text.contains(words))
}

/// Reads `{"error": {…}}`, `{"error": "…"}`, the inner object alone, a list around any of them, or
/// a string.
fn said(value: &Value) -> Said {
    match value {
        Value::Array(list) => list.first().map(said).unwrap_or_default(),
        Value::String(text) => Said { message: plain(text.as_bytes()), ..Said::default() },
        Value::Object(object) => {
            let inner = match object.get("error") {
                Some(error) if !error.is_null() => said(error),
                _ => Said::default(),
            };
            let number = |key: &str| object.get(key).and_then(status);
            let word =
                |key: &str| object.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
            let own = ["message", "detail"].iter().find_map(|key| word(key)).unwrap_or_default();
            // OpenRouter puts what the provider behind it said into here.
            let raw = object
                .get("metadata")
                .and_then(|metadata| metadata.get("raw"))
                .and_then(Value::as_str);
            let message = match (inner.message.is_empty(), raw) {
                (false, _) => inner.message,
                (true, Some(raw)) => plain(format!("{own}: {raw}").as_bytes()),
                (true, None) => plain(own.as_bytes()),
            };
            Said {
                message,
                code: inner
                    .code
                    .or_else(|| word("code").or_else(|| word("type")).map(str::to_owned)),
                status: inner.status.or_else(|| {
                    ["status_code", "code", "status", "http_code"]
                        .iter()
                        .find_map(|key| number(key))
                }),
            }
        }
        _ => Said::default(),
    }
}

fn status(value: &Value) -> Option<u16> {
    let number = match value {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    number
        .and_then(|number| u16::try_from(number).ok())
        .filter(|number| (400..600).contains(number))
}

/// Text as it may be shown: no control characters, no web page, not too long.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    // A proxy's error page says nothing but the proxy's name.
    if text.starts_with('<') {
        return String::new();
    }
    let mut text: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    cut(&mut text, MAX_MESSAGE_BYTES);
    text
}
