//! A server on a free port, with a model that does what it is told, and a client that sends bytes
//! as they are.
//!
//! The only file that knows how a harness is put together. Tools and guards are left out: the door
//! does not know them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use harness_bundle as bundle;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::upstream::Upstream;
use crate::config::{Layers, LedgerSync, Settings};
use crate::harness::{Harness, Parts};
use crate::ledger::Ledger;
use crate::places::Places;
use crate::plugin::{Engine, Source};
use crate::redact::Redactor;
use crate::server::{ServeOptions, bind, serve};
use crate::upstream::{Timers, UpstreamSettings};

/// How long anything may take before a test gives up.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Runs at one time.
pub(super) const MAX_RUNS: usize = 2;

/// A server that listens.
pub(super) struct Stage {
    pub(super) address: SocketAddr,
    pub(super) stop: CancellationToken,
    pub(super) server: tokio::task::JoinHandle<std::io::Result<()>>,
    pub(super) harness: Arc<Harness>,
    pub(super) upstream: Arc<Upstream>,
    pub(super) directory: TempDir,
    _stop_at_end: DropGuard,
}

impl Stage {
    /// With small limits, so that tests need little.
    pub(super) async fn open() -> Stage {
        let directory = tempfile::tempdir().expect("a directory");
        let (upstream, upstream_address) = Upstream::start().await;
        let base_url = format!("http://{upstream_address}/v1");
        let harness = harness(&base_url, &directory).await;
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(harness.clone(), listener, options(), stop.clone()));
        let _stop_at_end = stop.clone().drop_guard();
        Stage { address, stop, server, harness, upstream, directory, _stop_at_end }
    }

    /// Model calls so far.
    pub(super) fn asked(&self) -> usize {
        self.upstream.asked.load(Ordering::SeqCst)
    }

    /// Model calls that were given up so far.
    pub(super) fn left(&self) -> usize {
        self.upstream.left.load(Ordering::SeqCst)
    }

    /// A connection.
    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("the server listens")
    }

    /// Sends `request`, and reads until the server closes.
    pub(super) async fn send(&self, request: impl AsRef<[u8]>) -> Answer {
        exchange(self.connect().await, request.as_ref()).await
    }

    /// Asks for one chat completion.
    pub(super) async fn chat(&self, body: &Value) -> Answer {
        self.send(chat_request("", body)).await
    }
}

/// What the door is told in tests.
pub(super) fn options() -> ServeOptions {
    ServeOptions {
        max_body_bytes: 4096,
        keep_alive: Duration::from_millis(50),
        head_time: Duration::from_millis(500),
        grace: Duration::from_secs(5),
    }
}

async fn harness(base_url: &str, directory: &TempDir) -> Arc<Harness> {
    let state = directory.path().join("state");
    let file = format!(
        "server.max_runs = {MAX_RUNS}\nstate.dir = '{}'\n\
         upstream = {{ base_url = '{base_url}', model = 'Org/configured' }}\n",
        state.display()
    );
    let layers = Layers {
        file: Some(("harness.toml".to_owned(), file)),
        environment: Vec::new(),
        flags: Vec::new(),
        found: Vec::new(),
    };
    let mut config = Settings::merge(&layers).check().expect("a whole configuration");
    for plugin in bundle::PLUGINS.iter().filter(|plugin| plugin.role != bundle::Role::Profile) {
        config.plugins.entry(plugin.name.to_owned()).or_default().enabled = Some(false);
    }
    let places = Places::open(&config.state_dir, None, None).expect("a state directory");
    let (ledger, _) = Ledger::open(&places.ledger(), LedgerSync::Normal).expect("a ledger");
    let settings = UpstreamSettings {
        base_url: config.upstream.base_url.clone(),
        api_key: None,
        timers: Timers::default(),
        window: None,
    };
    let upstream = crate::upstream::Upstream::new(settings).expect("an upstream");
    let sources = Source::all(&config.plugins, |_| unreachable!("no plugin is a file"));
    let redactor = Arc::new(Redactor::new(std::iter::empty()));
    let environment = Vec::new();
    let parts = Parts { config, places, ledger, upstream, redactor, environment, audit: None };
    let harness = Harness::new(parts);
    let engine = Engine::new().expect("an engine");
    harness.load(&engine, sources).await.expect("plugins");
    harness
}

/// Sends `request`, and reads until the server closes.
pub(super) async fn exchange(mut socket: TcpStream, request: &[u8]) -> Answer {
    socket.write_all(request).await.expect("the server reads");
    let mut bytes = Vec::new();
    let reading = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut bytes));
    reading.await.expect("in time").expect("the server writes");
    Answer::parse(&bytes)
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

/// `value` without what differs from run to run: times, and ids with the directory named by one.
fn blank(mut value: Value) -> Value {
    if let Some(created) = value.get_mut("created") {
        assert!(created.as_u64().is_some_and(|seconds| seconds > 1_700_000_000), "{created}");
        *created = Value::from("TIME");
    }
    for (place, prefix) in
        [("/id", "chatcmpl-"), ("/harness/run_id", "run_"), ("/harness/session_id", "ws_")]
    {
        if let Some(id) = value.pointer_mut(place) {
            let bare = id.as_str().and_then(|id| id.strip_prefix(prefix));
            if bare.is_some_and(|bare| bare.len() == 32) {
                *id = Value::from(format!("{prefix}…"));
            }
        }
    }
    if let Some(workspace) = value.pointer_mut("/harness/workspace") {
        assert!(workspace.as_str().is_some_and(|path| path.starts_with('/')), "{workspace}");
        *workspace = Value::from("/…");
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
