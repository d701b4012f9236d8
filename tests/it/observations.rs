//! What a session was shown, over restarts: read before, changed after, and what no longer holds.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use harness::event::{CallEnding, Event};
use harness::ledger::Observation;
use harness::plugin::Workspace;
use harness::redact::Redactor;
use harness_jail::{Basis, Jail, Replacement, Shell};

use crate::rig::Rig;

/// What became of each call of a run: the fault, or none.
async fn faults(rig: &Rig, run: &str) -> Vec<Option<String>> {
    let events = rig.events(run).await.into_iter();
    let ended = events.filter_map(|recorded| match recorded.event {
        Event::CallEnded { ending, text, .. } => Some((ending, text)),
        _ => None,
    });
    ended.map(|(ending, text)| (ending != CallEnding::Succeeded).then_some(text)).collect()
}

/// The files of a session that the ledger knows observations of.
fn kept(rig: &Rig, session: &str) -> Vec<String> {
    let ledger = rusqlite::Connection::open(rig.root().join("state/ledger.sqlite")).unwrap();
    let mut statement =
        ledger.prepare("SELECT path FROM observations WHERE session = ?1 ORDER BY path").unwrap();
    let paths = statement.query_map([session], |row| row.get(0)).unwrap();
    paths.map(Result::unwrap).collect()
}

const SCRIPT: &str = r#"
check = "record"
[[turn]]
calls = [
    { tool = "read", input = { path = "whole" } },
    { tool = "read", input = { path = "changed" } },
    { tool = "read", input = { path = "part", limit = 2 } },
    { tool = "grep", input = { pattern = "old", path = "found" } },
    { tool = "read", input = { path = "gone" } },
    { tool = "bash", input = { command = "rm gone" } },
    { tool = "write", input = { path = "made", content = "old\n" } },
]
[[turn]]
text = "read"
[[turn]]
calls = [
    { tool = "edit", input = { path = "whole", old = "old", new = "new" } },
    { tool = "edit", input = { path = "alias", old = "new", new = "newer" } },
    { tool = "write", input = { path = "alias", content = "newest\n" } },
    { tool = "edit", input = { path = "found", old = "old", new = "new" } },
    { tool = "edit", input = { path = "made", old = "old", new = "new" } },
    { tool = "edit", input = { path = "changed", old = "old", new = "new" } },
    { tool = "write", input = { path = "part", content = "x" } },
    { tool = "edit", input = { path = "unread", old = "old", new = "new" } },
    { tool = "edit", input = { path = "gone", old = "old", new = "new" } },
]
[[turn]]
text = "changed"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_before_a_kill_can_be_changed_after_it() {
    let mut rig = Rig::start(SCRIPT, "").await;
    for name in ["whole", "changed", "found", "unread", "gone"] {
        rig.put(name, "old\n");
    }
    rig.put("part", "1\n2\n3\n4\n");
    symlink("whole", rig.workspace().join("alias")).unwrap();
    let reading = rig.chat(&rig.body("go")).await;
    assert_eq!((reading.status, reading.answer()), (200, "read"), "{:#}", reading.body);
    assert_eq!(faults(&rig, &reading.run).await, vec![None; 7]);

    rig.kill_and_restart();
    rig.put("changed", "old and more\n");
    rig.put("gone", "old, but another\n");
    let changing = rig.chat(&rig.body("go")).await;
    assert_eq!(changing.answer(), "changed", "{:#}", changing.body);
    assert_eq!(changing.session, reading.session);
    let faults = faults(&rig, &changing.run).await;
    for (nth, says) in [
        None,
        None,
        None,
        None,
        None,
        Some("`changed` has changed since it was read"),
        Some("not shown were lines 3-4"),
        Some("`unread` has not been read in this session"),
        Some("`gone` has changed since it was read"),
    ]
    .into_iter()
    .enumerate()
    {
        let is_right = match (&faults[nth], says) {
            (Some(text), Some(says)) => text.contains(says),
            (text, says) => text.is_none() && says.is_none(),
        };
        assert!(is_right, "call {nth}: expected {says:?}, got {:?}", faults[nth]);
    }
    assert_eq!((rig.get("whole"), rig.get("found")), ("newest\n".into(), "new\n".into()));
    assert_eq!(rig.get("changed"), "old and more\n");
    let expected = ["changed", "found", "gone", "made", "part", "whole"];
    assert_eq!(kept(&rig, &reading.session), expected);

    // Another session of the same directory was shown nothing.
    let path = format!("/v1/sessions/{}", reading.session);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    assert_eq!(kept(&rig, &reading.session), Vec::<String>::new());
}

#[test]
fn what_was_forgotten_stays_so() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("f"), "old\n").unwrap();
    let open = |seen: Vec<Observation>| {
        let jail = Jail::open(root.path(), None).unwrap();
        let redactor = Arc::new(Redactor::new(std::iter::empty()));
        Workspace::new(jail, Shell::none(), redactor).with_seen(seen)
    };
    let edit = |workspace: &Workspace| {
        let path = workspace.jail.parse("f").unwrap();
        let replacement = Replacement { offset: 0, remove: 3, insert: b"new".to_vec() };
        workspace.jail.patch(&path, &[replacement], &Basis::Shown, &workspace.seen)
    };
    let first = open(Vec::new());
    let path = first.jail.parse("f").unwrap();
    let version = first.jail.read(&path, 0, 0).unwrap().version;
    first.jail.mark_shown(&path, &version, 1, 1, &first.seen).unwrap();
    first.seen.forget_all();
    let second = open(first.take_seen());
    let fault = edit(&second).unwrap_err();
    assert!(fault.message.contains("summarised away"), "{fault}");
    // Read again, and kept again.
    second.jail.mark_shown(&path, &version, 1, 1, &second.seen).unwrap();
    edit(&open(second.take_seen())).unwrap();
    assert_eq!(std::fs::read_to_string(root.path().join("f")).unwrap(), "new\n");
}
