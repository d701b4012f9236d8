//! Runs over HTTP: listed, followed, stopped, and what they changed.

use serde_json::{Value, json};

use crate::rig::{Rig, until};

const CHANGES: &str = r#"
    [[turn]]
    calls = [
        { tool = "write", input = { path = "new.txt", content = "one\n" } },
        { tool = "read", input = { path = "old.txt" } },
        { tool = "read", input = { path = "link.txt" } },
    ]
    [[turn]]
    calls = [
        { tool = "edit", input = { path = "old.txt", old = "two", new = "2" } },
        { tool = "edit", input = { path = "link.txt", old = "three", new = "3" } },
        { tool = "bash", input = { command = "echo made > made.txt; echo no > ignored.txt" } },
    ]
    [[turn]]
    text = "done"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_diff_tells_what_tools_changed_and_what_else_did() {
    let mut rig = Rig::start(CHANGES, "").await;
    rig.put("old.txt", "one\ntwo\nthree\n");
    rig.put(".gitignore", "ignored.txt\n");
    std::os::unix::fs::symlink("old.txt", rig.workspace().join("link.txt")).unwrap();
    let run = rig.chat(&rig.body("go")).await.run;
    let path = format!("/v1/runs/{run}/diff");
    let expected = "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+one\n\
                    --- a/old.txt\n+++ b/old.txt\n@@ -1,3 +1,3 @@\n one\n-two\n-three\n+2\n+3\n";
    let response = rig.send("GET", &path, &[], None).await;
    assert_eq!(response.headers()["content-type"], "text/x-diff; charset=utf-8");
    let text = response.text().await.unwrap();
    assert_eq!(text, format!("# also changed since the run began: made.txt\n{expected}"));
    // It goes backwards too.
    let patch = rig.root().join("patch");
    std::fs::write(&patch, &text).unwrap();
    let applied = std::process::Command::new("git")
        .args(["apply", "--check", "-R"])
        .arg(&patch)
        .current_dir(rig.workspace())
        .output()
        .unwrap();
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    // Later changes are not the run's, and a restart forgets nothing.
    rig.put("old.txt", "other\n");
    rig.kill_and_restart();
    let accept = [("accept", "application/json")];
    let text = rig.send("GET", &path, &accept, None).await.text().await.unwrap();
    let diff: Value = serde_json::from_str(&text).unwrap();
    let files = diff["files"].as_array().unwrap();
    let told: Vec<_> = files.iter().map(|file| (&file["path"], &file["status"])).collect();
    assert_eq!(
        told,
        [(&json!("new.txt"), &json!("added")), (&json!("old.txt"), &json!("modified"))]
    );
    let parts: String = files.iter().map(|file| file["diff"].as_str().unwrap()).collect();
    assert_eq!(parts, expected);
    assert_eq!(diff["also_changed"], json!(["made.txt"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_newest_first() {
    let script = "check = \"record\"\n[[turn]]\ntext = \"done\"\nrepeat = 4\n";
    let rig = Rig::start(script, "").await;
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.insert(0, rig.chat(&rig.body("go")).await);
    }
    let other = rig.chat(&json!({"messages": [{"role": "user", "content": "go"}]})).await;
    let ids = |page: &Value| -> Vec<String> {
        let runs = page["data"].as_array().unwrap().iter();
        runs.map(|run| run["id"].as_str().unwrap().to_owned()).collect()
    };
    let (_, all) = rig.json("/v1/runs").await;
    let expected: Vec<String> = [&other].into_iter().chain(&runs).map(|r| r.run.clone()).collect();
    assert_eq!(ids(&all), expected);
    assert_eq!(all["data"][0]["object"], "run");
    let (_, page) = rig.json(&format!("/v1/runs?session={}&limit=2", runs[0].session)).await;
    assert_eq!((ids(&page), &page["has_more"]), (expected[1..3].to_vec(), &json!(true)));
    let (_, page) =
        rig.json(&format!("/v1/runs?session={}&after={}", runs[0].session, expected[2])).await;
    assert_eq!((ids(&page), &page["has_more"]), (expected[3..].to_vec(), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_come_as_lines_or_as_server_sent_events() {
    let rig = Rig::start(CHANGES, "").await;
    rig.put("old.txt", "one\ntwo\nthree\n");
    let run = rig.chat(&rig.body("go")).await.run;
    let path = format!("/v1/runs/{run}/events");
    let lines = rig.send("GET", &path, &[], None).await.text().await.unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let accept = ("accept", "text/event-stream");
    let response = rig.send("GET", &path, &[accept], None).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let frames = response.text().await.unwrap();
    let expected = |after: usize| -> String {
        let frame = |(index, line): (usize, &&str)| format!("id: {}\ndata: {line}\n\n", index + 1);
        lines.iter().enumerate().skip(after).map(frame).collect()
    };
    assert_eq!(frames, expected(0));
    let later = rig.send("GET", &path, &[accept, ("last-event-id", "5")], None).await;
    assert_eq!(later.text().await.unwrap(), expected(5));
    // A browser asks the same address again; what it has already is not sent again.
    let again = format!("{path}?after=1");
    let again = rig.send("GET", &again, &[accept, ("last-event-id", "5")], None).await;
    assert_eq!(again.text().await.unwrap(), expected(5));
    let last = lines.len().to_string();
    let over = rig.send("GET", &path, &[accept, ("last-event-id", &last)], None).await;
    assert_eq!((over.status().as_u16(), over.text().await.unwrap().as_str()), (204, ""));
    let wrong = rig.send("GET", &path, &[("last-event-id", "x")], None).await;
    assert_eq!(wrong.status(), 400);
    // Past the end there is nothing, and it ends.
    let past = rig.send("GET", &format!("{path}?after=100000"), &[], None).await;
    assert_eq!(past.text().await.unwrap(), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_events_when_asked() {
    let rig = Rig::start(CHANGES, "").await;
    rig.put("old.txt", "one\ntwo\nthree\n");
    let mut body = rig.body("go");
    body["stream"] = json!(true);
    body["harness"]["stream_events"] = json!(true);
    let response = rig.post(&body).await;
    let run = response.headers()["x-harness-run"].to_str().unwrap().to_owned();
    let text = response.text().await.unwrap();
    let chunks = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: {"));
    let chunks: Vec<Value> =
        chunks.map(|json| serde_json::from_str(&format!("{{{json}")).unwrap()).collect();
    let told: Vec<&Value> =
        chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"].get("harness")).collect();
    let events = rig.events(&run).await;
    assert_eq!(told.len(), events.len());
    for (told, event) in told.iter().zip(&events) {
        assert_eq!((&told["seq"], &told["event"]), (&json!(event.seq), &json!(event.event.name())));
    }
    assert!(told[0].get("conversation").is_none());
    assert!(text.ends_with("data: [DONE]\n\n"));
    let said: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(said, "done");
    // Without a stream it is noted.
    body["stream"] = json!(false);
    body["messages"][0]["content"] = json!("once more");
    let reply = rig.chat(&body).await;
    assert!(reply.body["harness"]["notes"][0].as_str().unwrap().contains("stream_events"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_run_goes_on_without_its_client() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo ran >> count; until test -e go; do sleep 0.02; done" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "").await;
    let mut body = rig.body("go");
    body["harness"]["detach"] = json!(true);
    body["stream"] = json!(true);
    let response = rig.post(&body).await;
    let run = response.headers()["x-harness-run"].to_str().unwrap().to_owned();
    until("the command runs", || rig.workspace().join("count").exists()).await;
    drop(response);
    until("the server knows that the client left", || rig.log().contains("a connection ended"))
        .await;
    let path = format!("/v1/runs/{run}");
    assert_eq!(rig.json(&path).await.1["state"], "executing-tool");
    rig.put("go", "");
    // Sent again, it is the same run.
    let again = rig.chat_with(&[("x-stainless-retry-count", "1")], &body).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.run, run);
    let (_, summary) = rig.json(&path).await;
    assert_eq!((&summary["state"], &summary["answer"]), (&json!("completed"), &json!("done")));
    assert_eq!(rig.get("count"), "ran\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_what_is_over_or_unknown_changes_nothing() {
    let rig = Rig::start("[[turn]]\ntext = \"done\"\n", "").await;
    let run = rig.chat(&rig.body("go")).await.run;
    let (status, summary) = rig.ask("POST", &format!("/v1/runs/{run}/cancel"), None).await;
    assert_eq!((status, &summary["state"]), (200, &json!("completed")));
    for path in ["/v1/runs/run_x", "/v1/runs/run_x/events", "/v1/runs/run_x/diff"] {
        assert_eq!(rig.ask("GET", path, None).await.0, 404, "{path}");
    }
    let (status, refused) = rig.ask("POST", "/v1/runs/run_x/cancel", None).await;
    assert_eq!((status, &refused["error"]["code"]), (404, &json!("run_not_found")));
}
