//! The first figures: what the harness itself costs, apart from any model.
//!
//! `cargo bench` prints them. A turn's time is what passes between the last byte of a scripted
//! reply and the whole receipt of the next request, so that model and upstream are outside it.
//! Prints numbers and ratios, judges nothing, and speaks to loopback alone.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark stands outside, starts the real thing and prints"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::deadline::Deadline;
use harness::mock::{self, Script, Seen};
use harness::plugin::{End, Engine, Plugins, Source, Workspace};
use harness::redact::Redactor;
use harness::wit::{Call, Effects, PastCall, Proposal};
use harness_jail::{Jail, Shell};
use serde_json::json;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        start_up().await;
        guests().await;
        turns(
            "read",
            r#"{ tool = "read", input = { path = "lines.txt", offset = {n}, limit = 150 } }"#,
        )
        .await;
        turns("bash", r#"{ tool = "bash", input = { command = "true # {n}" } }"#).await;
        bare_bash();
        side_by_side(32, 50).await;
    });
}

/// A server process with its own state, killed when dropped.
struct Server {
    child: Child,
    url: String,
    to_listening: Duration,
    root: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(base_url: &str) -> Server {
        let root = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_harness"))
            .args(["serve", "--addr", "127.0.0.1:0", "--log-level", "error"])
            .args(["--upstream-base-url", base_url, "--upstream-model", "scripted"])
            .env("HARNESS_AGENT_MAX_TURNS", "1000")
            .env("HARNESS_AGENT_MAX_TOTAL_TOKENS", "1000000000")
            .env("HARNESS_STATE_DIR", root.path().join("state"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let to_listening = started.elapsed();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        Server { child, url, to_listening, root }
    }

    fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    async fn run(&self, client: &reqwest::Client, task: &str) -> Duration {
        let workspace = self.root.path().join(task);
        std::fs::create_dir_all(&workspace).unwrap();
        // Each read shows 150 lines of it, about 2 kB, from another line on.
        let text: String = (0..1000).map(|n| format!("line {n:04}\n")).collect();
        std::fs::write(workspace.join("lines.txt"), text).unwrap();
        let body = json!({
            "messages": [{"role": "user", "content": task}],
            "harness": {"workspace": workspace},
        });
        let started = Instant::now();
        let response = client
            .post(format!("{}/v1/chat/completions", self.url))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success() && text.contains("completed"), "{status}: {text}");
        started.elapsed()
    }
}

fn client() -> reqwest::Client {
    // An error says that one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

async fn start_up() {
    let mut listening = Vec::new();
    let mut ready = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..11 {
        let started = Instant::now();
        let server = Server::start("http://127.0.0.1:9/v1");
        listening.push(ms(server.to_listening));
        let client = client();
        let url = format!("{}/readyz", server.url);
        while client.get(&url).send().await.unwrap().status() != 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        ready.push(ms(started.elapsed()));
        resident.push(server.resident_mib());
    }
    println!("start to listening        {}", spread(&mut listening, "ms"));
    println!("start to ready (compiled) {}", spread(&mut ready, "ms"));
    println!("resident, idle            {}", spread(&mut resident, "MiB"));
}

async fn turns(name: &str, call: &str) {
    let mut medians = Vec::new();
    for count in [50, 200, 400] {
        let script =
            format!("[[turn]]\nrepeat = {count}\ncalls = [{call}]\n[[turn]]\ntext = \"done\"\n");
        let mock = scripted(&script).await;
        let server = Server::start(&mock.base_url());
        let total = server.run(&client(), "task").await;
        let mut gaps = gaps(&mock.requests());
        let edge = gaps.len().min(20);
        let mean = |gaps: &[f64]| gaps.iter().sum::<f64>() / gaps.len() as f64;
        let (first, last) = (mean(&gaps[1..=edge]), mean(&gaps[gaps.len() - edge..]));
        let resident = server.resident_mib();
        let shown = spread(&mut gaps, "ms");
        medians.push(gaps[gaps.len() / 2]);
        println!(
            "{name}, {count:>3} turns           {shown}; first 20 {first:.2}, last 20 {last:.2}; \
             {:.2} s in all; {resident:.0} MiB; last request {} kB",
            total.as_secs_f64(),
            mock.requests().last().unwrap().body_bytes / 1000
        );
    }
    println!("{name}, 400 to 50            ×{:.2}", medians[2] / medians[0]);
}

/// The guard chain and one tool call by themselves, in this process.
async fn guests() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("f.txt"), "line\n".repeat(400)).unwrap();
    let redactor = Arc::new(Redactor::new(std::iter::empty()));
    let jail = Jail::open(root.path(), None).unwrap();
    let workspace = Arc::new(Workspace::new(jail, Shell::new(Vec::new(), "bench"), redactor));
    let engine = Engine::new().unwrap();
    let sources = Source::all(&BTreeMap::new(), |_| unreachable!("nothing is configured"));
    let plugins = Plugins::load(&engine, sources, &workspace).await;
    let input = r#"{"path":"f.txt"}"#.to_owned();
    let call = Call {
        id: "c".to_owned(),
        tool: "read".to_owned(),
        input: input.clone(),
        turn: 1,
        remaining_ms: 60_000,
    };
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
    for earlier in [0, 64] {
        let mut proposal = Proposal {
            call: call.clone(),
            input_digest: "d".repeat(64),
            effects: Effects::READ,
            timeout_ms: None,
            earlier: (0..earlier).map(past).collect(),
            config: String::new(),
            extra: None,
        };
        let mut times = Vec::new();
        for _ in 0..500 {
            let started = Instant::now();
            for guard in plugins.guards() {
                assert!(guard.check(&mut proposal).await.is_none());
            }
            times.push(ms(started.elapsed()) * 1000.0);
        }
        println!("three guards, {earlier:>2} past    {}", spread(&mut times, "µs"));
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
    println!("one `read` of 2 kB        {}", spread(&mut times, "µs"));
}

fn bare_bash() {
    let mut times: Vec<f64> = (0..51)
        .map(|_| {
            let started = Instant::now();
            assert!(Command::new("bash").args(["-c", "true"]).status().unwrap().success());
            ms(started.elapsed())
        })
        .collect();
    println!("bare `bash -c true`       {}", spread(&mut times, "ms"));
}

async fn side_by_side(sessions: usize, count: usize) {
    let script = format!(
        "[[turn]]\nrepeat = {count}\ncalls = [{{ tool = \"read\", input = {{ path = \"lines.txt\", \
         offset = {{n}}, limit = 150 }} }}]\n[[turn]]\ntext = \"done\"\n"
    );
    let mock = scripted(&script).await;
    let server = Server::start(&mock.base_url());
    let client = client();
    server.run(&client, "warm").await;
    let started = Instant::now();
    let tasks: Vec<String> = (0..sessions).map(|n| format!("task-{n}")).collect();
    futures_util::future::join_all(tasks.iter().map(|task| server.run(&client, task))).await;
    let seconds = started.elapsed().as_secs_f64();
    let calls = (sessions * (count + 1)) as f64;
    println!(
        "{sessions} sessions, {count} turns each  {:.0} model calls a second; {:.0} MiB",
        calls / seconds,
        server.resident_mib()
    );
}

async fn scripted(script: &str) -> mock::Running {
    // `{n}` is a string for the script's parser: offsets are quoted, and read as numbers.
    let script = script.replace("offset = {n}", "offset = \"{n}\"");
    mock::start(Script::parse(&script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// Milliseconds from the end of each answer to the receipt of the next request.
fn gaps(seen: &[Seen]) -> Vec<f64> {
    let pairs = seen.iter().zip(seen.iter().skip(1));
    pairs
        .map(|(before, after)| {
            let gap = after.received_us.saturating_sub(before.answered_us.unwrap());
            gap as f64 / 1000.0
        })
        .collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn spread(values: &mut [f64], unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share) as usize];
    format!("median {:.2} {unit}, p95 {:.2}", at(0.5), at(0.95))
}
