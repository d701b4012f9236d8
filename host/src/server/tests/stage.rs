//! A server on a free port and a client that sends bytes as they are.
//!
//! The only file that knows what stands behind the door: runs do what the last user message says.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::event::Event;
use crate::harness::Harness;
use crate::server::{ServeOptions, bind, serve};

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that listens.
pub(super) struct Stage {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) server: tokio::task::JoinHandle<std::io::Result<()>>,
    harness: Arc<Harness>,
    _stop_at_end: DropGuard,
}

impl Stage {
    /// With small limits, so that tests need little.
    pub(super) async fn open() -> Stage {
        let options = ServeOptions {
            max_body_bytes: 4096,
            keep_alive: Duration::from_millis(50),
            grace: Duration::from_secs(1),
        };
        let harness = Arc::new(Harness::default());
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(harness.clone(), listener, options, stop.clone()));
        Stage { address, _stop_at_end: stop.clone().drop_guard(), stop, server, harness }
    }

    /// Runs that were cancelled so far.
    pub(super) fn cancelled(&self) -> usize {
        self.harness.cancelled.load(Ordering::SeqCst)
    }

    /// Runs that were started so far.
    pub(super) fn started(&self) -> usize {
        self.harness.started.load(Ordering::SeqCst)
    }

    /// Lets the loop take no more runs, while the door stays open.
    pub(super) fn close_the_loop(&self) {
        self.harness.begin_shutdown();
    }

    /// Stores an event.
    pub(super) fn record(&self, run: &str, event: Event) {
        self.harness.ledger().append(run, event);
    }

    /// A connection.
    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the server listens")
    }

    /// Sends `request`, and reads until the server closes.
    pub(super) async fn send(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut socket = self.connect().await;
        socket.write_all(request.as_ref()).await.expect("the server reads");
        let mut bytes = Vec::new();
        let reading = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut bytes));
        reading.await.expect("in time").expect("the server writes");
        Answer::parse(&bytes)
    }

    /// Asks for one chat completion.
    pub(super) async fn chat(&self, body: &Value) -> Answer {
        self.send(chat_request("", body)).await
    }
}

/// The bytes of a chat request; `headers` are lines.
pub(super) fn chat_request(headers: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// The bytes of a request without a body.
pub(super) fn bare(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
}

/// A request that says `text`.
pub(super) fn saying(text: &str) -> Value {
    json!({"model": "m", "messages": [{"role": "user", "content": text}]})
}

/// Waits until `is_so`.
pub(super) async fn until(what: &str, limit: Duration, is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(limit, waiting).await.unwrap_or_else(|_| panic!("{what}: not in time"));
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Answer {
        let text = String::from_utf8(bytes.to_vec()).expect("responses are UTF-8");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let headers = lines.filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
        let mut answer = Answer {
            status: status.parse().expect("a number"),
            headers: headers.collect(),
            body: body.to_owned(),
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            answer.body = unchunk(body);
        }
        answer
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }

    /// The body as JSON, with what differs from run to run blanked.
    pub(super) fn json(&self) -> Value {
        blank(serde_json::from_str(&self.body).expect("JSON"))
    }

    /// The events of a stream, blanked; comments as they are.
    pub(super) fn events(&self) -> Vec<Value> {
        let event = |event: &str| match event.strip_prefix("data: ") {
            Some("[DONE]") | None => Value::from(event),
            Some(data) => blank(serde_json::from_str(data).expect("JSON")),
        };
        self.body.split_terminator("\n\n").map(event).collect()
    }
}

fn blank(mut value: Value) -> Value {
    if let Some(created) = value.get_mut("created") {
        assert!(created.as_u64().is_some_and(|seconds| seconds > 1_700_000_000), "{created}");
        *created = Value::from("TIME");
    }
    value
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a chunk's size");
        whole.push_str(&rest[..size]);
        body = rest[size..].strip_prefix("\r\n").expect("a chunk's end");
    }
    whole
}
