//! The example `todo`, in runs of the real server: what it keeps is there when it should be, and gone
//! when it should be gone.

use harness::event::CallEnding;
use harness_guests::{Guest, guest};

use super::{FEWER, ended, table};
use crate::rig::Rig;

pub(super) const GUEST: Guest = guest("todo");

/// Looks, sets, adds three times side by side, and looks.
const SCRIPT: &str = r#"
    [[turn]]
    calls = [{ tool = "todo", input = {} }]
    [[turn]]
    calls = [{ tool = "todo", input = { set = [{ text = "read", status = "done" }, { text = "write", status = "doing" }] } }]
    [[turn]]
    calls = [
        { tool = "todo", input = { add = ["one"] } },
        { tool = "todo", input = { add = ["two"] } },
        { tool = "todo", input = { add = ["three"] } },
    ]
    [[turn]]
    calls = [{ tool = "todo", input = { set = [{ text = "a", status = "doing" }, { text = "b", status = "doing" }] } }]
    [[turn]]
    calls = [{ tool = "todo", input = {} }]
    [[turn]]
    text = "planned"
"#;

/// A run in `directory`: what its first look showed; the rest is the same in each.
async fn first_look(rig: &Rig, directory: &std::path::Path, task: &str) -> (String, String) {
    let reply = rig.chat(&rig.body_in(directory, task)).await;
    assert_eq!((reply.status, reply.answer()), (200, "planned"), "{:#}", reply.body);
    let ended = ended(rig, &reply.run).await;
    assert_eq!(ended.len(), 7, "{ended:?}");
    assert_eq!(ended[1].text, "[x] read\n[>] write\n1 of 2 done");
    assert_eq!(ended[1].summary, "1 of 2 done");
    let refused = CallEnding::Failed { fault: "invalid-input".to_owned() };
    assert_eq!(ended[5].ending, refused, "{:?}", ended[5]);
    assert!(ended[5].text.contains("2 items are `doing`, expected at most one"), "{:?}", ended[5]);
    // In whichever order they came, none is lost.
    let mut added: Vec<&str> = ended[6].text.lines().skip(2).collect();
    added.sort_unstable();
    assert_eq!(added, ["1 of 5 done", "[ ] one", "[ ] three", "[ ] two"], "{:?}", ended[6]);
    (reply.session, ended[0].text.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_lives_as_long_as_its_session() {
    const EMPTY: &str = "the list is empty";
    let keys = "grants = [\"state\"]";
    let mut rig = Rig::start_in(SCRIPT, |root| FEWER.to_owned() + &table(root, GUEST, keys)).await;
    let here = rig.workspace();
    let (session, shown) = first_look(&rig, &here, "begin").await;
    assert_eq!(shown, EMPTY);

    rig.kill_and_restart();
    let (same, shown) = first_look(&rig, &here, "go on").await;
    assert_eq!(same, session);
    assert!(shown.starts_with("[x] read\n[>] write\n[ ] "), "{shown}");
    assert!(shown.ends_with("1 of 5 done"), "{shown}");

    let elsewhere = rig.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let (other, shown) = first_look(&rig, &elsewhere, "begin another").await;
    assert_ne!(other, session);
    assert_eq!(shown, EMPTY);

    let (status, deleted) = rig.ask("DELETE", &format!("/v1/sessions/{session}"), None).await;
    assert_eq!(status, 200, "{deleted:#}");
    let (fresh, shown) = first_look(&rig, &here, "begin anew").await;
    assert_ne!(fresh, session);
    assert_eq!(shown, EMPTY);
    let (_, shown) = first_look(&rig, &elsewhere, "go on there").await;
    assert!(shown.ends_with("1 of 5 done"), "{shown}");
    rig.assert_clean_requests();
}
