//! `kill -9` at any moment: nothing that was reported is lost, and the run is closed.

use harness::event::{CallEnding, Event, Reason};
use serde_json::json;

use crate::rig::{Rig, processes_with, until};

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

/// A killed server cannot end anything; its jobs, and what commands left, end without it.
#[tokio::test(flavor = "multi_thread")]
async fn what_runs_in_the_background_ends_with_a_killed_server() {
    let script = r#"
        [[turn]]
        calls = [
            { tool = "bash", input = { command = "setsid sleep 3501 & exec sleep 3501", background = true } },
            { tool = "bash", input = { command = "setsid sleep 3502 >/dev/null 2>&1 &" } },
        ]
        [[turn]]
        text = "done"
    "#;
    let mut rig = Rig::start(script, "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    until("the job runs", || processes_with("sleep\x003501") == 2).await;
    until("what was left runs", || processes_with("sleep\x003502") == 1).await;
    rig.kill();
    until("nothing is left", || processes_with("sleep\x00350") == 0).await;
}

/// Rounds of the test below; each kills one server.
const ROUNDS: u32 = 8;

/// Turns of each round's script.
const TURNS: usize = 8;

/// Kills the server after a random one of the events it told, many times, and compares what the
/// client was told with the ledger, and the ledger with what was done.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_was_told_is_on_record_and_what_was_done_was_recorded_before() {
    let turn = r#"
        [[turn]]
        calls = [
            { tool = "bash", input = { command = "echo {n} >> ran-$ROUND" } },
            { tool = "write", input = { path = "wrote-{n}-$ROUND", content = "{n}\n" } },
        ]
    "#;
    let mut script = turn.trim_end().to_owned();
    script.push_str(&format!("\nrepeat = {TURNS}\n[[turn]]\ntext = \"done\"\n"));
    for round in 0..ROUNDS {
        let mut rig = Rig::start(&script.replace("$ROUND", &round.to_string()), "").await;
        let mut body = rig.body("go");
        body["stream"] = json!(true);
        body["harness"]["stream_events"] = json!(true);
        let mut response = rig.post(&body).await;
        let run = response.headers()["x-harness-run"].to_str().unwrap().to_owned();
        // A run has 1 + 8 * 7 + 4 events.
        let at = uuid::Uuid::new_v4().as_u128() % 60 + 1;
        let (mut text, mut told) = (String::new(), Vec::new());
        while (told.len() as u128) < at {
            let piece = response.chunk().await.unwrap().expect("the run goes on");
            text.push_str(std::str::from_utf8(&piece).unwrap());
            told = events_in(&text);
        }
        rig.kill();
        // What was under way to us counts as told.
        while let Ok(Some(piece)) = response.chunk().await {
            text.push_str(&String::from_utf8_lossy(&piece));
        }
        told = events_in(&text);
        rig.restart();

        let recorded = rig.events(&run).await;
        for (seq, name) in &told {
            let found = recorded.iter().find(|event| event.seq == *seq);
            let found = found.map(|event| event.event.name());
            assert_eq!(found, Some(name.as_str()), "killed after {at}: event {seq} was told");
        }
        let Some(Event::Ended { reason, .. }) = recorded.last().map(|last| &last.event) else {
            panic!("killed after {at}: {recorded:#?}");
        };
        assert!(matches!(reason, Reason::Interrupted | Reason::Completed), "{at}: {reason:?}");
        let begun = |wanted: &str| {
            let of =
                |event: &Event| matches!(event, Event::CallStarted { tool, .. } if tool == wanted);
            recorded.iter().filter(|recorded| of(&recorded.event)).count()
        };
        let ended = |wanted: &str| {
            let of = |event: &Event| matches!(event, Event::CallEnded { tool, ending: CallEnding::Succeeded, .. } if tool == wanted);
            recorded.iter().filter(|recorded| of(&recorded.event)).count()
        };
        let workspace = rig.workspace();
        let ran = std::fs::read_to_string(workspace.join(format!("ran-{round}")));
        let ran = ran.unwrap_or_default().lines().count();
        let wrote = (1..=TURNS).filter(|n| workspace.join(format!("wrote-{n}-{round}")).exists());
        let wrote = wrote.count();
        // Nothing was done that was not on record before, and nothing that was told as done is lost.
        assert!((ended("bash")..=begun("bash")).contains(&ran), "killed after {at}: ran {ran}");
        assert!((ended("write")..=begun("write")).contains(&wrote), "killed after {at}: {wrote}");
    }
}

/// Sequence number and name of every event in a stream.
fn events_in(text: &str) -> Vec<(u64, String)> {
    let whole = &text[..text.rfind("\n\n").map_or(0, |at| at + 2)];
    let frames = whole.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    let chunks = frames.filter_map(|json| serde_json::from_str::<serde_json::Value>(json).ok());
    let told = chunks.filter_map(|chunk| {
        let event = chunk["choices"][0]["delta"].get("harness")?.clone();
        Some((event["seq"].as_u64()?, event["event"].as_str()?.to_owned()))
    });
    told.collect()
}
