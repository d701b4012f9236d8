//! A tool of another version of the contract: left out, and told so.

use harness::event::CallEnding;
use harness_guests::{Guest, guest};

use super::{WRITES_A_FILE, list, start, write_a_file};

pub(super) const GUEST: Guest = guest("old-contract");

#[test]
fn the_versions_of_both_are_named() {
    let (ok, out) = list(GUEST, "");
    assert!(!ok);
    let says = "DOES NOT LOAD: needs `tool` 0.0.9, this host has 0.1.0\n    \
                hint: rebuild the plugin with the contract in this host's `wit/`";
    assert!(out.contains(says), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_left_out_stops_nobody() {
    let rig = start(WRITES_A_FILE, GUEST, "").await;
    let call = write_a_file(&rig).await;
    assert_eq!(call.ending, CallEnding::Succeeded, "{call:?}");
    assert!(rig.log().contains("does not load: needs `tool` 0.0.9"), "{}", rig.log());
}
