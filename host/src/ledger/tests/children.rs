//! Processes that die while they write: killed at any point, or out of disk.
//!
//! The child is this test binary with one test selected; without the variable it is an empty
//! test. It prints what the ledger told it, one line for each append.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::*;

const PATH: &str = "HARNESS_TEST_LEDGER";
const ROUND: &str = "HARNESS_TEST_ROUND";
const KILLS: u32 = 20;

/// What the child does: two runs side by side, calls of which some always are in flight.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_writes_until_it_dies() {
    let Ok(path) = std::env::var(PATH) else { return };
    let round = std::env::var(ROUND).unwrap();
    let ledger = open(Path::new(&path));
    let _ = ledger.add_session(session_row("ws_1")).await;
    let (first, second) = (format!("{round}-a"), format!("{round}-b"));
    for run in [&first, &second] {
        say(
            run,
            ledger
                .start_run(run, "ws_1", Mark::default(), started())
                .await
                .map(|recorded| recorded.seq),
        );
    }
    // In tasks of their own: an append that nobody holds up comes back without giving way.
    let other = ledger.clone();
    let other = tokio::spawn(async move { write_for_ever(&other, &second).await });
    write_for_ever(&ledger, &first).await;
    other.await.unwrap();
}

async fn write_for_ever(ledger: &Ledger, run: &str) {
    say(run, ledger.append(run, turn(1, &[])).await);
    for count in 0.. {
        let padding = "x".repeat(count * 37 % 5_000);
        let (this, next) = (format!("c{count}"), format!("c{}", count + 1));
        say(run, ledger.append(run, vec![(1, call_started(1, &this))]).await);
        say(run, ledger.append(run, vec![(1, call_started(1, &next)), (1, note(&padding))]).await);
        say(run, ledger.append(run, vec![(1, call_ended(1, &this))]).await);
        if !say(run, ledger.append(run, vec![(1, call_ended(1, &next))]).await) {
            return;
        }
    }
}

fn say(run: &str, told: Result<u64, LedgerError>) -> bool {
    let mut out = std::io::stdout().lock();
    match &told {
        Ok(seq) => writeln!(out, "told {run} {seq}").unwrap(),
        Err(err) => writeln!(out, "failed {run} {err}").unwrap(),
    }
    told.is_ok()
}

fn start(mut command: Command, path: &Path, round: &str) -> Child {
    command
        .args(["ledger::tests::children::child_that_writes_until_it_dies", "--exact"])
        .args(["--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .env(ROUND, round)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Reads the child's lines; after `kill_after` of them kills it and reads the rest.
fn listen(child: &mut Child, kill_after: usize) -> (BTreeSet<(String, u64)>, Vec<String>) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let (mut told, mut failed) = (BTreeSet::new(), Vec::new());
    for line in lines {
        match line.split_once(' ').map(|(word, rest)| (word, rest.split_once(' '))) {
            Some(("told", Some((run, seq)))) => {
                // The last line may be torn; then it was not told.
                let Ok(seq) = seq.parse() else { continue };
                told.insert((run.to_owned(), seq));
            }
            Some(("failed", Some((_, err)))) => failed.push(err.to_owned()),
            _ => {}
        }
        if told.len() == kill_after {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    (told, failed)
}

/// Every seq that was told is there, nothing is missing before it, and the run was closed with
/// exactly the calls that had started and not ended.
async fn verify(ledger: &Ledger, interrupted: &[Interrupted], told: &BTreeSet<(String, u64)>) {
    for (run, last) in told {
        let events = ledger.events(run, 0, usize::MAX).await.unwrap();
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        assert!((seqs.len() as u64) > *last, "{run} was told {last} of {}", seqs.len());
    }
    for closed in interrupted {
        let events = ledger.events(&closed.run, 0, usize::MAX).await.unwrap();
        let mut running = Vec::new();
        for recorded in &events {
            match &recorded.event {
                Event::CallStarted { call_id, .. } => running.push(call_id.clone()),
                Event::CallEnded { call_id, .. } => running.retain(|id| id != call_id),
                _ => {}
            }
        }
        assert_eq!(closed.in_flight, running);
        match &events.last().unwrap().event {
            Event::Ended { reason: Reason::Interrupted, in_flight, .. } => {
                assert_eq!(*in_flight, running);
            }
            other => panic!("run {} ends with {other:?}", closed.run),
        }
    }
}

#[tokio::test]
async fn what_was_told_survives_a_kill_at_any_point() {
    let (_directory, path) = place();
    // A fixed sequence that looks random: the point of the kill depends on the scheduler anyway.
    let mut random: u32 = 0x2545_F491;
    let mut in_flight = 0;
    for round in 0..KILLS {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        let kill_after = 1 + random as usize % 300;
        let command = Command::new(std::env::current_exe().unwrap());
        let mut child = start(command, &path, &format!("round{round}"));
        let (told, _) = listen(&mut child, kill_after);
        assert!(told.len() >= kill_after, "the child came only to {} of {kill_after}", told.len());

        let (ledger, interrupted) = Ledger::open(&path, SYNC).unwrap();
        assert!((1..=2).contains(&interrupted.len()), "{interrupted:?}");
        verify(&ledger, &interrupted, &told).await;
        in_flight += interrupted.iter().map(|run| run.in_flight.len()).sum::<usize>();
        ledger.close().await;
    }
    assert!(in_flight > 0, "no kill hit a running call");
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_claimed() {
    let (_directory, path) = place();
    // The shell's limit on file size stands for the full disk; ignoring the signal turns it into
    // an error of the write.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" \"$@\""]);
    command.arg(std::env::current_exe().unwrap());
    let mut child = start(command, &path, "full");
    let (told, failed) = listen(&mut child, usize::MAX);
    assert!(told.len() > 20, "{told:?} {failed:?}");
    assert_eq!(failed[0], "ledger could not store");
    // What follows an event that is not there is out of order.
    let is_told = |err: &String| *err == failed[0] || err.ends_with("an event out of order");
    assert!(failed.iter().all(is_told), "{failed:?}");

    let (ledger, interrupted) = Ledger::open(&path, SYNC).unwrap();
    assert_eq!(interrupted.len(), 2);
    verify(&ledger, &interrupted, &told).await;
}
