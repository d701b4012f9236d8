//! The ledger on real files: what is promised, and what is left after a kill.
//!
//! This file holds what the tests share: a legal walk of events, and the child process that some
//! of them start, which is this test binary again.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests look at the files, and start the process that they kill"
)]

mod children;
mod opening;
mod reading;
mod storing;

use std::path::{Path, PathBuf};

use super::*;
use crate::event::{CallEnding, Reason};
use crate::message::{Call, Finish, Message, Usage};

const SYNC: LedgerSync = LedgerSync::Normal;

/// A directory and a ledger's path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ledger.sqlite");
    (directory, path)
}

fn open(path: &Path) -> Ledger {
    Ledger::open(path, SYNC).unwrap().0
}

fn session_row(id: &str) -> SessionRow {
    SessionRow {
        id: id.to_owned(),
        caller: "me".to_owned(),
        workspace: "/projects/here".to_owned(),
        fresh: true,
        created_ms: 5,
    }
}

fn started() -> Event {
    Event::Started {
        session: "ws_1".to_owned(),
        workspace: "/projects/here".to_owned(),
        model: "some-model".to_owned(),
        profile: "openai".to_owned(),
        conversation: vec![Message::User { text: "do it".to_owned() }],
    }
}

fn note(text: &str) -> Event {
    Event::Note { text: text.to_owned() }
}

/// One turn up to the reply that proposes `ids`.
fn turn(turn: u32, ids: &[&str]) -> Vec<(u64, Event)> {
    let call = |id: &&str| Call {
        id: (*id).to_owned(),
        tool: "read".to_owned(),
        arguments: r#"{"path":"a"}"#.to_owned(),
    };
    stamped(vec![
        Event::TurnStarted { turn, closing: false },
        Event::Asked { turn, bytes: 100 },
        Event::Replied {
            turn,
            text: "so".to_owned(),
            reasoning: String::new(),
            calls: ids.iter().map(call).collect(),
            finish: Finish::ToolCalls,
            usage: Some(Usage {
                prompt_tokens: 10,
                completion_tokens: 2,
                cached_tokens: 4,
                reasoning_tokens: 1,
            }),
            elapsed_ms: 3,
        },
    ])
}

fn call_started(turn: u32, id: &str) -> Event {
    Event::CallStarted {
        turn,
        call_id: id.to_owned(),
        tool: "read".to_owned(),
        input: r#"{"path":"a"}"#.to_owned(),
        mended: Vec::new(),
    }
}

fn call_ended(turn: u32, id: &str) -> Event {
    Event::CallEnded {
        turn,
        call_id: id.to_owned(),
        tool: "read".to_owned(),
        ending: CallEnding::Succeeded,
        text: "1\tline".to_owned(),
        images: Vec::new(),
        summary: "read a".to_owned(),
        data: None,
        exit_code: None,
        elapsed_us: 40,
    }
}

fn ended() -> Event {
    Event::Ended {
        reason: Reason::Completed,
        finish: Finish::Stop,
        answer: "done".to_owned(),
        error: None,
        usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
        turns: 1,
        tool_calls: 1,
        elapsed_ms: 9,
        in_flight: Vec::new(),
    }
}

/// With times 1, 2, 3 and so on.
fn stamped(events: Vec<Event>) -> Vec<(u64, Event)> {
    (1..).zip(events).collect()
}

/// A ledger with session `ws_1` and the runs named, each at its first event.
async fn with_runs(path: &Path, runs: &[&str]) -> Ledger {
    let ledger = open(path);
    ledger.add_session(session_row("ws_1")).await.unwrap();
    for run in runs {
        assert_eq!(ledger.start_run(run, "ws_1", Mark::default(), started()).await.unwrap().seq, 1);
    }
    ledger
}
