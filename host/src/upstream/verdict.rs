//! An upstream's "no" to one of our errors.
//!
//! Reads the many shapes of error bodies, takes the provider's own words out of them, and decides
//! by status, code and wording what the error is. A conversation that does not fit is told from
//! other refusals here, because only its cure is different.

use std::time::Duration;

use serde_json::Value;

use super::calls::cut;
use super::chunk::count;
use super::error::UpstreamError;
use super::{hint, scrub, window};

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

/// What providers say, in lower case, when it is an image that they do not take. A server that knows
/// no parts at all wants a text as content.
const IMAGE: [&str; 6] =
    ["image", "vision", "multimodal", "multi-modal", "must be a string", "be a valid string"];

/// Codes of an account without money: waiting does not help.
const BILLING: [&str; 4] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
];

/// The same in words, in lower case. Some providers use them for limits by the minute as well;
/// those say how long to wait.
const MONEY: [&str; 5] = [
    "check your plan and billing",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credit",
    "out of credits",
];

/// Longest code and name of a key that is kept.
const MAX_WORD_BYTES: usize = 64;

/// What stands for a page of HTML.
const WEB_PAGE: &str = "a web page came instead of an API's error";

/// What an error body said.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    message: String,
    /// Its `code`, or else its `type`.
    code: Option<String>,
    /// The key of the request that is wrong.
    param: Option<String>,
    /// A status named inside the body.
    status: Option<u16>,
    /// How long it asks to wait.
    wait: Option<Duration>,
    /// The window in tokens, in a field of its own.
    window: Option<u64>,
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
    let Said { message, code, param, wait, window, .. } = said;
    let code_is = |words: &[&str]| code.as_deref().is_some_and(|code| words.contains(&code));
    if matches!(status, 400 | 413 | 422 | 500) && is_overflow(&message, code.as_deref()) {
        let window = window.or_else(|| window::in_words(&message));
        return UpstreamError::ContextOverflow { message, window };
    }
    let retry_after = wait.or_else(|| hint::in_words(&message));
    let is_unpaid = || {
        let text = message.to_lowercase();
        code_is(&BILLING)
            || (retry_after.is_none() && MONEY.iter().any(|words| text.contains(words)))
    };
    match status {
        // llama.cpp without a projector: the same request fails the same way again.
        500 if is_about_images(&message) && message.contains("support") => {
            UpstreamError::Refused { status, message, code, param }
        }
        401..=403 => UpstreamError::Credentials { status },
        429 if !is_unpaid() => UpstreamError::RateLimited { retry_after, message },
        408 | 409 | 425 | 500..=599 => UpstreamError::Failed { status, retry_after, message },
        // The model wrote a call that its own server could not read; the next try is a new draw.
        400 if code_is(&["tool_use_failed"]) => {
            UpstreamError::Broken { what: "the model's tool call was not readable upstream" }
        }
        300..=399 => UpstreamError::Refused {
            status,
            message: "it answered with a redirect, which is not followed".to_owned(),
            code,
            param: None,
        },
        _ => UpstreamError::Refused { status, message, code, param },
    }
}

/// True for the words of a provider that does not take an image. Other requests are refused in
/// such words too, so this means something only where images were sent.
pub(super) fn is_about_images(message: &str) -> bool {
    let text = message.to_lowercase();
    IMAGE.iter().any(|words| text.contains(words))
}

fn is_overflow(message: &str, code: Option<&str>) -> bool {
    let text = format!("{} {}", code.unwrap_or_default(), message).to_lowercase();
    // An image over a limit of its own is refused in the same words.
    if text.contains("image") && !text.contains("token") && !text.contains("context") {
        return false;
    }
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
            // FastAPI lists what it does not like about a request.
            let faults = object.get("detail").filter(|detail| detail.is_array());
            let inner = match object.get("error").or(faults) {
                Some(error) if !error.is_null() => said(error),
                _ => Said::default(),
            };
            let number = |key: &str| object.get(key).and_then(status);
            let word =
                |key: &str| object.get(key).and_then(Value::as_str).filter(|word| !word.is_empty());
            let own =
                ["message", "detail", "msg"].iter().find_map(|key| word(key)).unwrap_or_default();
            // OpenRouter puts what the provider behind it said into here, as JSON in a text.
            let raw = object
                .get("metadata")
                .and_then(|metadata| metadata.get("raw"))
                .and_then(Value::as_str);
            let behind = raw.and_then(|raw| serde_json::from_str(raw).ok());
            let behind = behind.map(|behind| said(&behind)).unwrap_or_default();
            let told = match raw {
                Some(_) if !behind.message.is_empty() => Some(behind.message.as_str()),
                raw => raw,
            };
            let message = match (inner.message.is_empty(), told) {
                (false, _) => inner.message,
                (true, Some(told)) => plain(format!("{own}: {told}").as_bytes()),
                (true, None) => plain(own.as_bytes()),
            };
            let code = word("code").or_else(|| word("type")).filter(|code| is_word(code));
            let param = word("param").filter(|param| is_word(param));
            Said {
                message,
                code: inner.code.or(behind.code).or_else(|| code.map(str::to_owned)),
                param: inner.param.or_else(|| param.map(str::to_owned)),
                status: inner.status.or_else(|| {
                    ["status_code", "code", "status", "http_code"]
                        .iter()
                        .find_map(|key| number(key))
                }),
                wait: inner.wait.or(behind.wait).or_else(|| hint::in_body(value)),
                window: inner.window.or_else(|| count(object.get("n_ctx")?)),
            }
        }
        _ => Said::default(),
    }
}

/// True for a plain name; anything else is not worth repeating.
fn is_word(text: &str) -> bool {
    let is_of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.[]".contains(&byte);
    text.len() <= MAX_WORD_BYTES && text.bytes().all(is_of_word) && !scrub::is_key(text)
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

/// Text as it may be shown: no control characters, not too long.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim();
    // A proxy's error page says nothing but the proxy's name.
    if text.starts_with('<') {
        return WEB_PAGE.to_owned();
    }
    let mut text: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    cut(&mut text, MAX_MESSAGE_BYTES);
    text
}
