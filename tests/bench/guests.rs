//! The guard chain and one tool call by themselves, in this process.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::deadline::Deadline;
use harness::plugin::{End, Engine, Plugins, Source, Workspace};
use harness::redact::Redactor;
use harness::wit::{Call, Effects, PastCall, Proposal};
use harness_jail::{Jail, Shell};

use crate::spread::{ms, spread};

/// Prints what a guard chain and a call cost.
pub async fn figures() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("f.txt"), "line\n".repeat(400)).unwrap();
    let redactor = Arc::new(Redactor::new(std::iter::empty()));
    let jail = Jail::open(root.path(), None).unwrap();
    let workspace = Arc::new(Workspace::new(jail, Shell::none(), redactor));
    let engine = Engine::new().unwrap();
    let sources = Source::all(&BTreeMap::new(), |_| unreachable!("nothing is configured"));
    let plugins = Plugins::load(&engine, sources, &workspace).await;
    let call = Call {
        id: "c".to_owned(),
        tool: "read".to_owned(),
        input: r#"{"path":"f.txt"}"#.to_owned(),
        turn: 1,
        remaining_ms: 60_000,
    };
    for earlier in [0, 64] {
        let mut times = Vec::new();
        for _ in 0..500 {
            let mut proposal = proposal(&call, earlier);
            let started = Instant::now();
            for guard in plugins.guards() {
                assert!(guard.check(&mut proposal).await.is_none());
            }
            times.push(ms(started.elapsed()) * 1000.0);
        }
        println!("three guards, {earlier:>2} past calls   {}", spread(&mut times, "µs"));
    }
    let tool = plugins.tool("read").unwrap();
    let mut times = Vec::new();
    for _ in 0..500 {
        let (lines, _) = tokio::sync::mpsc::unbounded_channel();
        let deadline = Deadline::after(Duration::from_secs(60));
        let (call, tool, workspace) = (call.clone(), tool.clone(), workspace.clone());
        let started = Instant::now();
        let ran =
            tokio::spawn(async move { tool.run(&call, &workspace, deadline, lines).await }).await;
        times.push(ms(started.elapsed()) * 1000.0);
        assert!(matches!(ran.unwrap().end, End::Outcome(_)));
    }
    println!("one `read` of 2 kB            {}", spread(&mut times, "µs"));
}

fn proposal(call: &Call, earlier: usize) -> Proposal {
    let past = |n: usize| PastCall {
        tool: "read".to_owned(),
        input_head: "x".repeat(250),
        input_digest: format!("{n:064}"),
        refused: false,
        succeeded: true,
        exit_code: None,
        outcome_digest: format!("{n:064}"),
        workspace_changed_since: true,
    };
    Proposal {
        call: call.clone(),
        input_digest: "d".repeat(64),
        effects: Effects::READ,
        paths: Vec::new(),
        timeout_ms: None,
        earlier: (0..earlier).map(past).collect(),
        config: String::new(),
        extra: None,
    }
}
