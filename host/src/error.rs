//! Errors by who hears them.
//!
//! A failure the **model** can act on is a [`Fault`] and becomes an outcome's
//! text; the loop goes on. A failure the **client** caused or must know of is a [`Refusal`] and
//! becomes an HTTP status with OpenAI's error body. A failure of the **operator's** set-up is an
//! error of the floor it came from and ends the process or the start-up, printed once at the door.

use serde::Serialize;

use crate::wit::{Fault, FaultKind};

/// Why a request got no answer, in OpenAI's terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Which HTTP status it becomes.
    pub status: u16,
    /// OpenAI's `error.type`.
    pub kind: RefusalKind,
    /// One sentence: what was expected and what came.
    pub message: String,
    /// The field of the request that was wrong.
    pub param: Option<String>,
    /// One stable word.
    pub code: Option<String>,
    /// False where sending the same again would do harm or cannot help (`x-should-retry: false`).
    pub may_retry: bool,
    /// Seconds after which to send again (`Retry-After`).
    pub retry_after: Option<u64>,
}

/// An error with its causes, for the operator's log: what `{err}` alone would leave out.
pub fn with_causes(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

/// A fault as the model reads it.
pub fn fault_text(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("error: {}\nhint: {hint}", fault.message),
        None => format!("error: {}", fault.message),
    }
}

/// The contract's word for a kind of fault.
pub fn fault_word(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::InvalidInput => "invalid-input",
        FaultKind::NotFound => "not-found",
        FaultKind::Denied => "denied",
        FaultKind::Conflict => "conflict",
        FaultKind::TooLarge => "too-large",
        FaultKind::TimedOut => "timed-out",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Unavailable => "unavailable",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Failed => "failed",
    }
}

/// OpenAI's `error.type` words that we use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// The request itself is wrong.
    InvalidRequestError,
    /// The key is good, the thing asked for is not allowed.
    PermissionError,
    /// There is no such thing.
    NotFoundError,
    /// Too many requests.
    RateLimitError,
    /// Our fault, or the upstream's.
    ServerError,
}

impl Refusal {
    /// 400: the request is wrong at `param`.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal {
            status: 400,
            kind: RefusalKind::InvalidRequestError,
            message: message.into(),
            param: Some(param.into()),
            code: None,
            may_retry: false,
            retry_after: None,
        }
    }

    /// 404: there is no such thing.
    pub fn not_found(message: impl Into<String>) -> Refusal {
        Refusal {
            status: 404,
            kind: RefusalKind::NotFoundError,
            message: message.into(),
            param: None,
            code: Some("not_found".to_owned()),
            may_retry: false,
            retry_after: None,
        }
    }

    /// 500: a fault of the harness itself.
    pub fn internal(message: impl Into<String>) -> Refusal {
        Refusal {
            status: 500,
            kind: RefusalKind::ServerError,
            message: message.into(),
            param: None,
            code: Some("internal".to_owned()),
            may_retry: false,
            retry_after: None,
        }
    }

    /// 403: understood, and not allowed.
    pub fn forbidden(message: impl Into<String>) -> Refusal {
        Refusal {
            status: 403,
            kind: RefusalKind::PermissionError,
            message: message.into(),
            param: None,
            code: Some("forbidden".to_owned()),
            may_retry: false,
            retry_after: None,
        }
    }

    /// 409: what stands in the way will not go by sending again.
    pub fn conflict(code: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal {
            status: 409,
            kind: RefusalKind::InvalidRequestError,
            message: message.into(),
            param: None,
            code: Some(code.into()),
            may_retry: false,
            retry_after: None,
        }
    }

    /// 429: no room now; the same request may be sent again after `seconds`.
    pub fn busy(message: impl Into<String>, seconds: u64) -> Refusal {
        Refusal {
            status: 429,
            kind: RefusalKind::RateLimitError,
            message: message.into(),
            param: None,
            code: Some("busy".to_owned()),
            may_retry: true,
            retry_after: Some(seconds),
        }
    }

    /// The same with another status.
    pub fn with_status(mut self, status: u16) -> Refusal {
        self.status = status;
        self
    }

    /// The same with a code.
    pub fn with_code(mut self, code: impl Into<String>) -> Refusal {
        self.code = Some(code.into());
        self
    }
}
