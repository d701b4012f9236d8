//! The figures: what the harness itself costs, apart from any model.
//!
//! `cargo bench` prints them, all in one run; words after `--` choose among [`PARTS`]. A turn's
//! time is what passes between the last byte of a scripted reply and the whole receipt of the next
//! request, so that model and upstream are outside it. Prints numbers and ratios, judges nothing,
//! and speaks to loopback alone. `FIGURES_BINARY` names another server binary, to compare with.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    reason = "a benchmark stands outside, starts the real thing and prints"
)]

mod guests;
mod languages;
mod served;
mod spread;

use std::process::Command;
use std::time::Instant;

use harness::mock::Seen;

use served::{Served, scripted};
use spread::{mean, median, ms, spread};

/// What can be measured.
const PARTS: [&str; 7] = ["start", "guests", "plugins", "read", "bash", "sessions", "crowd"];

/// 150 lines, 2 kB, from another line on each time.
const READ: &str =
    r#"{ tool = "read", input = { path = "lines.txt", offset = "{n}", limit = 150 } }"#;

/// Another command each time.
const BASH: &str = r#"{ tool = "bash", input = { command = "true # {n}" } }"#;

fn main() {
    let mut chosen: Vec<String> = std::env::args().skip(1).collect();
    chosen.retain(|word| PARTS.contains(&word.as_str()));
    let is_chosen = |part: &str| chosen.is_empty() || chosen.iter().any(|word| word == part);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        if is_chosen("start") {
            start_up().await;
        }
        if is_chosen("guests") {
            guests::figures().await;
        }
        if is_chosen("plugins") {
            languages::checks().await;
            languages::live_calls().await;
            languages::thirty().await;
        }
        if is_chosen("read") {
            turns("read", READ).await;
        }
        if is_chosen("bash") {
            let turn = turns("bash", BASH).await;
            let bare = bare_bash();
            println!("bash: a turn over a bare one  {:.2} ms, ×{:.2}", turn - bare, turn / bare);
            for posture in ["full", "partial", "none"] {
                bash_behind(posture, bare).await;
            }
        }
        if is_chosen("sessions") {
            open_sessions(100).await;
            at_once("sessions", 32, 10).await;
        }
        if is_chosen("crowd") {
            at_once("runs", 500, 10).await;
        }
    });
}

async fn start_up() {
    let (mut listening, mut ready) = (Vec::new(), Vec::new());
    let (mut resident, mut anonymous) = (Vec::new(), Vec::new());
    for _ in 0..11 {
        let served = Served::start("http://127.0.0.1:9/v1").await;
        listening.push(ms(served.to_listening));
        ready.push(ms(served.to_ready));
        resident.push(served.resident_mib());
        anonymous.push(served.anonymous_mib());
    }
    println!("start to listening            {}", spread(&mut listening, "ms"));
    println!("start to ready, compiled      {}", spread(&mut ready, "ms"));
    println!("resident, idle                {}", spread(&mut resident, "MiB"));
    println!("of it not the binary's pages  {}", spread(&mut anonymous, "MiB"));
}

/// Runs of 50, 200 and 400 turns; gives the median of the shortest, in milliseconds.
async fn turns(name: &str, call: &str) -> f64 {
    let mut medians = Vec::new();
    for count in [50, 200, 400] {
        let mock = scripted(call, count).await;
        let served = Served::start(&mock.base_url()).await;
        let before = served.processor_ms();
        let total = served.run("task").await;
        let processor = (served.processor_ms() - before) / count as f64;
        let mut gaps = gaps(&mock.requests());
        let edge = gaps.len().min(20);
        let (first, last) = (mean(&gaps[1..=edge]), mean(&gaps[gaps.len() - edge..]));
        let shown = spread(&mut gaps, "ms");
        medians.push(median(&mut gaps));
        println!(
            "{name}, {count:>3} turns               {shown}; first 20 {first:.2}, last 20 {last:.2} \
             (×{:.2}); processor {processor:.2} ms a turn; {:.2} s in all; {:.0} MiB; last request \
             {} kB",
            last / first,
            total.as_secs_f64(),
            served.resident_mib(),
            mock.requests().last().unwrap().body_bytes / 1000
        );
    }
    println!("{name}, 400 turns to 50          ×{:.2}", medians[2] / medians[0]);
    medians[0]
}

/// A run of 50 commands behind these walls, and how much the first waited for them.
async fn bash_behind(posture: &str, bare: f64) {
    let mock = scripted(BASH, 50).await;
    let walls = [("HARNESS_SHELL_SANDBOX", posture), ("HARNESS_SHELL_ALLOW_UNSANDBOXED", "true")];
    let served = Served::with(&mock.base_url(), &walls).await;
    served.run("task").await;
    let mut gaps = gaps(&mock.requests());
    let first = gaps.remove(0);
    let shown = spread(&mut gaps, "ms");
    let turn = median(&mut gaps);
    println!(
        "bash, walls {posture:<8}          {shown}; over a bare one {:.2} ms, ×{:.2}; the first {first:.2} ms",
        turn - bare,
        turn / bare
    );
}

/// Milliseconds of a bare `bash -c true`.
fn bare_bash() -> f64 {
    let mut times: Vec<f64> = (0..51)
        .map(|_| {
            let started = Instant::now();
            assert!(Command::new("bash").args(["-c", "true"]).status().unwrap().success());
            ms(started.elapsed())
        })
        .collect();
    println!("bare `bash -c true`           {}", spread(&mut times, "ms"));
    median(&mut times)
}

/// What a session costs that is open and does nothing: each has had a run of ten turns.
async fn open_sessions(count: usize) {
    let mock = scripted(READ, 10).await;
    let served = Served::start(&mock.base_url()).await;
    served.run("warm").await;
    let before = served.resident_mib();
    for n in 0..count {
        served.run(&format!("open-{n}")).await;
    }
    let after = served.resident_mib();
    println!(
        "{count} open sessions             {after:.1} MiB, {:.3} each",
        (after - before) / count as f64
    );
}

/// So many runs side by side, each of `count` reads, each in a workspace of its own.
async fn at_once(name: &str, runs: usize, count: usize) {
    let mock = scripted(READ, count).await;
    let room = (runs + 1).max(64).to_string();
    let served = Served::with(&mock.base_url(), &[("HARNESS_SERVER_MAX_RUNS", &room)]).await;
    served.run("warm").await;
    let before = served.processor_ms();
    let took = served.run_at_once(name, runs).await.as_secs_f64();
    let calls = (runs * (count + 1)) as f64;
    println!(
        "{runs} {name} at once, {count} turns  {:.0} model calls a second; processor {:.2} ms a \
         call; {took:.2} s in all; {:.0} MiB at most",
        calls / took,
        (served.processor_ms() - before) / calls,
        served.peak_mib()
    );
}

/// Milliseconds from the end of each answer to the whole receipt of the next request.
fn gaps(seen: &[Seen]) -> Vec<f64> {
    let pairs = seen.iter().zip(seen.iter().skip(1));
    pairs
        .map(|(before, after)| {
            let gap = after.received_us.saturating_sub(before.answered_us.unwrap());
            gap as f64 / 1000.0
        })
        .collect()
}
