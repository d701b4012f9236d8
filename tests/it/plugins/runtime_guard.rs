//! WASI as a guard finds it: what a runtime needs is answered the same each time, and what reaches out
//! is denied in words.

use harness_guests::{Guest, guest};

use super::{IS_REFUSED_A_FILE, assert_refused, list, start, write_a_file};

pub(super) const GUEST: Guest = guest("runtime-guard");

/// The guard asks for `what`: under which rule the call is refused, and what the reason ends with.
async fn check(what: &str, rule: &str, says: &str) {
    let rig = start(IS_REFUSED_A_FILE, GUEST, &format!("config = {{ ask = \"{what}\" }}")).await;
    let call = write_a_file(&rig).await;
    assert_refused(&rig, &call, rule);
    assert!(call.text.contains(&format!(": {says}")), "`{what}`: no `{says}` in {}", call.text);
}

#[test]
fn a_component_with_a_runtime_is_listed_as_one() {
    let (ok, out) = list(GUEST, "");
    assert!(ok && out.contains("may use: sink only; wasi: inert"), "{out}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_is_answered_the_same_each_time() {
    check("surroundings", "told", "[] [] None").await;
    // No hour has passed, and the clock has moved.
    check("wait", "told", "waited 1 ms").await;
    check("chance", "told", "[252, 119, 238, 159] 17190982551059886533").await;
    check("give-back", "told", "held 100000").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_out_is_denied_by_name() {
    let denied = async |what: &str, function: &str, instead: &str| {
        check(what, "guard-broken", &format!("denied: `wasi:{function}`: {instead}")).await;
    };
    let files = "a tool reaches files by `workspace-read` and `workspace-write`";
    denied("files", "filesystem/types#remove-everything", files).await;
    let network = "sockets/instance-network#instance-network";
    denied("network", network, "a tool reaches servers by `fetch`").await;
    denied("moon", "moon/phase#is-full", "this host has nothing behind it").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_wants_too_much_or_leaves_has_broken() {
    let rows = [
        ("greed", "denied: more than 1048576 random bytes at once"),
        ("hoard", "denied: more than 1000 streams and pollables at once"),
        ("exit-well", "it exited, reporting success, before it had answered"),
        ("exit-badly", "it exited, reporting a failure"),
    ];
    for (what, says) in rows {
        check(what, "guard-broken", says).await;
    }
}
