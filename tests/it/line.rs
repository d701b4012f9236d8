//! The line: one chat completion runs the whole loop, with every tool and every kind of trouble.

use std::fmt::Write as _;

use harness::event::{CallEnding, Event};
use serde_json::json;

use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn one_request_reads_edits_and_answers() {
    let script = r#"
        [[turn]]
        text = "Let me look."
        calls = [{ tool = "read", input = { path = "a.txt" } }]
        [[turn]]
        calls = [{ tool = "edit", input = { path = "a.txt", old = "two", new = "2" } }]
        expect = ["two"]
        [[turn]]
        text = "Done: two is 2."
    "#;
    let rig = Rig::start(script, "").await;
    rig.put("a.txt", "one\ntwo\nthree\n");
    let reply = rig.chat(&rig.body("make two a digit")).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    assert_eq!(reply.answer(), "Done: two is 2.");
    assert_eq!(rig.get("a.txt"), "one\n2\nthree\n");
    let harness = &reply.body["harness"];
    assert_eq!(harness["turns"], 3);
    assert_eq!(harness["tool_calls"], 2);
    assert_eq!(harness["termination_reason"], "completed");
    assert_eq!(harness["notes"], json!([]));
    assert_eq!(harness["session_id"], reply.session.as_str());
    assert_eq!(harness["run_id"], reply.run.as_str());
    assert_eq!(harness["workspace"], rig.workspace().to_str().unwrap());
    rig.assert_clean_requests();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_by_id_and_by_directory() {
    let script = "[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two\"\n[[turn]]\ntext = \"three\"\n";
    let rig = Rig::start(script, "").await;
    let first = rig.chat(&rig.body("go")).await;
    let again = rig.chat(&rig.body("go")).await;
    assert_eq!(first.session, again.session);
    assert_ne!(first.run, again.run);
    let mut by_id = rig.body("go");
    by_id["harness"] = json!({"session_id": first.session});
    let third = rig.chat(&by_id).await;
    assert_eq!((third.status, third.session.as_str()), (200, first.session.as_str()));
    assert_eq!(third.answer(), "three");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_names_nothing_gets_a_fresh_workspace() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "write", input = { path = "new.txt", content = "hello\n" } }]
        [[turn]]
        text = "written"
    "#;
    let rig = Rig::start(script, "").await;
    let reply = rig.chat(&json!({"messages": [{"role": "user", "content": "write"}]})).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    let workspace = reply.body["harness"]["workspace"].as_str().unwrap();
    let written = std::fs::read_to_string(format!("{workspace}/new.txt")).unwrap();
    assert_eq!(written, "hello\n");
    assert!(workspace.contains(&reply.session), "{workspace}");
}

/// A model that does everything wrong that can be done wrong, sixty turns long.
#[tokio::test(flavor = "multi_thread")]
async fn sixty_turns_with_every_tool_and_every_trouble_end_well() {
    let mut script = String::new();
    let mut turn = |calls: &str| writeln!(script, "[[turn]]\ncalls = [{calls}]").unwrap();
    // 1 to 6: every tool.
    turn(r#"{ tool = "glob", input = { pattern = "**/*.txt" } }"#);
    turn(r#"{ tool = "grep", input = { pattern = "line 7" } }"#);
    turn(r#"{ tool = "read", input = { path = "long.txt", limit = 20 } }"#);
    turn(r#"{ tool = "write", input = { path = "new/deep.txt", content = "fresh\n" } }"#);
    turn(
        r#"{ tool = "edit", input = { path = "long.txt", old = "line 7\n", new = "line seven\n" } }"#,
    );
    turn(r#"{ tool = "bash", input = { command = "wc -l long.txt && exit 3" } }"#);
    // 7: several at once, the readers side by side, in order.
    turn(
        r#"{ tool = "read", input = { path = "new/deep.txt" } },
           { tool = "grep", input = { pattern = "seven", mode = "count" } },
           { tool = "bash", input = { command = "printf parallel" } },
           { tool = "read", input = { path = "missing.txt" } }"#,
    );
    // 8 to 13: arguments that are wrong in every way.
    turn(r#"{ tool = "read", arguments = "12345" }"#);
    turn(r#"{ tool = "read", arguments = "{\"path\": \"lo" }"#);
    turn(
        r#"{ tool = "bash", arguments = "[\"ls\"]" }, { tool = "glob", input = { pattern = "*" } }"#,
    );
    turn(r#"{ tool = "edit", input = { path = "long.txt" } }"#);
    turn(r#"{ tool = "read", input = { path = "long.txt", limit = "2" } }"#);
    turn(r#"{ tool = "read_file", input = { path = "long.txt" } }"#);
    // 14 to 17: refused by guards and by the jail.
    turn(
        r#"{ tool = "bash", input = { command = "cd / && rm -rf /" } }, { tool = "glob", input = { pattern = "*" } }"#,
    );
    turn(r#"{ tool = "read", input = { path = "../../etc/passwd" } }"#);
    turn(r#"{ tool = "write", input = { path = "long.txt", content = "all gone" } }"#);
    turn(r#"{ tool = "bash", input = { command = "true", timeout = 600 } }"#);
    // 18: a command that is cut off at its own time-out.
    turn(r#"{ tool = "bash", input = { command = "echo before; sleep 60", timeout = 1 } }"#);
    // 19: an edit that does not match.
    turn(r#"{ tool = "edit", input = { path = "long.txt", old = "line  8", new = "x" } }"#);
    // 20: the output limit cuts the reply inside its call.
    writeln!(
        script,
        "[[turn]]\nfinish = \"length\"\ncalls = [{{ tool = \"write\", arguments = \"{{\\\"path\\\": \\\"cut.txt\\\", \\\"content\\\": \\\"half\" }}]"
    )
    .unwrap();
    // 21: nothing at all, once.
    writeln!(script, "[[turn]]\ntext = \"\"").unwrap();
    // 22: an upstream that fails in passing (not a turn of its own), then goes on.
    writeln!(
        script,
        "[[turn]]\nstatus = 503\nbody = \"busy\"\nheaders = {{ retry-after = \"0\" }}"
    )
    .unwrap();
    // 22 to 59: work that goes on; 60: the answer.
    writeln!(
        script,
        "[[turn]]\nrepeat = 38\ncalls = [{{ tool = \"bash\", input = {{ command = \"echo step {{n}} >> steps.txt\" }} }}]"
    )
    .unwrap();
    writeln!(script, "[[turn]]\ntext = \"all done\"").unwrap();

    let rig = Rig::start(&script, "[agent]\nmax_turns = 70\nmax_seconds = 120\n").await;
    let lines: String = (1..=40).map(|n| format!("line {n}\n")).collect();
    rig.put("long.txt", &lines);
    let reply = rig.chat(&rig.body("do it all")).await;
    assert_eq!((reply.status, reply.answer()), (200, "all done"), "{:#}", reply.body);
    assert_eq!(reply.body["harness"]["turns"], 60);
    rig.assert_clean_requests();

    let events = rig.events(&reply.run).await;
    let ended: Vec<_> = events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::CallEnded { turn, tool, ending, text, exit_code, .. } => {
                Some((*turn, tool.as_str(), ending, text.as_str(), *exit_code))
            }
            _ => None,
        })
        .collect();
    let check = |turn: u32, at: usize, is_ending: fn(&CallEnding) -> bool, fragment: &str| {
        let of_turn: Vec<_> = ended.iter().filter(|call| call.0 == turn).collect();
        let (_, tool, ending, text, _) = of_turn[at];
        assert!(is_ending(ending), "turn {turn} `{tool}` ended as {ending:?}: {text}");
        assert!(text.contains(fragment), "turn {turn} `{tool}`: no `{fragment}` in {text}");
    };
    let succeeded = |ending: &CallEnding| *ending == CallEnding::Succeeded;
    let failed = |ending: &CallEnding| matches!(ending, CallEnding::Failed { .. });
    let invalid = |ending: &CallEnding| *ending == CallEnding::Invalid;
    let denied = |ending: &CallEnding| matches!(ending, CallEnding::Denied { .. });
    let not_run = |ending: &CallEnding| *ending == CallEnding::NotRun;
    check(1, 0, succeeded, "long.txt");
    check(2, 0, succeeded, "line 7");
    check(3, 0, succeeded, "line 20");
    check(4, 0, succeeded, "new/deep.txt");
    check(5, 0, succeeded, "line seven");
    check(6, 0, succeeded, "exit code 3");
    check(7, 0, succeeded, "fresh");
    check(7, 1, succeeded, "1");
    check(7, 2, succeeded, "parallel");
    check(7, 3, failed, "missing.txt");
    check(8, 0, invalid, "got number");
    check(9, 0, invalid, "not valid JSON");
    check(10, 0, invalid, "got array");
    check(11, 0, invalid, "old");
    check(12, 0, succeeded, "line 2");
    check(13, 0, invalid, "did you mean `read`");
    check(14, 0, denied, "denylist");
    check(14, 1, succeeded, "long.txt");
    check(15, 0, failed, "above the root");
    check(16, 0, failed, "long.txt");
    check(17, 0, denied, "deadline");
    check(18, 0, succeeded, "before");
    check(19, 0, failed, "line");
    check(20, 0, not_run, "smaller parts");
    assert_eq!(rig.get("steps.txt").lines().count(), 38);
    assert!(!rig.workspace().join("cut.txt").exists());
    assert!(rig.get("long.txt").starts_with("line 1\n"));
    assert_eq!(ended.iter().filter(|call| call.0 == 6).map(|call| call.4).next(), Some(Some(3)));
    // Every proposed call has exactly one end, and every outcome went back in order.
    assert_eq!(reply.body["harness"]["tool_calls"], ended.len());
    let retried = events.iter().filter(|r| matches!(r.event, Event::Retried { .. })).count();
    assert_eq!(retried, 1);
}
