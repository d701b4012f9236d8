//! The guard `deadline`: refuses what the run has no time left for.
//!
//! A call that names a time-out longer than what is left, and any call in the last two seconds.
//! It never shortens a call and never judges what it does; a call that names no time-out is
//! bounded by the host.

use harness_sdk::{Denial, Guard, Proposal, export_guard};

/// Less than this is too little for a call and an answer.
const LAST_MS: u32 = 2_000;
/// What a call that is told how much to ask for should leave for the answer.
const RESERVE_MS: u32 = 1_000;

/// The component.
pub struct Deadline;

export_guard!(Deadline);

impl Guard for Deadline {
    fn check(proposal: Proposal) -> Option<Denial> {
        judge(proposal.call.remaining_ms, proposal.timeout_ms)
    }
}

fn judge(left: u32, asked: Option<u32>) -> Option<Denial> {
    if left < LAST_MS {
        return Some(Denial::new(
            "no-time-left",
            format!(
                "{} s of the run are left, too little for a call: answer now with what you have",
                seconds(left)
            ),
        ));
    }
    let asked = asked.filter(|asked| *asked > left)?;
    let most = (left - RESERVE_MS) / 1_000;
    Some(Denial::new(
        "longer-than-left",
        format!(
            "the call asks for {} s and {} s of the run are left: ask for at most {most} s, or \
             answer with what you have",
            seconds(asked),
            seconds(left)
        ),
    ))
}

/// Seconds with one digit after the point, cut, so that nothing sounds longer than it is.
fn seconds(milliseconds: u32) -> String {
    format!("{}.{}", milliseconds / 1_000, milliseconds % 1_000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_left_and_time_asked() {
        let check = |left, asked, rule: Option<&str>| {
            let denial = judge(left, asked);
            assert_eq!(denial.as_ref().map(|denial| denial.rule.as_str()), rule, "{denial:?}");
        };
        check(60_000, None, None);
        check(60_000, Some(60_000), None);
        check(60_000, Some(60_001), Some("longer-than-left"));
        check(2_000, None, None);
        check(1_999, None, Some("no-time-left"));
        check(0, Some(5), Some("no-time-left"));
    }

    #[test]
    fn the_reason_says_how_much_is_left() {
        assert_eq!(
            judge(42_570, Some(300_000)).unwrap().reason,
            "the call asks for 300.0 s and 42.5 s of the run are left: ask for at most 41 s, or \
             answer with what you have"
        );
        assert_eq!(
            judge(1_990, None).unwrap().reason,
            "1.9 s of the run are left, too little for a call: answer now with what you have"
        );
    }
}
