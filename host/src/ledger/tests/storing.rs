//! Appending: order, gaplessness, refusals, and what nobody can change afterwards.

use std::collections::BTreeMap;

use super::*;

#[tokio::test]
async fn stores_events_in_order_and_counts_them_without_gaps() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    let mut expected = vec![started()];
    assert_eq!(ledger.append("r", turn(1, &["c"])).await.unwrap(), 4);
    expected.extend(turn(1, &["c"]).into_iter().map(|(_, event)| event));
    let rest = vec![call_started(1, "c"), call_ended(1, "c"), note("ä\0\u{1F600}"), ended()];
    assert_eq!(ledger.append("r", stamped(rest.clone())).await.unwrap(), 8);
    expected.extend(rest);

    let stored = ledger.events("r", 0, 100).await.unwrap();
    assert_eq!(
        stored.iter().map(|event| event.seq).collect::<Vec<_>>(),
        (1..=8).collect::<Vec<_>>()
    );
    assert_eq!(stored.into_iter().map(|event| event.event).collect::<Vec<_>>(), expected);
    assert_eq!(
        ledger.append("unknown", vec![]).await.unwrap_err().to_string(),
        "run `unknown` is not in the ledger"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_at_once_leave_no_gap_and_keep_their_order() {
    const EACH: u64 = 200;
    let (_directory, path) = place();
    let ledger =
        with_runs(&path, &["shared", "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7"]).await;
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let ledger = ledger.clone();
            tokio::spawn(async move {
                let (run, mut told) = (format!("r{writer}"), Vec::new());
                for count in 0..EACH {
                    let text = format!("{writer} {count}");
                    let own = ledger.append(&run, vec![(1, note(&text))]);
                    let shared = ledger.append("shared", vec![(1, note(&text))]);
                    let (own, shared) = tokio::join!(own, shared);
                    assert_eq!(own.unwrap(), count + 2);
                    told.push((shared.unwrap(), text));
                }
                told
            })
        })
        .collect();
    let mut told = BTreeMap::new();
    for writer in writers {
        told.extend(writer.await.unwrap());
    }
    // Every seq was told once, and the file says the same of each.
    assert_eq!(told.keys().copied().collect::<Vec<_>>(), (2..=8 * EACH + 1).collect::<Vec<_>>());
    let stored = ledger.events("shared", 1, usize::MAX).await.unwrap();
    let stored: BTreeMap<u64, String> = stored
        .into_iter()
        .map(|recorded| match recorded.event {
            Event::Note { text } => (recorded.seq, text),
            other => panic!("unexpected {other:?}"),
        })
        .collect();
    assert_eq!(stored, told);
}

#[tokio::test]
async fn refuses_what_may_not_follow_and_stores_none_of_it() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;

    let refused = ledger.append("r", vec![(1, note("kept out")), (2, call_started(1, "c"))]).await;
    assert!(matches!(refused, Err(LedgerError::OutOfOrder { .. })), "{refused:?}");
    let refused =
        ledger.start_run("r2", "ws_1", Mark::default(), call_started(1, "c")).await.map(|_| ());
    assert_eq!(refused.unwrap_err().to_string(), "run `r2` was given an event out of order");
    let refused = ledger.start_run("r", "ws_1", Mark::default(), started()).await;
    assert!(matches!(refused, Err(LedgerError::Duplicate { .. })), "{refused:?}");
    let refused = ledger.start_run("r3", "ws_none", Mark::default(), started()).await;
    assert!(matches!(refused, Err(LedgerError::UnknownSession { .. })), "{refused:?}");
    let refused = ledger.add_session(session_row("ws_1")).await;
    assert!(matches!(refused, Err(LedgerError::Duplicate { .. })), "{refused:?}");
    assert_eq!(ledger.events("r", 0, 10).await.unwrap().len(), 1);
    assert_eq!(ledger.run("r2").await.unwrap(), None);
    assert_eq!(ledger.run("r3").await.unwrap(), None);
}

#[tokio::test]
async fn nothing_follows_the_end_of_a_run() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r", "s"]).await;
    let refused = ledger.append("r", vec![(1, ended()), (2, note("late"))]).await;
    assert!(matches!(refused, Err(LedgerError::RunEnded { .. })), "{refused:?}");
    assert_eq!(ledger.append("r", vec![(1, ended())]).await.unwrap(), 2);
    // Once in the same process, queued together with others, and once after opening again.
    let (late, other) = tokio::join!(
        ledger.append("r", vec![(2, note("late"))]),
        ledger.append("s", vec![(2, note("in time"))]),
    );
    assert!(matches!(late, Err(LedgerError::RunEnded { .. })), "{late:?}");
    assert_eq!(other.unwrap(), 2);
    ledger.close().await;
    let ledger = open(&path);
    let late = ledger.append("r", vec![(2, ended())]).await;
    assert!(matches!(late, Err(LedgerError::RunEnded { .. })), "{late:?}");
    assert_eq!(ledger.events("r", 0, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn no_statement_updates_or_deletes() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    // Another process with any SQLite client, while the server runs.
    let outsider = rusqlite::Connection::open(&path).unwrap();
    for statement in [
        "UPDATE sessions SET caller = 'you'",
        "UPDATE runs SET session = 'ws_2'",
        "UPDATE events SET body = '{}'",
        "DELETE FROM sessions",
        "DELETE FROM runs",
        "DELETE FROM events",
    ] {
        let refused = outsider.execute(statement, []).unwrap_err().to_string();
        assert_eq!(refused, "the ledger is append-only", "{statement}");
    }
    assert_eq!(ledger.events("r", 0, 10).await.unwrap().len(), 1);
}

#[tokio::test]
async fn closing_stores_what_is_queued_and_refuses_what_comes_later() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    let (first, second, ()) = tokio::join!(
        ledger.append("r", vec![(1, note("one"))]),
        ledger.append("r", vec![(1, note("two"))]),
        ledger.close(),
    );
    assert_eq!((first.unwrap(), second.unwrap()), (2, 3));
    let late = ledger.append("r", vec![(1, note("three"))]).await;
    assert!(matches!(late, Err(LedgerError::Closed)), "{late:?}");
    ledger.close().await;
    // It can still be read, and others may have it.
    assert_eq!(ledger.events("r", 0, 10).await.unwrap().len(), 3);
    open(&path);
}

#[tokio::test]
async fn a_file_that_somebody_else_has_locked_is_waited_for_off_the_runtime() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    let outsider = rusqlite::Connection::open(&path).unwrap();
    outsider.execute_batch("BEGIN IMMEDIATE").unwrap();
    // One thread for all three: an append that held it up would never see the lock released.
    let (first, second, ()) = tokio::join!(
        ledger.append("r", vec![(1, note("one"))]),
        ledger.append("r", vec![(1, note("two"))]),
        async { outsider.execute_batch("ROLLBACK").unwrap() },
    );
    assert_eq!((first.unwrap(), second.unwrap()), (2, 3));
}

fn observation(path: &str, seen: Option<&str>) -> Observation {
    Observation { path: path.to_owned(), seen: seen.map(str::to_owned) }
}

fn observed(observations: Vec<Observation>) -> Beside {
    Beside { observations, ..Beside::default() }
}

#[tokio::test]
async fn what_a_session_was_shown_is_kept_as_of_now_and_goes_with_it() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r", "r2"]).await;
    ledger.add_session(session_row("ws_2")).await.unwrap();
    let other = started();
    ledger.start_run("other", "ws_2", Mark::default(), other).await.unwrap();
    for (run, observations) in [
        ("r", vec![observation("a", Some("v1 1-3")), observation("b", Some("v1 1"))]),
        ("other", vec![observation("a", Some("v9 9"))]),
        ("r2", vec![observation("a", Some("v2 1-4")), observation("b", None)]),
        ("r", vec![observation("c", Some("v1 ")), observation("none", None)]),
    ] {
        ledger.append_with(run, vec![(1, note("n"))], observed(observations)).await.unwrap();
    }
    // Of a commit that is refused nothing is kept.
    let refused = vec![(1, call_started(1, "c"))];
    let lost = observed(vec![observation("a", None)]);
    ledger.append_with("r", refused, lost).await.unwrap_err();

    let expected = vec![observation("a", Some("v2 1-4")), observation("c", Some("v1 "))];
    assert_eq!(ledger.observations("ws_1").await.unwrap(), expected);
    ledger.close().await;
    let ledger = open(&path);
    assert_eq!(ledger.observations("ws_1").await.unwrap(), expected);
    ledger.remove_session("ws_1").await.unwrap();
    assert_eq!(ledger.observations("ws_1").await.unwrap(), []);
    assert_eq!(ledger.observations("ws_2").await.unwrap(), [observation("a", Some("v9 9"))]);
}

/// What a turn with a read writes to the log, with the observation and without.
#[tokio::test]
async fn an_observation_costs_no_commit_and_a_page() {
    const TURNS: u32 = 60;
    let mut written = Vec::new();
    for is_observed in [false, true] {
        let (_directory, path) = place();
        let ledger = with_runs(&path, &["r"]).await;
        let log = || std::fs::metadata(path.with_extension("sqlite-wal")).unwrap().len();
        let before = log();
        for number in 1..=TURNS {
            let mut events = turn(number, &["c"]);
            let call = events.pop().unwrap();
            ledger.append("r", events).await.unwrap();
            ledger.append("r", vec![call, (4, call_started(number, "c"))]).await.unwrap();
            let seen = format!("b3:{} 1-{number}", "0".repeat(64));
            let file = observation(&format!("host/src/file-{number}.rs"), Some(&seen));
            let beside = observed(is_observed.then_some(file).into_iter().collect());
            let ended = vec![(5, call_ended(number, "c"))];
            ledger.append_with("r", ended, beside).await.unwrap();
        }
        written.push((log() - before) / u64::from(TURNS));
    }
    let [without, with] = written[..] else { panic!("{written:?}") };
    println!("a turn's log: {without} bytes, with an observation {with}");
    // A page and its frame's head, and now and then a second one where a page is full.
    assert!(with > without && with - without < 2 * (4_096 + 24), "{without} {with}");
}
