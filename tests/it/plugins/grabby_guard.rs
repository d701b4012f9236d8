//! A guard that wants a power is not loaded, whatever it was granted, and so refuses.

use harness_guests::{Guest, guest};

use super::{IS_REFUSED_A_FILE, assert_refused, list, start, write_a_file};

pub(super) const GUEST: Guest = guest("grabby-guard");

/// For the person and for the model.
const SEALED: &str =
    "a guard may import the log and nothing else, this one imports `workspace-read`";

#[test]
fn no_grant_opens_a_guard() {
    for keys in ["", "grants = [\"workspace-read\"]"] {
        let (ok, out) = list(GUEST, keys);
        assert!(!ok && out.contains(&format!("DOES NOT LOAD: {SEALED}")), "{keys}: {out}");
        let line = out.lines().find(|line| line.starts_with("mine ")).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some("guard"), "{out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_is_not_loaded_refuses_every_call() {
    let rig = start(IS_REFUSED_A_FILE, GUEST, "grants = [\"workspace-read\"]").await;
    let call = write_a_file(&rig).await;
    assert_refused(&rig, &call, "guard-broken");
    assert!(call.text.contains(SEALED), "{}", call.text);
}
