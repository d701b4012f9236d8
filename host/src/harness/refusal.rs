//! Why a run has no answer, as its client hears it.
//!
//! A status that SDKs repeat on their own is only given where repeating may help. Whether it still
//! may, once tools have run, is for `run` to say.

use crate::agent::Stop;
use crate::error::{Refusal, RefusalKind};
use crate::event::Reason;
use crate::upstream::UpstreamError;

/// Somebody stopped the run.
pub(super) fn cancelled() -> Refusal {
    Refusal::internal("the run was cancelled")
        .with_status(503)
        .with_code(Reason::Cancelled.as_str())
}

/// Another run holds the directory, and this one may not wait, or has waited too long.
pub(super) fn workspace_busy(other: &str) -> Refusal {
    let message = format!(
        "run `{other}` is at work in this workspace, or in one around or inside it, and only one \
         may be; wait for its end"
    );
    Refusal::conflict("workspace_busy", message)
}

/// The directory was not free within the run's own time.
pub(super) fn workspace_stayed_busy(seconds: u64, other: &str) -> Refusal {
    Refusal {
        message: format!(
            "the workspace was not free within this run's {seconds} s: run `{other}` is at work in it"
        ),
        ..workspace_busy(other)
    }
}

/// What a session's workspace was is not there any more.
pub(super) fn workspace_gone(session: &str, why: &str) -> Refusal {
    Refusal::invalid(
        "harness.session_id",
        format!("the workspace of session `{session}` cannot be opened: {why}"),
    )
    .with_status(409)
    .with_code("workspace_gone")
}

/// The loop stopped.
pub(super) fn refusal(stop: &Stop) -> Refusal {
    let (status, kind, may_retry) = match stop {
        Stop::Upstream(err) => match err {
            UpstreamError::Refused { status: 413, .. } | UpstreamError::ContextOverflow { .. } => {
                (400, RefusalKind::InvalidRequestError, false)
            }
            UpstreamError::Refused { status, .. } if matches!(status, 400 | 404 | 422) => {
                (*status, RefusalKind::InvalidRequestError, false)
            }
            UpstreamError::RateLimited { .. } => (429, RefusalKind::RateLimitError, true),
            UpstreamError::TimedOut { .. } => (504, RefusalKind::ServerError, true),
            UpstreamError::Credentials { .. }
            | UpstreamError::Settings { .. }
            | UpstreamError::Refused { .. }
            | UpstreamError::TooManyCalls { .. }
            | UpstreamError::TooLarge { .. } => (502, RefusalKind::ServerError, false),
            UpstreamError::Unreachable { .. }
            | UpstreamError::Failed { .. }
            | UpstreamError::Broken { .. } => (502, RefusalKind::ServerError, true),
        },
        Stop::Stuck(_) | Stop::CutTwice(_) | Stop::EmptyReply => {
            (502, RefusalKind::ServerError, false)
        }
        Stop::Ledger(_) | Stop::Audit(_) => (500, RefusalKind::ServerError, false),
    };
    let retry_after = match stop {
        Stop::Upstream(UpstreamError::RateLimited { retry_after: Some(wait), .. }) => {
            // Rounded up: who comes a moment too early is refused again.
            Some((wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1))
        }
        _ => None,
    };
    let param = match stop {
        Stop::Upstream(UpstreamError::Refused { param, .. })
            if kind == RefusalKind::InvalidRequestError =>
        {
            param.clone()
        }
        _ => None,
    };
    Refusal {
        status,
        kind,
        message: stop.to_string(),
        param,
        code: Some(stop.reason().as_str().to_owned()),
        may_retry,
        retry_after,
    }
}
