//! Summaries, pages, sessions, and following a run while it goes on.

use super::*;
use crate::event::State;

#[tokio::test]
async fn a_summary_is_what_the_events_say() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    ledger.append("r", turn(1, &["a", "b"])).await.unwrap();
    let events = vec![call_started(1, "a"), call_ended(1, "a"), call_ended(1, "b")];
    ledger.append("r", stamped(events)).await.unwrap();
    ledger.append("r", turn(2, &[])).await.unwrap();
    let live = ledger.run("r").await.unwrap().unwrap();
    assert_eq!((live.state, live.turns, live.tool_calls), (State::ReviewingAction, 2, 2));
    assert_eq!((live.usage.total(), live.usage.cached_tokens), (24, 8));
    assert_eq!((live.reason, live.ended_ms), (None, None));

    ledger.append("r", vec![(77, ended())]).await.unwrap();
    let over = ledger.run("r").await.unwrap().unwrap();
    let expected = RunSummary {
        id: "r".to_owned(),
        session: "ws_1".to_owned(),
        caller: "me".to_owned(),
        state: State::Completed,
        created_ms: live.created_ms,
        ended_ms: Some(77),
        reason: Some(Reason::Completed),
        turns: 1,
        tool_calls: 1,
        usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
        model: "some-model".to_owned(),
        workspace: "/projects/here".to_owned(),
        finish: Finish::Stop,
        answer: "done".to_owned(),
        error: None,
    };
    assert_eq!(over, expected);
    assert_eq!(ledger.run("none").await.unwrap(), None);
}

#[tokio::test]
async fn events_come_in_pages() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    ledger.append("r", (0..9).map(|at| (at, note("n"))).collect()).await.unwrap();
    let mut seqs = Vec::new();
    loop {
        let page = ledger.events("r", seqs.last().copied().unwrap_or(0), 4).await.unwrap();
        assert!(page.len() <= 4);
        if page.is_empty() {
            break;
        }
        seqs.extend(page.iter().map(|event| event.seq));
    }
    assert_eq!(seqs, (1..=10).collect::<Vec<_>>());
    assert_eq!(ledger.events("r", u64::MAX, 4).await.unwrap(), []);
    assert_eq!(ledger.events("none", 0, 4).await.unwrap(), []);
}

#[tokio::test]
async fn a_session_is_found_by_id_and_by_place() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &[]).await;
    let newer = SessionRow { created_ms: 6, fresh: false, ..session_row("ws_0") };
    let other = SessionRow { caller: "you".to_owned(), created_ms: 7, ..session_row("ws_2") };
    ledger.add_session(newer.clone()).await.unwrap();
    ledger.add_session(other.clone()).await.unwrap();
    assert_eq!(ledger.session("ws_1").await.unwrap(), Some(session_row("ws_1")));
    assert_eq!(ledger.session("ws_9").await.unwrap(), None);
    assert_eq!(ledger.session_in("me", "/projects/here").await.unwrap(), Some(newer));
    assert_eq!(ledger.session_in("you", "/projects/here").await.unwrap(), Some(other));
    assert_eq!(ledger.session_in("you", "/projects/there").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_sees_every_event_and_then_the_end() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    let follow = |ledger: Ledger| async move {
        let mut progress = ledger.watch("r");
        let mut seqs = Vec::new();
        loop {
            let now = *progress.borrow_and_update();
            let last = seqs.last().copied().unwrap_or(0);
            let page = ledger.events("r", last, 7).await.unwrap();
            seqs.extend(page.iter().map(|event| event.seq));
            if seqs.last() < Some(&now.seq) {
                continue;
            }
            if now.ended {
                return seqs;
            }
            progress.changed().await.unwrap();
        }
    };
    let early = tokio::spawn(follow(ledger.clone()));
    for _ in 0..100 {
        ledger.append("r", vec![(1, note("n"))]).await.unwrap();
    }
    let midway = tokio::spawn(follow(ledger.clone()));
    ledger.append("r", vec![(2, ended())]).await.unwrap();
    let expected: Vec<u64> = (1..=102).collect();
    assert_eq!(early.await.unwrap(), expected);
    assert_eq!(midway.await.unwrap(), expected);
    assert_eq!(follow(ledger.clone()).await, expected);
}

#[tokio::test]
async fn watching_costs_nothing_once_a_run_is_over() {
    let (_directory, path) = place();
    let ledger = with_runs(&path, &["r", "s"]).await;
    let held = ledger.watch("r");
    assert_eq!(*held.borrow(), Progress { seq: 1, ended: false });
    ledger.append("r", vec![(2, ended())]).await.unwrap();
    assert_eq!(*held.borrow(), Progress { seq: 2, ended: true });
    assert_eq!(*ledger.watch("r").borrow(), Progress { seq: 2, ended: true });
    assert_eq!(*ledger.watch("none").borrow(), Progress { seq: 0, ended: true });
    assert_eq!(ledger.followers.len(), 1);
}
