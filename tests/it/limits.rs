//! Limits and the ends of runs: each ends for its own reason, and says so.

use serde_json::json;

use crate::rig::Rig;

const ENDLESS: &str = r#"
    [[turn]]
    repeat = 5
    calls = [{ tool = "bash", input = { command = "echo {n}" } }]
    [[turn]]
    text = "three done, the rest is open"
    calls = [{ tool = "bash", input = { command = "echo never" } }]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn turns_used_up_give_a_closing_turn() {
    let rig = Rig::start(ENDLESS, "[agent]\nmax_turns = 5\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    assert_eq!((reply.reason(), reply.answer()), ("max-turns", "three done, the rest is open"));
    assert_eq!(reply.body["choices"][0]["finish_reason"], "length");
    assert_eq!(reply.body["harness"]["turns"], 6);
    let outcomes = rig.outcomes(&reply.run).await;
    assert_eq!(outcomes.len(), 6, "every call has its end: {outcomes:?}");
    assert!(outcomes[5].1.starts_with("not executed"), "a call of the closing turn: {outcomes:?}");
    rig.assert_clean_requests();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_may_only_tighten() {
    let rig = Rig::start(ENDLESS, "[agent]\nmax_turns = 5\n").await;
    let mut body = rig.body("go");
    body["harness"]["max_turns"] = json!(50);
    let reply = rig.chat(&body).await;
    assert_eq!(reply.reason(), "max-turns");
    assert_eq!(reply.body["harness"]["turns"], 6);
    let notes = reply.body["harness"]["notes"].to_string();
    assert!(notes.contains("max_turns"), "{notes}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_used_up_give_a_closing_turn() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "glob", input = { pattern = "*" } }]
        usage = { prompt = 900, completion = 200 }
        [[turn]]
        text = "nothing yet"
        usage = { prompt = 10, completion = 5, cached = 4 }
    "#;
    let rig = Rig::start(script, "[agent]\nmax_total_tokens = 1000\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.reason(), reply.answer()), ("max-tokens", "nothing yet"));
    let usage = &reply.body["usage"];
    assert_eq!((&usage["prompt_tokens"], &usage["completion_tokens"]), (&json!(910), &json!(205)));
    assert_eq!(usage["total_tokens"], 1115);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn seconds_used_up_stop_a_command_and_give_a_closing_turn() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo started; sleep 100" } }]
        [[turn]]
        text = "still thinking"
        pause_ms = 60000
        [[turn]]
        text = "it takes too long"
    "#;
    let rig = Rig::start(script, "[agent]\nmax_seconds = 6\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.reason(), reply.answer()), ("max-seconds", "it takes too long"));
    let outcomes = rig.outcomes(&reply.run).await;
    assert!(outcomes[0].1.contains("started"), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_upstream_is_not_waited_for_past_the_limit() {
    let script = "[[turn]]\ntext = \"late\"\npause_ms = 60000\n";
    let rig = Rig::start(script, "[agent]\nmax_seconds = 3\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (200, "max-seconds"), "{:#}", reply.body);
    assert!(reply.answer().contains("limit of 3 seconds"), "{}", reply.answer());
}

#[tokio::test(flavor = "multi_thread")]
async fn three_turns_of_refusals_are_stuck() {
    let script = r#"
        [[turn]]
        repeat = 9
        calls = [{ tool = "bash", input = { command = "rm -rf /" } }, { tool = "rea", input = {} }]
    "#;
    let rig = Rig::start(script, "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (502, "stuck"), "{:#}", reply.body);
    assert_eq!(reply.should_retry.as_deref(), Some("false"));
    let (_, run) = rig.json(&format!("/v1/runs/{}", reply.run)).await;
    assert_eq!((&run["turns"], &run["state"]), (&json!(3), &json!("failed")), "{run:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_reply_is_nudged_once() {
    let rig = Rig::start("[[turn]]\ntext = \"\"\nrepeat = 3\n", "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (502, "empty-reply"), "{:#}", reply.body);
    assert_eq!(rig.mock.requests().len(), 2);
    rig.assert_clean_requests();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_over_and_over_is_refused_until_something_differs() {
    let script = r#"
        [[turn]]
        repeat = 4
        calls = [{ tool = "bash", input = { command = "cat state.txt" } }]
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo changed > state.txt" } }]
        [[turn]]
        repeat = 3
        calls = [{ tool = "bash", input = { command = "cat state.txt" } }]
        [[turn]]
        repeat = 5
        calls = [{ tool = "bash", input = { command = "echo x >> log.txt" } }]
        [[turn]]
        repeat = 4
        calls = [{ tool = "read", input = { path = "state.txt" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "").await;
    rig.put("state.txt", "same\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    let refused: Vec<bool> = rig
        .outcomes(&reply.run)
        .await
        .into_iter()
        .map(|(_, text)| text.contains("guard `repeat`"))
        .collect();
    let mut expected = vec![false; 17];
    // The fourth `cat`, and the fourth `read`; a command that changes files each time passes.
    expected[3] = true;
    expected[16] = true;
    assert_eq!(refused, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn upstream_failures_are_told_apart() {
    let cases = [
        (
            "status = 400\nbody = '{\"error\":{\"message\":\"bad field\",\"code\":\"x\"}}'",
            400,
            "upstream-refused",
        ),
        (
            "status = 401\nbody = 'Incorrect API key sk-test-0123456789abcdef'",
            502,
            "upstream-refused",
        ),
        ("status = 500\nbody = 'boom'\nrepeat = 3", 502, "upstream-failed"),
        ("text = \"half\"\nfinish = \"none\"\nrepeat = 3", 502, "upstream-failed"),
    ];
    for (turn, status, reason) in cases {
        let rig = Rig::start(&format!("[[turn]]\n{turn}\n"), "").await;
        let reply = rig.chat(&rig.body("go")).await;
        assert_eq!((reply.status, reply.reason()), (status, reason), "{turn}: {:#}", reply.body);
        let text = reply.body.to_string();
        assert!(!text.contains("sk-test") && !text.contains("127.0.0.1"), "{text}");
        for field in ["message", "type", "param", "code"] {
            assert!(reply.body["error"].get(field).is_some(), "no `{field}` in {text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_run_at_a_time_in_a_workspace() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; while [ ! -e go ]; do sleep 0.05; done" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "").await;
    let body = rig.body("first");
    let first = rig.chat(&body);
    let second = async {
        crate::rig::until("the first run is at work", || rig.workspace().join("started").exists())
            .await;
        let second = rig.chat(&rig.body("second")).await;
        rig.put("go", "");
        second
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.status, first.answer()), (200, "done"));
    assert_eq!(second.status, 409, "{:#}", second.body);
    let message = second.body["error"]["message"].as_str().unwrap();
    assert!(message.contains(&first.run), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_switched_off_are_not_run_all_the_same() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "write", input = { path = "a.txt", content = "no" } }]
        [[turn]]
        text = "then I just answer"
    "#;
    let rig = Rig::start(script, "").await;
    let mut body = rig.body("go");
    body["tool_choice"] = json!("none");
    let reply = rig.chat(&body).await;
    assert_eq!((reply.status, reply.answer()), (200, "then I just answer"), "{:#}", reply.body);
    assert!(!rig.workspace().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn many_fresh_sessions_do_not_use_up_handles() {
    let rig = Rig::start("[[turn]]\ntext = \"hi\"\nrepeat = 400\n", "").await;
    let handles = || std::fs::read_dir(format!("/proc/{}/fd", rig.server.pid())).unwrap().count();
    for _ in 0..300 {
        let reply = rig.chat(&json!({"messages": [{"role": "user", "content": "go"}]})).await;
        assert_eq!(reply.status, 200, "{:#}", reply.body);
    }
    let open = handles();
    assert!(open < 256 * 2 + 100, "{open} handles are open");
    for _ in 0..50 {
        rig.chat(&json!({"messages": [{"role": "user", "content": "go"}]})).await;
    }
    assert!(handles() < open + 20, "{} after {open}", handles());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_repeats_itself_whatever_it_is_told_is_stuck() {
    // The space makes the text another than its canonical form.
    let script = r#"
        [[turn]]
        repeat = 12
        calls = [{ tool = "read", arguments = '{"path": "a.txt"}' }]
    "#;
    let rig = Rig::start(script, "").await;
    rig.put("a.txt", "same\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (502, "stuck"), "{:#}", reply.body);
    let refused = rig.outcomes(&reply.run).await;
    let refused: Vec<bool> =
        refused.iter().map(|(_, text)| text.contains("guard `repeat`")).collect();
    assert_eq!(refused, [false, false, false, true, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_call_twice_in_one_reply_is_judged_one_after_the_other() {
    let call = r#"{ tool = "read", input = { path = "a.txt" } }"#;
    let script =
        format!("[[turn]]\ncalls = [{}]\n[[turn]]\ntext = \"done\"\n", [call; 5].join(", "));
    let rig = Rig::start(&script, "").await;
    rig.put("a.txt", "same\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "done", "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    assert!(outcomes[2].1.contains("same") && outcomes[3].1.contains("guard `repeat`"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_made_anew_is_opened_anew() {
    // The second run tells the same story anew, which is no suffix of the first.
    let script = r#"
        check = "record"
        [[turn]]
        calls = [{ tool = "read", input = { path = "a.txt" } }]
        [[turn]]
        text = "first"
        [[turn]]
        calls = [{ tool = "read", input = { path = "a.txt" } }]
        [[turn]]
        text = "second"
        expect = ["new"]
    "#;
    let rig = Rig::start(script, "").await;
    rig.put("a.txt", "old\n");
    let first = rig.chat(&rig.body("go")).await;
    let workspace = rig.workspace();
    std::fs::remove_dir_all(&workspace).unwrap();
    let mut body = rig.body_in(&workspace, "go");
    let gone = rig.chat(&body).await;
    assert_eq!(
        (gone.status, gone.body["error"]["param"].as_str()),
        (400, Some("harness.workspace"))
    );
    std::fs::create_dir(&workspace).unwrap();
    rig.put("a.txt", "new\n");
    body["harness"]["session_id"] = json!(first.session);
    let second = rig.chat(&body).await;
    assert_eq!((second.status, second.answer()), (200, "second"), "{:#}", second.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_directories_are_no_workspaces() {
    let rig = Rig::start("[[turn]]\ntext = \"hi\"\n", "").await;
    for directory in
        [rig.root().to_owned(), rig.root().join("state"), "/".into(), "/nowhere".into()]
    {
        let reply = rig.chat(&rig.body_in(&directory, "go")).await;
        assert_eq!(reply.status, 400, "{}: {:#}", directory.display(), reply.body);
        assert_eq!(reply.body["error"]["param"], "harness.workspace");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_calls_in_one_reply_are_cut_off() {
    let piece = |index: usize| {
        let function = json!({"name": "read", "arguments": "{}"});
        let call = json!({"index": index, "id": format!("c{index}"), "function": function});
        let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]});
        format!("data: {chunk}\n\n")
    };
    let raw: String = (0..3_000).map(piece).collect();
    let script = format!("[[turn]]\nrepeat = 3\nraw = '''\n{raw}'''\n");
    let rig = Rig::start(&script, "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (502, "upstream-failed"), "{:#}", reply.body);
    let message = reply.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("more than 1000 calls"), "{message}");
    assert_eq!(rig.mock.requests().len(), 1, "the same again would help nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_matches_everywhere_is_told_so_at_once() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "read", input = { path = "many.txt", limit = 5 } }]
        [[turn]]
        calls = [{ tool = "edit", input = { path = "many.txt", old = "ab", new = "x" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "[agent]\nmax_seconds = 20\n").await;
    rig.put("many.txt", &"ab\n".repeat(200_000));
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "done", "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    assert!(outcomes[1].1.contains("`old` occurs 200000 times"), "{}", outcomes[1].1);
}

#[test]
fn a_profile_that_is_not_there_stops_the_server() {
    let home = tempfile::tempdir().unwrap();
    let output = crate::rig::harness()
        .args(["serve", "--addr", "127.0.0.1:0", "--profile", "nope"])
        .args(["--upstream-base-url", "http://127.0.0.1:9", "--upstream-model", "m"])
        .env("HOME", home.path())
        .output()
        .unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(err.contains("upstream.profile: there is no profile `nope`; there are:"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_for_an_upstream_is_told_as_one() {
    let rig = Rig::start("[[turn]]\nrepeat = 3\nraw = '<!doctype html><p>hi'\n", "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (502, "upstream-failed"), "{:#}", reply.body);
    let message = reply.body["error"]["message"].as_str().unwrap();
    assert!(message.contains("it is a web page"), "{message}");
}
