//! What a plugin costs by its language: a check, compiling and taking up again, memory; beside a
//! function of this process and a process for each check, as hooks of other harnesses are.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::config::PluginConfig;
use harness::deadline::Deadline;
use harness::plugin::{Engine, Plugins, Source, Workspace};
use harness::redact::Redactor;
use harness::wit::{Call, Effects, Proposal};
use harness_jail::{Jail, PrivateDir, Shell};

use crate::served::Served;
use crate::spread::{median, ms, spread};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/0.1");

const LANGUAGES: [&str; 4] = ["rust", "c", "javascript", "python"];

const INPUT: &str = r#"{"path":"src/main.rs","content":"fn main() {}\n"}"#;

/// Prints what a check costs in each language, and beside it.
pub async fn checks() {
    let root = tempfile::tempdir().unwrap();
    let workspace = workspace(root.path());
    let state = PrivateDir::open(&root.path().join("compiled")).unwrap();
    let engine = Engine::new().unwrap().keeping_compiled(state).unwrap();
    let mut times = (0..2000).map(|_| in_this_process()).collect::<Vec<_>>();
    println!("a check, function in Rust     {}", spread(&mut times, "µs"));
    let mut rust = 0.0;
    for language in LANGUAGES {
        let bytes = std::fs::read(format!("{GOLDEN}/{language}-guard.wasm")).unwrap();
        let mut took = Vec::new();
        // Compiled the first time, and taken up from then on.
        let mut plugins = Plugins::default();
        for _ in 0..6 {
            let sources = vec![source(language, bytes.clone())];
            let started = Instant::now();
            plugins = Plugins::load(&engine, sources, &workspace).await;
            took.push(ms(started.elapsed()));
        }
        let compiled = took.remove(0);
        let guard = &plugins.guards()[0];
        let before = anonymous_kib();
        let mut times = Vec::new();
        for _ in 0..300 {
            let mut proposal = proposal();
            let started = Instant::now();
            assert!(guard.check(&mut proposal).await.is_none());
            times.push(ms(started.elapsed()) * 1000.0);
        }
        let grown = anonymous_kib() - before;
        println!("a check, {language:<12}         {}", spread(&mut times, "µs"));
        println!(
            "    {} kB; compiled and loaded in {compiled:.0} ms, taken up again in {:.2} ms; memory \
             after 300 checks {grown:+} KiB",
            bytes.len() / 1000,
            median(&mut took),
        );
        if language == "rust" {
            rust = median(&mut times);
        }
    }
    // Not what a version manager puts on the search path in its place.
    let python = ["/usr/bin/python3", "python3"].into_iter().find(|path| Path::new(path).exists());
    for (name, program, arguments) in [
        ("`sh -c`", "sh", vec!["-c", "read line; exit 0"]),
        (
            "`python3 -c`",
            python.unwrap_or("python3"),
            vec!["-c", "import json, sys; json.load(sys.stdin)"],
        ),
    ] {
        let mut times: Vec<f64> = (0..50).map(|_| hook(program, &arguments)).collect();
        let ratio = median(&mut times) / rust;
        let times = spread(&mut times, "µs");
        println!("a check, process {name:<13}{times} (×{ratio:.0} of Rust)");
    }
}

/// Prints what 100 calls of a tool that are under way take.
pub async fn live_calls() {
    let root = tempfile::tempdir().unwrap();
    let workspace = workspace(root.path());
    let engine = Engine::for_runs(200).unwrap();
    let bytes = harness_guests::guest("misbehave-tool").bytes.to_vec();
    let grants = ["workspace-write", "process", "state"].map(str::to_owned).to_vec();
    let config = PluginConfig { grants: Some(grants), ..from_file() };
    let sources = vec![Source::new("busy", config, |_| Ok(bytes))];
    let plugins = Plugins::load(&engine, sources, &workspace).await;
    // It loops until its time is over, which is after 300 ms.
    let tool = plugins.tool("loop").unwrap();
    let before = anonymous_kib();
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (tool, workspace) = (tool.clone(), workspace.clone());
            let (lines, _) = tokio::sync::mpsc::unbounded_channel();
            let deadline = Deadline::after(Duration::from_secs(60));
            let call = call("loop", "{}");
            tokio::spawn(async move { tool.run(&call, &workspace, deadline, lines).await })
        })
        .collect();
    let mut most = 0;
    while calls.iter().any(|call| !call.is_finished()) {
        most = most.max(anonymous_kib() - before);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    println!("memory of 100 live calls      {:.1} MiB", most as f64 / 1024.0);
}

/// Prints how long a server takes to be ready with 30 plugins beside its own, once they are kept.
pub async fn thirty() {
    let root = tempfile::tempdir().unwrap();
    let plugins = root.path().join("plugins");
    std::fs::create_dir(&plugins).unwrap();
    let guard = std::fs::read(format!("{GOLDEN}/rust-guard.wasm")).unwrap();
    for number in 0..30_u8 {
        // Each another component: a section of its own at the end.
        let section = [&[0, 3, 1, b'n', number][..]].concat();
        let name = plugins.join(format!("guard-{number}.wasm"));
        std::fs::write(name, [guard.clone(), section].concat()).unwrap();
    }
    std::fs::write(root.path().join("harness.toml"), "").unwrap();
    let config = root.path().join("harness.toml");
    let state = root.path().join("state");
    let (mut first, mut ready) = (0.0, Vec::new());
    for number in 0..8 {
        let served = Served::configured(&config, &state).await;
        match number {
            0 => first = ms(served.to_ready),
            _ => ready.push(ms(served.to_ready)),
        }
    }
    println!(
        "start to ready, 37 plugins    {}; {first:.0} ms the first time",
        spread(&mut ready, "ms")
    );
}

/// The same judgement without any plugin, in microseconds.
fn in_this_process() -> f64 {
    let proposal = proposal();
    let started = Instant::now();
    let input: serde_json::Value = serde_json::from_str(&proposal.call.input).unwrap();
    let path = input["path"].as_str().unwrap_or_default();
    assert!(!std::hint::black_box(path).starts_with("protected-rust/"));
    ms(started.elapsed()) * 1000.0
}

/// A process that reads the proposal and lets it pass, in microseconds.
fn hook(program: &str, arguments: &[&str]) -> f64 {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{INPUT}").unwrap();
    drop(stdin);
    assert!(child.wait().unwrap().success());
    ms(started.elapsed()) * 1000.0
}

fn source(name: &str, bytes: Vec<u8>) -> Source {
    Source::new(name, from_file(), |_| Ok(bytes))
}

/// The table of a plugin that is a file.
fn from_file() -> PluginConfig {
    PluginConfig { path: Some(PathBuf::from("/plugin.wasm")), ..PluginConfig::default() }
}

fn workspace(root: &Path) -> Arc<Workspace> {
    let redactor = Arc::new(Redactor::new(std::iter::empty()));
    Arc::new(Workspace::new(Jail::open(root, None).unwrap(), Shell::none(), redactor))
}

fn call(tool: &str, input: &str) -> Call {
    Call {
        id: "c".to_owned(),
        tool: tool.to_owned(),
        input: input.to_owned(),
        turn: 1,
        remaining_ms: 60_000,
    }
}

fn proposal() -> Proposal {
    Proposal {
        call: call("write", INPUT),
        input_digest: "d".repeat(64),
        effects: Effects::READ | Effects::WRITE,
        paths: Vec::new(),
        timeout_ms: None,
        earlier: Vec::new(),
        config: String::new(),
        extra: None,
    }
}

/// Memory of this process's own that is resident, in KiB.
fn anonymous_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
