//! A guard that breaks: the call is refused, the model is told which guard and why.

use harness_guests::{Guest, guest};

use super::{IS_REFUSED_A_FILE, WRITES_A_FILE, assert_refused, start, write_a_file};

pub(super) const GUEST: Guest = guest("misbehave-guard");

/// The guard does `what`: the call is refused under `rule`, in words that hold one of `says`. What
/// the model read.
async fn check(what: &str, rule: &str, says: &[&str]) -> String {
    let rig = start(IS_REFUSED_A_FILE, GUEST, &format!("config = {{ do = \"{what}\" }}")).await;
    let call = write_a_file(&rig).await;
    assert_refused(&rig, &call, rule);
    assert!(says.iter().any(|says| call.text.contains(says)), "`{what}`: {}", call.text);
    assert_eq!(call.summary, format!("refused by mine: {rule}"));
    call.text
}

/// The guard itself fails: that is said, and what a person must do.
async fn check_broken(what: &str, says: &[&str]) {
    let text = check(what, "guard-broken", says).await;
    let blames = "the guard `mine` itself failed, and a guard that fails refuses: ";
    let hint = "\nhint: tell the user that guard `mine` must be mended or disabled";
    assert!(text.contains(blames) && text.ends_with(hint), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_panics_refuses_in_its_own_words() {
    check_broken("panic", &["the guard was told to panic"]).await;
    check_broken("panic-after-flood", &["the last words after a flood"]).await;
    check_broken("dance", &["`dance` is nothing this guard can do"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_takes_too_much_refuses() {
    // Fuel ends a loop; where the machine is busy, the clock may come first.
    check_broken("loop", &["it used up its budget of 500 million", "it was stopped after"]).await;
    check_broken("memory", &["it needed more than 64 MiB of memory"]).await;
    check_broken("recurse", &["it ran out of stack"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_denies_under_its_own_rule_and_not_at_any_length() {
    check("deny", "no-calls", &["this guard denies; answer without a call"]).await;
    let text = check("huge-reason", "huge", &["long long"]).await;
    assert!(text.len() < 5 << 10, "the model reads {} bytes of a reason", text.len());
    check("huge-rule", &"r".repeat(64), &["the rule's name is long"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_has_no_objection_is_not_heard_of() {
    for what in ["pass", "log-flood"] {
        let rig = start(WRITES_A_FILE, GUEST, &format!("config = {{ do = \"{what}\" }}")).await;
        let call = write_a_file(&rig).await;
        assert_eq!(call.ending, harness::event::CallEnding::Succeeded, "`{what}`: {call:?}");
        assert_eq!(rig.get("made.txt"), "made\n");
        let logged = rig.log().matches("flood line").count();
        assert_eq!(logged, if what == "log-flood" { 1_000 } else { 0 });
    }
}
