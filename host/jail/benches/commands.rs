//! What the walls cost: `bash -c true` behind each posture against the bare program, the first
//! command of a session, which builds them, and the memory of the processes that hold them.
//!
//! Prints medians of one run, in which all take turns. Run it with `cargo bench -p harness-jail`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "it stands outside the jail, and prints what it found"
)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use harness_jail::{
    Command, Jail, Limits, Posture, Request, Sandbox, Shell, allowed_environment, secret_places,
};

/// Calls of each kind.
const ROUNDS: usize = 200;

/// Sessions of each posture.
const SESSIONS: usize = 40;

const POSTURES: [Posture; 3] = [Posture::Full, Posture::Partial, Posture::None];

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure());
}

async fn measure() {
    let temp = tempfile::TempDir::new().unwrap();
    for name in ["w", "tmp"] {
        std::fs::create_dir(temp.path().join(name)).unwrap();
    }
    let jail = Jail::open(&temp.path().join("w"), None).unwrap();
    let tmp = temp.path().join("tmp").canonicalize().unwrap();
    let home = std::env::home_dir();
    let open = |posture: Posture, name: &str| {
        let sandbox = Sandbox {
            posture,
            masked: secret_places(home.as_deref()),
            limits: Limits::default(),
            init: vec![env!("CARGO_BIN_EXE_sandbox-init").to_owned()],
            ..Sandbox::none()
        };
        let name = format!("bench-{}-{name}", std::process::id());
        Shell::new(allowed_environment(std::env::vars()), &name, Arc::new(sandbox), tmp.clone())
    };

    let shells = POSTURES.map(|posture| open(posture, posture.name()));
    let mut bare = Vec::new();
    let mut walled = POSTURES.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        bare.push(bare_call());
        for (shell, times) in shells.iter().zip(&mut walled) {
            times.push(call(shell, &jail, "true").await);
        }
    }
    let (bare, least) = (median(&mut bare), bare[0]);
    println!("bash -c true, median of {ROUNDS}, and the least, for a machine with other work");
    println!("  {:8} {:7.2} ms  {:7.2} ms", "bare", milliseconds(bare), milliseconds(least));
    for (posture, times) in POSTURES.iter().zip(&mut walled) {
        let (middle, first) = (median(times), times[0]);
        println!(
            "  {:8} {:7.2} ms  {:7.2} ms  {:+.2} ms  {:+.2} ms  x{:.2}",
            posture.name(),
            milliseconds(middle),
            milliseconds(first),
            milliseconds(middle) - milliseconds(bare),
            milliseconds(first) - milliseconds(least),
            middle.as_secs_f64() / bare.as_secs_f64()
        );
    }
    let walled = walled.map(|times| times[times.len() / 2]);

    println!(
        "the first call of a session, less one of the later ones; its end; median of {SESSIONS}"
    );
    for (posture, later) in POSTURES.iter().zip(walled) {
        let (mut firsts, mut ends) = (Vec::new(), Vec::new());
        for number in 0..SESSIONS {
            let shell = open(*posture, &format!("{}-{number}", posture.name()));
            firsts.push(call(&shell, &jail, "true").await.saturating_sub(later));
            let started = Instant::now();
            tokio::task::spawn_blocking(move || drop(shell)).await.unwrap();
            ends.push(started.elapsed());
        }
        let (first, end) = (milliseconds(median(&mut firsts)), milliseconds(median(&mut ends)));
        println!("  {:8} {first:7.2} ms  {end:7.2} ms", posture.name());
    }

    tokio::task::spawn_blocking(move || drop(shells)).await.unwrap();
    println!("memory of what holds the walls and attends one call, Pss");
    for posture in POSTURES {
        let shell = open(posture, "memory");
        call(&shell, &jail, "sleep 100 > /dev/null 2>&1 &").await;
        println!("  {:8} {:?} KiB", posture.name(), holders());
        tokio::task::spawn_blocking(move || drop(shell)).await.unwrap();
    }
}

fn bare_call() -> Duration {
    let started = Instant::now();
    let output = std::process::Command::new("bash").args(["-c", "true"]).output().unwrap();
    assert!(output.status.success());
    started.elapsed()
}

async fn call(shell: &Shell, jail: &Jail, script: &str) -> Duration {
    let request = Request {
        command: Command::Shell(script.to_owned()),
        workdir: None,
        timeout_ms: 60_000,
        environment: Vec::new(),
        stdin: None,
    };
    let started = Instant::now();
    shell.run(jail, request).await.unwrap();
    started.elapsed()
}

/// The memory of our sandboxes' processes that are not commands, oldest first.
fn holders() -> Vec<u64> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let text = |pid, name| std::fs::read_to_string(format!("/proc/{pid}/{name}")).ok();
    let ours = pids.into_iter().filter(|pid| {
        text(*pid, "cmdline")
            .is_some_and(|line| line.starts_with(env!("CARGO_BIN_EXE_sandbox-init")))
    });
    ours.filter_map(|pid| {
        let memory = text(pid, "smaps_rollup")?;
        let pss = memory.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        pss.trim().strip_suffix(" kB")?.parse().ok()
    })
    .collect()
}

/// Sorts them, too.
fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
