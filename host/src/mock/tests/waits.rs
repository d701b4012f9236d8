//! The upstream client's patience: how often it tries, how long it waits, and what ends each wait.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::*;
use crate::upstream::Wait;

/// Far below what a scripted pause lasts, far above what a scripted answer takes.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn attempts_are_as_many_as_configured() {
    for attempts in [1, 2, 5] {
        let timers = Timers { attempts, backoff: Duration::from_micros(10), ..timers() };
        let mut bench = Bench::with_timers("[[turn]]\nstatus = 503\nrepeat = 9", timers).await;
        bench.ask().await.expect_err("every attempt fails");
        assert_eq!(bench.running.requests().len(), attempts as usize);
        assert_eq!(bench.retried.len(), attempts as usize - 1);
    }
}

#[tokio::test]
async fn the_upstreams_own_wait_is_kept() {
    let turns = |status: u16, header: &str, body: &str| {
        format!(
            "[[turn]]\nstatus = {status}\nbody = '{body}'\nheaders = {{ {header} }}\n[[turn]]\ntext = \"fine\""
        )
    };
    let kept = [
        (429, "retry-after-ms = \"7\"", "x"),
        (503, "Retry-After = \"0.007\"", "x"),
        (429, "x-ratelimit-remaining-tokens = \"0\", x-ratelimit-reset-tokens = \"7ms\"", "x"),
        (429, "", r#"[{"error":{"message":"x","details":[{"retryDelay":"0.007s"}]}}]"#),
        (429, "", "x; please try again in 7ms."),
    ];
    for (status, header, body) in kept {
        let mut bench = Bench::new(&turns(status, header, body)).await;
        assert_eq!(bench.ask().await.expect("the second attempt").text, "fine");
        assert_eq!(bench.retried[0].1, Duration::from_millis(7), "{header} {body}");
    }
    let mut bench = Bench::new(&turns(429, "Retry-After = \"0\"", "x")).await;
    assert_eq!(bench.ask().await.expect("the second attempt").text, "fine");

    let hour = Some(Duration::from_secs(3600));
    let mut bench = Bench::new(&turns(429, "Retry-After = \"3600\"", "x")).await;
    let expected = UpstreamError::RateLimited { retry_after: hour, message: "x".to_owned() };
    let text = "the upstream limits the rate of requests and asks to wait 3600 s: x";
    assert_eq!(expected.to_string(), text);
    assert_eq!(bench.ask().await, Err(expected), "longer than what is left: at once");
    let mut bench = Bench::new(&turns(503, "Retry-After = \"3600\"", "x")).await;
    let err = bench.ask().await.expect_err("longer than what is left");
    assert_eq!(err.to_string(), "the upstream failed with status 503 and asks to wait 3600 s: x");
    assert_eq!(bench.retried.len(), 0);

    let mut bench = Bench::new(&turns(429, "x-should-retry = \"false\"", "x")).await;
    let expected = UpstreamError::RateLimited { retry_after: None, message: "x".to_owned() };
    assert_eq!(bench.ask().await, Err(expected));
}

#[tokio::test]
async fn every_wait_has_an_end() {
    let timed_out = |waiting| Err(UpstreamError::TimedOut { waiting });

    let first = Timers { first_event: SHORT, ..timers() };
    let mut bench = Bench::with_timers("[[turn]]\ntext = \"late\"\npause_ms = 600000", first).await;
    assert_eq!(bench.ask().await, timed_out(Wait::FirstEvent));
    assert_eq!(bench.retried.len(), 0, "a slow model is not asked to begin anew");

    let idle = Timers { idle: SHORT, ..timers() };
    let pieces =
        "[[turn]]\ntext = \"late\"\npiece_pause_ms = 600000\nrepeat = 2\n[[turn]]\ntext = \"fine\"";
    let mut bench = Bench::with_timers(pieces, idle).await;
    assert_eq!(bench.ask().await.expect("the third attempt").text, "fine");
    assert_eq!(
        bench.reasons(),
        ["the upstream took too long: its answer stopped without an end"; 2]
    );

    let mut bench = Bench::new("[[turn]]\ntext = \"late\"\npause_ms = 600000").await;
    assert_eq!(bench.ask_within(SHORT).await, timed_out(Wait::Deadline));
    let before = bench.running.requests().len();
    assert_eq!(bench.ask_within(Duration::ZERO).await, timed_out(Wait::Deadline));
    assert_eq!(bench.running.requests().len(), before, "nothing is sent after the deadline");
}

/// Each of the two long waits has its own timer, and the other does not cut it short: a local model
/// that reads its prompt for minutes, and one that thinks between two events.
#[tokio::test]
async fn a_timer_bounds_its_own_wait_alone() {
    let slow_start = Timers { idle: Duration::from_millis(10), ..timers() };
    let mut bench =
        Bench::with_timers("[[turn]]\ntext = \"late\"\npause_ms = 200", slow_start).await;
    assert_eq!(bench.ask().await.expect("a late beginning").text, "late");
    assert_eq!(bench.retried.len(), 0);

    let slow_middle = Timers { first_event: Duration::from_secs(1), ..timers() };
    let mut bench =
        Bench::with_timers("[[turn]]\ntext = \"slow\"\npiece_pause_ms = 1100", slow_middle).await;
    assert_eq!(bench.ask().await.expect("a slow middle").text, "slow");
    assert_eq!(bench.retried.len(), 0);
}

/// Answers every request with one event and then nothing but signs of life. Hears when a client is
/// gone.
async fn alive_without_progress() -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<()>) {
    let listener = TcpListener::bind(LOOPBACK).await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let (gone, hears) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            // An answer before its request would be a broken connection.
            let mut request = [0; 16 << 10];
            let _ = socket.read(&mut request).await;
            let start = "HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[]}\n\n";
            let mut sent = socket.write_all(start.as_bytes()).await;
            while sent.is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sent = socket.write_all(b": alive\n\nevent: ping\ndata: {}\n\n").await;
            }
            let _ = gone.send(());
        }
    });
    (address, hears)
}

#[tokio::test]
async fn comments_are_no_progress() {
    let (address, _hears) = alive_without_progress().await;
    let mut bench = Bench::new("[[turn]]\ntext = \"x\"").await;
    bench.upstream = upstream_at(address, Timers { idle: SHORT, ..timers() });
    assert_eq!(bench.ask().await, Err(UpstreamError::TimedOut { waiting: Wait::NextEvent }));
    assert_eq!(bench.retried.len(), 2);
}

#[tokio::test]
async fn an_answer_without_progress_can_be_let_go_of() {
    let (address, mut hears) = alive_without_progress().await;
    let mut bench = Bench::new("[[turn]]\ntext = \"x\"").await;
    bench.upstream = upstream_at(address, timers());
    let waited = tokio::time::timeout(SHORT, bench.ask()).await;
    assert!(waited.is_err(), "{waited:?}");
    tokio::time::timeout(LONG, hears.recv()).await.expect("it hears").expect("the client is gone");
}

#[tokio::test]
async fn a_connection_that_is_not_made_is_given_up() {
    // A listener whose queue is full lets nobody in and says nothing.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind(LOOPBACK).expect("an address");
    let listener = socket.listen(1).expect("a listener");
    let address = listener.local_addr().expect("an address");
    let mut waiting = Vec::new();
    while let Ok(connected) = tokio::time::timeout(SHORT * 4, TcpStream::connect(address)).await {
        waiting.push(connected.expect("a place in the queue"));
    }
    let mut bench = Bench::new("[[turn]]\ntext = \"x\"").await;
    let timers = Timers { connect: SHORT, attempts: 2, ..timers() };
    bench.upstream = upstream_at(address, timers);
    let err = bench.ask().await.expect_err("no connection");
    assert_eq!(err, UpstreamError::Unreachable { what: "the connection was not made in time" });
    assert_eq!(bench.retried.len(), 1);
}

#[tokio::test]
async fn nobody_there() {
    let mut bench = Bench::new("[[turn]]\ntext = \"x\"").await;
    let listener = TcpListener::bind(LOOPBACK).await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    bench.upstream = upstream_at(address, timers());
    let err = bench.ask().await.expect_err("nobody listens");
    assert_eq!(err, UpstreamError::Unreachable { what: "the connection was refused" });
    assert_eq!(bench.retried.len(), 2);
}
