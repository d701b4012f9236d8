//! When to try again, and how long to wait before it.
//!
//! A failed attempt left nothing behind, so trying again is always safe; it is done only for what
//! may pass by itself. A wait that the upstream names is kept to exactly, everything else grows
//! from a base and is spread, so that many runs do not come back at once.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use super::Timers;
use super::error::UpstreamError;

/// Each wait is this many times the one before.
const GROWTH: u32 = 4;

/// No wait that we choose ourselves is longer.
const LONGEST: Duration = Duration::from_secs(30);

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: UpstreamError,
    /// The upstream said that the same request will not be served later either.
    pub(super) is_final: bool,
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Failure {
        Failure { error, is_final: false }
    }
}

/// How long to wait after attempt number `attempt`, from 1; none when there shall be no other.
pub(super) fn wait(failure: &Failure, attempt: u32, timers: &Timers) -> Option<Duration> {
    if attempt >= timers.attempts || failure.is_final || !failure.error.is_passing() {
        return None;
    }
    let asked = failure.error.asked_wait().filter(|wait| !wait.is_zero());
    Some(asked.unwrap_or_else(|| {
        let grown = timers.backoff.saturating_mul(GROWTH.saturating_pow(attempt - 1));
        spread(grown.min(LONGEST.max(timers.backoff)))
    }))
}

/// Between three and five quarters of `wait`.
fn spread(wait: Duration) -> Duration {
    // The standard library's hasher keys are the one source of chance that needs no crate.
    let chance = RandomState::new().build_hasher().finish() % 1000;
    let share = 750 + u32::try_from(chance).unwrap_or(0) / 2;
    wait * share / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn timers(attempts: u32) -> Timers {
        Timers { attempts, backoff: SECOND / 2, ..Timers::default() }
    }

    fn limited(retry_after: Option<Duration>) -> Failure {
        UpstreamError::RateLimited { retry_after, message: String::new() }.into()
    }

    #[test]
    fn waits_grow_and_are_spread() {
        for (attempt, base) in [(1, SECOND / 2), (2, 2 * SECOND), (3, 8 * SECOND), (9, LONGEST)] {
            let wait = wait(&limited(None), attempt, &timers(10)).expect("another attempt");
            assert!((base * 3 / 4..=base * 5 / 4).contains(&wait), "{attempt}: {wait:?}");
        }
    }

    #[test]
    fn the_number_of_attempts_is_the_configured_one() {
        for attempts in [1, 2, 3, 10] {
            let last = (1..=20).find(|at| wait(&limited(None), *at, &timers(attempts)).is_none());
            assert_eq!(last, Some(attempts));
        }
    }

    #[test]
    fn what_was_asked_for_is_kept_to() {
        let asked = 700 * SECOND;
        assert_eq!(wait(&limited(Some(asked)), 1, &timers(3)), Some(asked));
        let none = wait(&limited(Some(Duration::ZERO)), 1, &timers(3)).expect("another attempt");
        assert!(none >= SECOND / 4, "a wait of nothing is no answer: {none:?}");
        let never = Failure { is_final: true, ..limited(Some(asked)) };
        assert_eq!(wait(&never, 1, &timers(3)), None);
        let refused = UpstreamError::Credentials { status: 401 };
        assert_eq!(wait(&refused.into(), 1, &timers(3)), None);
    }
}
