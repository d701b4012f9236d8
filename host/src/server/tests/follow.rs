//! A run's events as lines: those that are there, those that come, and the end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::stage::{Stage, bare};
use crate::event::{Event, Reason};
use crate::ledger::{Mark, SessionRow};
use crate::message::{Finish, Usage};

fn note(text: &str) -> Event {
    Event::Note { text: text.to_owned() }
}

fn ended() -> Event {
    Event::Ended {
        reason: Reason::Completed,
        finish: Finish::Stop,
        answer: "done".to_owned(),
        error: None,
        usage: Usage::default(),
        turns: 1,
        tool_calls: 0,
        elapsed_ms: 1,
        in_flight: Vec::new(),
    }
}

/// A run that nobody drives: what happens in it is stored by hand.
async fn begin(stage: &Stage) {
    let ledger = stage.harness.ledger();
    let session = SessionRow {
        id: "ws_1".to_owned(),
        caller: "local".to_owned(),
        workspace: "/w".to_owned(),
        fresh: false,
        created_ms: 0,
    };
    ledger.add_session(session).await.expect("stored");
    let started = Event::Started {
        session: "ws_1".to_owned(),
        workspace: "/w".to_owned(),
        model: "m".to_owned(),
        profile: "p".to_owned(),
        conversation: Vec::new(),
    };
    ledger.start_run("run_1", "ws_1", Mark::default(), started).await.expect("stored");
}

async fn record(stage: &Stage, event: Event) {
    stage.harness.ledger().append("run_1", vec![(7, event)]).await.expect("stored");
}

fn seqs(body: &str) -> Vec<u64> {
    let line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_u64();
    body.lines().map(|text| line(text).expect("a number")).collect()
}

#[tokio::test]
async fn the_events_of_a_run_that_is_over() {
    let stage = Stage::open().await;
    begin(&stage).await;
    record(&stage, note("a")).await;
    record(&stage, ended()).await;
    let summary = stage.send(bare("GET", "/v1/runs/run_1")).await;
    let told = summary.json();
    assert_eq!(
        (summary.status, &told["id"], &told["state"]),
        (200, &json!("run_1"), &json!("completed"))
    );
    assert_eq!((&told["reason"], &told["answer"]), (&json!("completed"), &json!("done")));
    let answer = stage.send(bare("GET", "/v1/runs/run_1/events")).await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let second: Value =
        serde_json::from_str(answer.body.lines().nth(1).expect("a line")).expect("JSON");
    let expected = json!({"run": "run_1", "seq": 2, "at_ms": 7, "event": "note", "text": "a"});
    assert_eq!(second, expected);
    for (query, expected) in [("", vec![1, 2, 3]), ("?after=2", vec![3]), ("?after=3", vec![])] {
        let path = format!("/v1/runs/run_1/events{query}");
        assert_eq!(seqs(&stage.send(bare("GET", &path)).await.body), expected, "{query}");
    }
}

/// More events than are read at one time, with some while the follower reads.
#[tokio::test]
async fn a_live_run_is_followed_to_its_end() {
    let stage = Stage::open().await;
    begin(&stage).await;
    for number in 0..300 {
        record(&stage, note(&number.to_string())).await;
    }
    let following = stage.send(bare("GET", "/v1/runs/run_1/events?after=10"));
    let running = async {
        for number in 300..320 {
            tokio::time::sleep(Duration::from_millis(3)).await;
            record(&stage, note(&number.to_string())).await;
        }
        record(&stage, ended()).await;
    };
    let (answer, ()) = tokio::join!(following, running);
    assert_eq!(seqs(&answer.body), (11..=322).collect::<Vec<u64>>());
}

/// Each event is there as soon as it is stored, not when the next one comes.
#[tokio::test]
async fn events_are_sent_as_they_happen() {
    let stage = Stage::open().await;
    begin(&stage).await;
    record(&stage, note("first")).await;
    let mut socket = BufReader::new(stage.connect().await);
    let request = bare("GET", "/v1/runs/run_1/events");
    socket.write_all(request.as_bytes()).await.expect("the server reads");
    for expected in ["first", "second", "third"] {
        if expected != "first" {
            record(&stage, note(expected)).await;
        }
        let mut line = String::new();
        while !line.contains(expected) {
            line.clear();
            let reading = socket.read_line(&mut line);
            let count = tokio::time::timeout(Duration::from_secs(5), reading).await;
            assert!(count.expect("in time").expect("the server writes") > 0, "{expected}");
        }
    }
}
