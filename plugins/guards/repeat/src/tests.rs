//! Rows of calls, each with what the guard says to one more.

use super::*;
use harness_sdk::{Call, Effects};

/// A past call in short: input digest, outcome digest, and marks: `r` refused, `w` workspace
/// changed since.
fn past(short: &str) -> PastCall {
    let mut parts = short.split(' ');
    let input_digest = parts.next().unwrap().to_owned();
    let outcome_digest = parts.next().unwrap().to_owned();
    let marks = parts.next().unwrap_or("");
    PastCall {
        tool: "read".into(),
        input_head: "{}".into(),
        input_digest,
        refused: marks.contains('r'),
        succeeded: true,
        exit_code: None,
        outcome_digest,
        workspace_changed_since: marks.contains('w'),
    }
}

fn judge(tool: &str, earlier: Vec<PastCall>) -> Option<Denial> {
    Repeat::check(Proposal {
        call: Call {
            id: "c".into(),
            tool: tool.into(),
            input: "{}".into(),
            turn: 9,
            remaining_ms: 60_000,
        },
        input_digest: "a".into(),
        effects: Effects::READ,
        paths: Vec::new(),
        timeout_ms: None,
        earlier,
        config: "{}".into(),
        extra: None,
    })
}

fn check(earlier: &[&str], is_refused: bool) {
    let denial = judge("read", earlier.iter().map(|short| past(short)).collect());
    assert_eq!(denial.is_some(), is_refused, "{earlier:?}");
}

#[test]
fn the_fourth_of_a_kind_is_refused() {
    check(&[], false);
    check(&["a 1", "a 1"], false);
    check(&["a 1", "a 1", "a 1"], true);
    check(&["b 2", "a 1", "a 1", "a 1"], true);
    check(&["a 1", "a 1", "a 1", "a 0 r"], true);
    check(&["a 1", "a 0 r", "a 1", "a 1", "a 0 r", "a 0 r"], true);
    check(&["a 1", "a 1", "a 0 r"], false);
}

#[test]
fn a_difference_allows_it_again() {
    check(&["a 1", "a 1", "a 2"], false);
    check(&["a 1", "a 2", "a 2"], false);
    check(&["a 1 w", "a 1", "a 1"], false);
    check(&["a 1", "a 1", "a 1", "b 1"], false);
    check(&["a 1", "b 1", "a 1", "a 1"], false);
    // Only the last three count.
    check(&["a 2 w", "a 1", "a 1", "a 1"], true);
}

#[test]
fn another_tool_is_another_call() {
    let earlier = || ["a 1", "a 1", "a 1"].map(past).to_vec();
    assert_eq!(judge("list", earlier()), None);
    let reason = judge("read", earlier()).unwrap().reason;
    assert!(reason.starts_with("`read` was called 3 times in a row"), "{reason}");
}
