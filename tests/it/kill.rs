//! `kill -9` at any moment: nothing that was reported is lost, and the run is closed.

use harness::event::{CallEnding, Event, Reason};
use serde_json::json;

use crate::rig::{Rig, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_closes_its_run_at_the_next_start() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "write", input = { path = "a.txt", content = "kept\n" } }]
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; sleep 20" } }]
    "#;
    let mut rig = Rig::start(script, "").await;
    let body = rig.body("go");
    let workspace = rig.workspace();
    let pid = rig.server.pid().to_string();
    let killing = async {
        until("the command runs", || workspace.join("started").exists()).await;
        std::process::Command::new("kill").args(["-KILL", &pid]).status().unwrap();
    };
    let request = rig
        .client
        .post(format!("{}/v1/chat/completions", rig.server.url))
        .header("content-type", "application/json")
        .body({
            let mut body = body.clone();
            body["stream"] = json!(true);
            body.to_string()
        })
        .send();
    let (response, ()) = tokio::join!(request, killing);
    let run = response.unwrap().headers()["x-harness-run"].to_str().unwrap().to_owned();
    rig.kill_and_restart();

    let (status, summary) = rig.json(&format!("/v1/runs/{run}")).await;
    assert_eq!((status, summary["state"].as_str()), (200, Some("failed")), "{summary:#}");
    let events = rig.events(&run).await;
    let Some(Event::Ended { reason, in_flight, turns, tool_calls, .. }) =
        events.last().map(|last| &last.event)
    else {
        panic!("{events:#?}");
    };
    assert_eq!((*reason, *turns, *tool_calls), (Reason::Interrupted, 2, 2));
    assert_eq!(in_flight.len(), 1, "the command was in flight");
    let written = events.iter().any(|recorded| {
        matches!(&recorded.event, Event::CallEnded { tool, ending: CallEnding::Succeeded, .. } if tool == "write")
    });
    assert!(written, "the write that was reported to the model is on record");
    assert_eq!(rig.get("a.txt"), "kept\n");
    // The workspace is free, and the session is the same.
    let again = rig.chat(&rig.body("something else")).await;
    assert_eq!(again.session, summary["session"].as_str().unwrap());
}
