//! Why a model gave no reply: one closed list, and who is to blame.
//!
//! Every text here is fit for a client's eyes: no host name, no key, no header. Whether an error is
//! worth another attempt is decided here and nowhere else; how long to wait is `retry`'s.

use std::time::Duration;

use super::scrub::scrub;
use super::verdict;
use crate::event::Reason;

/// Why [`Upstream::ask`](super::Upstream::ask) has no reply. The `Display` text may go to a client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The settings cannot make a client; nothing was sent.
    #[error("{what}")]
    Settings {
        /// The setting, what was expected and what came.
        what: String,
    },
    /// No connection, or it broke before an answer began.
    #[error("the upstream could not be reached: {what}")]
    Unreachable {
        /// What the connection met, without names or addresses.
        what: &'static str,
    },
    /// A timer ran out.
    #[error("the upstream took too long: {waiting}")]
    TimedOut {
        /// What was waited for.
        waiting: Wait,
    },
    /// 429.
    #[error("the upstream limits the rate of requests{}{}", asking(*retry_after), after_colon(message))]
    RateLimited {
        /// How long it asks to wait, where it said so.
        retry_after: Option<Duration>,
        /// The upstream's own words; may be empty; at most 2 KiB.
        message: String,
    },
    /// What may pass by itself: 408, 409, 425, 5xx, or the like inside a stream.
    #[error("the upstream failed with status {status}{}{}", asking(*retry_after), after_colon(message))]
    Failed {
        /// The HTTP status, or the one it stands for inside a stream.
        status: u16,
        /// How long it asks to wait, where it said so.
        retry_after: Option<Duration>,
        /// The upstream's own words; may be empty; at most 2 KiB.
        message: String,
    },
    /// The upstream said no to the request itself: sending it again cannot help.
    #[error(
        "the upstream refused the request with status {status}{}{}",
        in_brackets(code.as_deref()),
        after_colon(message)
    )]
    Refused {
        /// The HTTP status, or the one it stands for inside a stream.
        status: u16,
        /// The upstream's own words; may be empty; at most 2 KiB.
        message: String,
        /// Its word for the kind of error, where it gave one.
        code: Option<String>,
        /// The key of the request it names as wrong, where that is the client's own.
        param: Option<String>,
    },
    /// 401, 402 or 403. The body is not kept: providers quote keys in it.
    #[error("the upstream did not accept the credentials, with status {status}")]
    Credentials {
        /// The HTTP status.
        status: u16,
    },
    /// The conversation is larger than the model's window.
    #[error("the conversation does not fit the model's context window{}", after_colon(message))]
    ContextOverflow {
        /// The upstream's own words; at most 2 KiB.
        message: String,
        /// The window in tokens, where it names it.
        window: Option<u64>,
    },
    /// The answer began and made no sense, or stopped before its end.
    #[error("the upstream's answer broke off: {what}")]
    Broken {
        /// What was expected and what came.
        what: &'static str,
    },
    /// More calls than any model means.
    #[error("the upstream's reply has more than {limit} calls")]
    TooManyCalls {
        /// In one reply.
        limit: usize,
    },
    /// The reply is larger than anything a run could use.
    #[error("the upstream's reply is over the limit of {limit_bytes} bytes")]
    TooLarge {
        /// Text, reasoning and arguments together.
        limit_bytes: usize,
    },
}

/// What a timer waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The first event of the answer, connection and headers included.
    FirstEvent,
    /// The next event; comments and other signs of life do not count.
    NextEvent,
    /// The run's own deadline.
    Deadline,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Wait::FirstEvent => "its answer did not begin in time",
            Wait::NextEvent => "its answer stopped without an end",
            Wait::Deadline => "the time for this run is used up",
        })
    }
}

fn after_colon(message: &str) -> String {
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

fn in_brackets(code: Option<&str>) -> String {
    // OpenAI's word for every refusal says no more than the status.
    code.filter(|code| *code != "invalid_request_error")
        .map(|code| format!(" (`{code}`)"))
        .unwrap_or_default()
}

fn asking(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) if wait < Duration::from_secs(1) => {
            format!(" and asks to wait {} ms", wait.as_millis())
        }
        Some(wait) => format!(" and asks to wait {} s", wait.as_secs_f64().ceil()),
        None => String::new(),
    }
}

impl UpstreamError {
    /// The run's termination reason when it ends for this error.
    pub fn reason(&self) -> Reason {
        match self {
            UpstreamError::Refused { .. }
            | UpstreamError::Credentials { .. }
            | UpstreamError::ContextOverflow { .. } => Reason::UpstreamRefused,
            UpstreamError::Settings { .. }
            | UpstreamError::Unreachable { .. }
            | UpstreamError::TimedOut { .. }
            | UpstreamError::RateLimited { .. }
            | UpstreamError::Failed { .. }
            | UpstreamError::Broken { .. }
            | UpstreamError::TooManyCalls { .. }
            | UpstreamError::TooLarge { .. } => Reason::UpstreamFailed,
        }
    }

    /// True when the same request may succeed a little later.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            UpstreamError::Unreachable { .. }
            | UpstreamError::RateLimited { .. }
            | UpstreamError::Failed { .. }
            | UpstreamError::Broken { .. } => true,
            // A first event that does not come within ten minutes is a slow model, not a lost
            // packet: a second attempt would begin the same work anew.
            UpstreamError::TimedOut { waiting } => *waiting == Wait::NextEvent,
            UpstreamError::Settings { .. }
            | UpstreamError::Refused { .. }
            | UpstreamError::Credentials { .. }
            | UpstreamError::ContextOverflow { .. }
            | UpstreamError::TooManyCalls { .. }
            | UpstreamError::TooLarge { .. } => false,
        }
    }

    /// True when it is an image of the conversation that the upstream does not take, as far as its
    /// words tell; 413 because images are the largest part of a request.
    pub fn is_about_images(&self) -> bool {
        let UpstreamError::Refused { status, message, code, .. } = self else { return false };
        let says_so = |words: &str| verdict::is_about_images(words);
        *status == 413 || says_so(message) || code.as_deref().is_some_and(says_so)
    }

    /// How long the upstream asks to wait before the same request.
    pub(super) fn asked_wait(&self) -> Option<Duration> {
        match self {
            UpstreamError::RateLimited { retry_after, .. }
            | UpstreamError::Failed { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// The same with the wait that the answer's headers ask for.
    pub(super) fn asking_to_wait(mut self, wait: Option<Duration>) -> UpstreamError {
        if let UpstreamError::RateLimited { retry_after, .. }
        | UpstreamError::Failed { retry_after, .. } = &mut self
        {
            *retry_after = wait.or(*retry_after);
        }
        self
    }

    /// The same without `secrets`, and what looks like one, in the upstream's own words.
    pub(super) fn without(mut self, secrets: &[String]) -> UpstreamError {
        if let UpstreamError::RateLimited { message, .. }
        | UpstreamError::Failed { message, .. }
        | UpstreamError::Refused { message, .. }
        | UpstreamError::ContextOverflow { message, .. } = &mut self
        {
            *message = scrub(std::mem::take(message), secrets);
        }
        self
    }

    /// What the operator can do about it; none where there is nothing, or it is the client's.
    pub(super) fn to_mend(&self) -> Option<&'static str> {
        match self {
            UpstreamError::Credentials { status: 401 } => {
                Some("the upstream does not know the key: check `upstream.api_key`")
            }
            UpstreamError::Credentials { status: 402 } => {
                Some("the upstream's account has no credit left: pay there, or use another key")
            }
            UpstreamError::Credentials { .. } => Some(
                "the upstream knows the key and does not allow this: check what the key may use, \
                 and the model's name",
            ),
            UpstreamError::Refused { status: 429, .. } => {
                Some("the upstream's account has used up its quota: raise it there")
            }
            UpstreamError::Refused { status: 300..=399 | 404 | 405, .. } => {
                Some("if every request ends like this, check `upstream.base_url`")
            }
            _ => None,
        }
    }
}
