//! When to try again, and how long to wait before it.
//!
//! A failed attempt left nothing behind, so trying again is always safe; it is done only for what
//! may pass by itself. A date or a number of seconds that the upstream names is kept to exactly,
//! everything else grows from a base and is spread, so that many runs do not come back at once.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::error::UpstreamError;

/// Attempts in all. A provider that failed three times over some seconds will not be back in time
/// for this turn.
pub(super) const MAX_ATTEMPTS: u32 = 3;

/// Each wait is this many times the one before.
const GROWTH: u32 = 4;

/// What the upstream itself said about trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Hint {
    /// Nothing.
    #[default]
    Unsaid,
    /// Not before this much time went by.
    After(Duration),
    /// Not at all.
    Never,
}

/// A failed attempt.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: UpstreamError,
    pub(super) hint: Hint,
}

impl From<UpstreamError> for Failure {
    fn from(error: UpstreamError) -> Failure {
        Failure { error, hint: Hint::Unsaid }
    }
}

/// How long to wait after attempt number `attempt`, from 1; none when there shall be no other.
pub(super) fn wait(failure: &Failure, attempt: u32, base: Duration) -> Option<Duration> {
    if attempt >= MAX_ATTEMPTS || !failure.error.is_passing() {
        return None;
    }
    match failure.hint {
        Hint::Never => None,
        Hint::After(wait) if !wait.is_zero() => Some(wait),
        Hint::After(_) | Hint::Unsaid => Some(spread(base * GROWTH.pow(attempt - 1))),
    }
}

/// Between three and five quarters of `wait`.
fn spread(wait: Duration) -> Duration {
    // The standard library's hasher keys are the one source of chance that needs no crate.
    let chance = RandomState::new().build_hasher().finish() % 1000;
    let share = 750 + u32::try_from(chance).unwrap_or(0) / 2;
    wait * share / 1000
}

/// Reads what the headers of an answer say about trying again.
pub(super) fn hint(headers: &HeaderMap, now: SystemTime) -> Hint {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if text("x-should-retry") == Some("false") {
        return Hint::Never;
    }
    let milliseconds =
        text("retry-after-ms").and_then(|text| text.parse().ok()).map(Duration::from_millis);
    let after = milliseconds.or_else(|| {
        let text = text(RETRY_AFTER.as_str())?;
        match text.parse::<f64>() {
            Ok(seconds) => Duration::try_from_secs_f64(seconds).ok(),
            Err(_) => {
                let since_1970 = http_date(text)?;
                Some((UNIX_EPOCH + since_1970).duration_since(now).unwrap_or_default())
            }
        }
    });
    after.map_or(Hint::Unsaid, Hint::After)
}

/// Reads the one date form that servers may send, `Sun, 06 Nov 1994 08:49:37 GMT`, as time since
/// 1970.
fn http_date(text: &str) -> Option<Duration> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_weekday, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|number| number.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || !(1970..10_000).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days before the year, counting years from March, so that a leap day is a year's last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(Duration::from_secs(((days * 24 + hour) * 60 + minute) * 60 + second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let seconds = |text| http_date(text).map(|time| time.as_secs());
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(seconds("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(seconds("Thu, 29 Feb 2024 12:00:00 GMT"), Some(1_709_208_000));
        assert_eq!(seconds("Fri, 01 Mar 2024 00:00:01 GMT"), Some(1_709_251_201));
        assert_eq!(seconds("Sunday, 06-Nov-94 08:49:37 GMT"), None);
        assert_eq!(seconds("soon"), None);
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49 GMT"), None);
    }

    #[test]
    fn hints() {
        let now = UNIX_EPOCH + Duration::from_secs(784_111_770);
        let check = |pairs: &[(&'static str, &str)], expected: Hint| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, value.parse().expect("a header value"));
            }
            assert_eq!(hint(&headers, now), expected, "{pairs:?}");
        };
        check(&[], Hint::Unsaid);
        check(&[("retry-after", "3")], Hint::After(Duration::from_secs(3)));
        check(&[("retry-after", "0.5")], Hint::After(Duration::from_millis(500)));
        check(
            &[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")],
            Hint::After(Duration::from_secs(7)),
        );
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")], Hint::After(Duration::ZERO));
        check(&[("retry-after", "-1")], Hint::Unsaid);
        check(&[("retry-after", "NaN")], Hint::Unsaid);
        check(&[("retry-after", "later")], Hint::Unsaid);
        check(
            &[("retry-after", "3"), ("retry-after-ms", "1500")],
            Hint::After(Duration::from_millis(1500)),
        );
        check(&[("retry-after", "3"), ("x-should-retry", "false")], Hint::Never);
    }

    #[test]
    fn waits() {
        let base = Duration::from_millis(500);
        let failed = |hint| Failure { error: UpstreamError::Broken { what: "test" }, hint };
        let first = wait(&failed(Hint::Unsaid), 1, base).expect("a second attempt");
        assert!(
            (Duration::from_millis(375)..=Duration::from_millis(625)).contains(&first),
            "{first:?}"
        );
        let second = wait(&failed(Hint::Unsaid), 2, base).expect("a third attempt");
        assert!(
            (Duration::from_millis(1500)..=Duration::from_millis(2500)).contains(&second),
            "{second:?}"
        );
        assert_eq!(wait(&failed(Hint::Unsaid), 3, base), None);
        assert_eq!(
            wait(&failed(Hint::After(Duration::from_secs(7))), 1, base),
            Some(Duration::from_secs(7))
        );
        assert_eq!(wait(&failed(Hint::Never), 1, base), None);
        let refused = UpstreamError::Credentials { status: 401 };
        assert_eq!(wait(&refused.into(), 1, base), None);
    }
}
