//! A run's events as lines: those that are there, those that come, and the end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::stage::{Stage, bare};
use crate::event::{Event, Reason};
use crate::message::Usage;

fn note(text: &str) -> Event {
    Event::Note { text: text.to_owned() }
}

fn ended() -> Event {
    Event::Ended {
        reason: Reason::Completed,
        answer: "done".to_owned(),
        error: None,
        usage: Usage::default(),
        turns: 1,
        tool_calls: 0,
        elapsed_ms: 1,
        in_flight: Vec::new(),
    }
}

fn seqs(body: &str) -> Vec<u64> {
    let line = |line: &str| serde_json::from_str::<Value>(line).expect("JSON")["seq"].as_u64();
    body.lines().map(|text| line(text).expect("a number")).collect()
}

#[tokio::test]
async fn the_events_of_a_run_that_is_over() {
    let stage = Stage::open().await;
    stage.record("run_1", note("a"));
    stage.record("run_1", ended());
    let summary = stage.send(bare("GET", "/v1/runs/run_1")).await;
    assert_eq!((summary.status, summary.json()), (200, json!({"id": "run_1", "state": "created"})));
    let answer = stage.send(bare("GET", "/v1/runs/run_1/events")).await;
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let first: Value =
        serde_json::from_str(answer.body.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first, json!({"run": "run_1", "seq": 1, "at_ms": 0, "event": "note", "text": "a"}));
    for (query, expected) in [("", vec![1, 2]), ("?after=1", vec![2]), ("?after=2", vec![])] {
        let path = format!("/v1/runs/run_1/events{query}");
        assert_eq!(seqs(&stage.send(bare("GET", &path)).await.body), expected, "{query}");
    }
}

/// More events than are read at one time, with some while the follower reads.
#[tokio::test]
async fn a_live_run_is_followed_to_its_end() {
    let stage = Stage::open().await;
    for number in 0..300 {
        stage.record("run_1", note(&number.to_string()));
    }
    let following = stage.send(bare("GET", "/v1/runs/run_1/events?after=10"));
    let running = async {
        for number in 300..320 {
            tokio::time::sleep(Duration::from_millis(3)).await;
            stage.record("run_1", note(&number.to_string()));
        }
        stage.record("run_1", ended());
    };
    let (answer, ()) = tokio::join!(following, running);
    assert_eq!(seqs(&answer.body), (11..=321).collect::<Vec<u64>>());
}

/// Each event is there as soon as it is stored, not when the next one comes.
#[tokio::test]
async fn events_are_sent_as_they_happen() {
    let stage = Stage::open().await;
    stage.record("run_1", note("first"));
    let mut socket = BufReader::new(stage.connect().await);
    let request = bare("GET", "/v1/runs/run_1/events");
    socket.write_all(request.as_bytes()).await.expect("the server reads");
    for expected in ["first", "second", "third"] {
        if expected != "first" {
            stage.record("run_1", note(expected));
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
