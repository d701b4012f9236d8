//! A client that goes away cancels its run within a second, whole or streamed, by FIN or by RST.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::stage::{PATIENCE, Stage, chat_request, options, saying, until};
use crate::event::Reason;
use crate::server::{bind, serve};

#[derive(Clone, Copy, Debug)]
enum Goodbye {
    Fin,
    Rst,
    /// The client will send no more, but could still read.
    HalfClose,
}

#[tokio::test]
async fn a_client_that_goes_away_cancels_its_run() {
    let stage = Stage::open().await;
    let mut gone = 0;
    for is_stream in [false, true] {
        for goodbye in [Goodbye::Fin, Goodbye::Rst, Goodbye::HalfClose] {
            let mut body = saying("wait");
            body["stream"] = json!(is_stream);
            let mut socket = stage.connect().await;
            socket.write_all(chat_request("", &body).as_bytes()).await.expect("the server reads");
            let mut run = None;
            if is_stream {
                // The head, the opening chunk, and at least one sign of life.
                let mut seen = String::new();
                while !seen.contains(": keep-alive") {
                    let mut buffer = [0; 1024];
                    let count = socket.read(&mut buffer).await.expect("the server writes");
                    seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
                }
                let id = seen.lines().find_map(|line| line.strip_prefix("x-harness-run: "));
                run = Some(id.expect("the run's id").to_owned());
            }
            until("the run starts", Duration::from_secs(5), || stage.asked() == gone + 1).await;
            assert_eq!(stage.left(), gone);
            let left = Instant::now();
            match goodbye {
                Goodbye::Fin => drop(socket),
                Goodbye::Rst => {
                    socket.set_zero_linger().expect("a socket");
                    drop(socket);
                }
                Goodbye::HalfClose => socket.shutdown().await.expect("a socket"),
            }
            let case = format!("stream {is_stream}, {goodbye:?}");
            until(&case, Duration::from_secs(1), || stage.left() == gone + 1).await;
            gone += 1;
            assert!(left.elapsed() < Duration::from_secs(1), "{case}: {:?}", left.elapsed());
            if let Some(run) = run {
                let mut progress = stage.harness.ledger().watch(&run);
                progress.wait_for(|progress| progress.ended).await.expect("it ends");
                let summary = stage.harness.ledger().run(&run).await.expect("a ledger that reads");
                assert_eq!(summary.and_then(|run| run.reason), Some(Reason::Cancelled), "{case}");
            }
        }
    }
}

/// What is not written yet must not hide that the client is gone: it never reads, and then leaves.
#[tokio::test]
async fn a_client_that_never_reads_cancels_its_run_too() {
    let stage = Stage::open().await;
    let mut body = saying("wait");
    body["stream"] = json!(true);
    let mut socket = stage.connect().await;
    socket.write_all(chat_request("", &body).as_bytes()).await.expect("the server reads");
    until("the run starts", Duration::from_secs(5), || stage.asked() == 1).await;
    // Unread bytes make the kernel send RST on close.
    tokio::time::sleep(Duration::from_millis(120)).await;
    drop(socket);
    until("it is cancelled", Duration::from_secs(1), || stage.left() == 1).await;
}

#[tokio::test]
async fn a_client_that_stays_cancels_nothing() {
    let stage = Stage::open().await;
    for is_stream in [false, true] {
        let mut body = saying("slow");
        body["stream"] = json!(is_stream);
        assert_eq!(stage.chat(&body).await.status, 200);
    }
    assert_eq!((stage.asked(), stage.left()), (2, 0));
}

#[tokio::test]
async fn a_head_that_does_not_come_costs_a_connection_for_a_bounded_time() {
    let stage = Stage::open().await;
    for sent in ["", "GET /healthz HTTP/1.1\r\nHost: loc"] {
        let mut socket = stage.connect().await;
        socket.write_all(sent.as_bytes()).await.expect("the server reads");
        let mut bytes = Vec::new();
        let reading = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut bytes));
        reading.await.expect("the server closes").expect("in order");
        assert!(bytes.is_empty() || bytes.starts_with(b"HTTP/1.1 408"), "{bytes:?}");
    }
}

#[tokio::test]
async fn a_server_that_nobody_speaks_to_stops_in_order() {
    let stage = Stage::open().await;
    // Which of two things is seen first is chance.
    for _ in 0..16 {
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let stop = CancellationToken::new();
        let server = serve(stage.harness.clone(), listener, options(), stop.clone());
        let server = tokio::spawn(server);
        tokio::task::yield_now().await;
        stop.cancel();
        server.await.expect("no panic").expect("in order");
    }
}
