//! The example `tests-first`, in a run of the real server: code waits for a test that fails.

use harness::event::CallEnding;
use harness_guests::{Guest, guest};

use super::{ended, table};
use crate::rig::Rig;

pub(super) const GUEST: Guest = guest("tests-first");

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_test_comes_before_the_code() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "write", input = { path = "lib/answer", content = "42\n" } }]
        [[turn]]
        expect = ["no test has failed yet in this run"]
        calls = [{ tool = "bash", input = { command = "sh check | cat" } }]
        [[turn]]
        calls = [{ tool = "write", input = { path = "lib/answer", content = "42\n" } }]
        [[turn]]
        expect = ["without a pipe"]
        calls = [{ tool = "write", input = { path = "check", content = "grep -q 42 lib/answer\n" } }]
        [[turn]]
        calls = [{ tool = "bash", input = { command = "sh check" } }]
        [[turn]]
        calls = [{ tool = "write", input = { path = "lib/answer", content = "42\n" } }]
        [[turn]]
        calls = [{ tool = "bash", input = { command = "sh check" } }]
        [[turn]]
        calls = [{ tool = "write", input = { path = "docs/../lib/more", content = "43\n" } }]
        [[turn]]
        expect = ["the tests passed when they last ran"]
        text = "done"
    "#;
    let keys = "config = { paths = [\"lib/\"], test = [\"sh check\"] }";
    let rig = Rig::start_in(script, |root| table(root, GUEST, keys)).await;
    rig.put("docs/a.md", "");
    let reply = rig.chat(&rig.body("answer")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    rig.assert_clean_requests();
    let ended = ended(&rig, &reply.run).await;
    let refused: Vec<bool> = ended
        .iter()
        .map(|call| match &call.ending {
            CallEnding::Denied { guard, rule } => {
                assert_eq!((guard.as_str(), rule.as_str()), ("mine", "no-failing-test"));
                true
            }
            _ => false,
        })
        .collect();
    assert_eq!(refused, [true, false, true, false, false, false, false, true], "{ended:#?}");
    assert_eq!(rig.get("lib/answer"), "42\n");
    assert!(!rig.workspace().join("lib/more").exists());
}
