//! A client that goes away: model call, guest and processes end within a second, on record.

use std::time::{Duration, Instant};

use harness::event::{Event, Reason};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::rig::{Rig, processes_with, until};

/// Sends a request by hand and gives the open connection.
async fn send(rig: &Rig, stream: bool, task: &str) -> TcpStream {
    let mut body = rig.body(task);
    body["stream"] = json!(stream);
    let body = body.to_string();
    let mut socket = TcpStream::connect(rig.server.addr()).await.unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        rig.server.addr(),
        body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    socket.write_all(body.as_bytes()).await.unwrap();
    socket
}

#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// An orderly close.
    Fin,
    /// A reset.
    Rst,
}

fn leave(socket: TcpStream, how: Leaving) {
    if matches!(how, Leaving::Rst) {
        socket.set_zero_linger().unwrap();
    }
    drop(socket);
}

/// The run that was recorded last.
async fn last_run(rig: &Rig) -> String {
    let log = rig.log();
    let at = log.rfind("run_").expect("the log names the run");
    log[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_ends_a_command_within_a_second() {
    for (stream, how) in
        [(false, Leaving::Fin), (true, Leaving::Fin), (false, Leaving::Rst), (true, Leaving::Rst)]
    {
        let mark = format!("30{}{}", u8::from(stream), how as u8);
        let script = format!(
            "[[turn]]\ncalls = [{{ tool = \"bash\", input = {{ command = \"exec sleep {mark}.5\", \
             background = true }} }}, {{ tool = \"bash\", input = {{ command = \"setsid sleep \
             {mark}.25 & touch started; sleep {mark}.75\" }} }}]\n"
        );
        let rig = Rig::start(&script, "").await;
        let mut socket = send(&rig, stream, "go").await;
        until("the command runs", || rig.workspace().join("started").exists()).await;
        until("all sleep", || processes_with(&format!("sleep\0{mark}")) == 3).await;
        if stream {
            let mut head = [0; 256];
            let read = socket.read(&mut head).await.unwrap();
            assert!(head[..read].starts_with(b"HTTP/1.1 200"));
        }
        let left = Instant::now();
        leave(socket, how);
        until("no process is left", || processes_with(&format!("sleep\0{mark}")) == 0).await;
        let took = left.elapsed();
        assert!(took < Duration::from_secs(1), "{stream} {how:?}: {took:?}");
        until("the end is on record", || rig.log().contains("run ended")).await;
        let run = last_run(&rig).await;
        let events = rig.events(&run).await;
        let Some(Event::Ended { reason, .. }) = events.last().map(|last| &last.event) else {
            panic!("{events:?}");
        };
        assert_eq!(*reason, Reason::Cancelled);
        // The call that was stopped has its end too, and the job's was over.
        assert_eq!(events.iter().filter(|r| matches!(r.event, Event::CallEnded { .. })).count(), 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disconnect_ends_the_model_call() {
    let rig = Rig::start("[[turn]]\ntext = \"slow\"\npause_ms = 60000\n", "").await;
    let socket = send(&rig, false, "go").await;
    until("the upstream is asked", || rig.mock.requests().len() == 1).await;
    leave(socket, Leaving::Fin);
    until("the upstream's connection is closed", || rig.mock.requests()[0].answered_us.is_some())
        .await;
    until("the end is on record", || rig.log().contains("run ended")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_disconnect_the_workspace_is_free_again() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; sleep 100" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "").await;
    let socket = send(&rig, false, "first").await;
    until("the command runs", || rig.workspace().join("started").exists()).await;
    leave(socket, Leaving::Fin);
    until("the end is on record", || rig.log().contains("run ended")).await;
    let mut body = rig.body("second");
    body["harness"]["max_turns"] = json!(1);
    // The second conversation plays the script anew; its only turn is cut by its own limit.
    body["harness"]["max_seconds"] = json!(3);
    let reply = rig.chat(&body).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_signal_cancels_runs_and_ends_in_order() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; sleep 3111" } }]
    "#;
    let mut rig = Rig::start(script, "").await;
    let body = rig.body("go");
    let pid = rig.server.pid().to_string();
    let workspace = rig.workspace();
    let stopping = async {
        until("the command runs", || workspace.join("started").exists()).await;
        std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap();
    };
    let (reply, ()) = tokio::join!(rig.chat(&body), stopping);
    assert_eq!((reply.status, reply.reason()), (503, "cancelled"), "{:#}", reply.body);
    assert_eq!(reply.should_retry.as_deref(), Some("false"));
    until("no process is left", || processes_with("sleep\x003111") == 0).await;
    rig.kill_and_restart();
    let (status, run) = rig.json(&format!("/v1/runs/{}", reply.run)).await;
    assert_eq!((status, run["reason"].as_str()), (200, Some("cancelled")), "{run:#}");
}
