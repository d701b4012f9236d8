//! A model that does what the last user message says, and tells whether it was left waiting.
//!
//! `wait` never answers, `slow` answers after 120 ms, `fail` is refused, `budget` calls a tool that
//! is not there, `say TEXT` says TEXT; to anything else it says `so far`.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What happened to it.
#[derive(Default)]
pub(super) struct Upstream {
    /// Requests that came.
    pub(super) asked: AtomicUsize,
    /// Requests whose answer nobody waited for any more.
    pub(super) left: AtomicUsize,
    /// The last request.
    pub(super) last: Mutex<Value>,
}

/// Counts one that is dropped before it was answered.
struct Waiting(Arc<Upstream>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

impl Upstream {
    /// Listens as long as the runtime lives.
    pub(super) async fn start() -> (Arc<Upstream>, SocketAddr) {
        let upstream = Arc::<Upstream>::default();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket");
        let router =
            Router::new().route("/v1/chat/completions", post(answer)).with_state(upstream.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        (upstream, address)
    }
}

async fn answer(State(upstream): State<Arc<Upstream>>, request: Request) -> Response {
    let bytes = to_bytes(request.into_body(), 1 << 20).await.expect("a body");
    let body: Value = serde_json::from_slice(&bytes).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    let last_user = messages.iter().rfind(|message| message["role"] == "user");
    let text = last_user.and_then(|message| message["content"].as_str()).unwrap_or_default();
    let text = text.to_owned();
    *upstream.last.lock().expect("no panic under the lock") = body;
    upstream.asked.fetch_add(1, Ordering::SeqCst);
    match text.as_str() {
        "wait" => {
            let _waiting = Waiting(upstream);
            std::future::pending().await
        }
        "slow" => {
            tokio::time::sleep(Duration::from_millis(120)).await;
            stream(&json!({"content": "slow"}), "stop")
        }
        "fail" => StatusCode::UNAUTHORIZED.into_response(),
        "budget" => {
            let function = json!({"name": "nothing", "arguments": "{}"});
            let call =
                json!({"index": 0, "id": "call_1", "type": "function", "function": function});
            stream(&json!({"tool_calls": [call]}), "tool_calls")
        }
        text => {
            let said = text.strip_prefix("say ").unwrap_or("so far");
            stream(&json!({"content": said}), "stop")
        }
    }
}

fn stream(delta: &Value, finish_reason: &str) -> Response {
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                       "prompt_tokens_details": {"cached_tokens": 4},
                       "completion_tokens_details": {"reasoning_tokens": 2}});
    let chunks = [
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}),
        json!({"choices": [], "usage": usage}),
    ];
    let mut events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    events.push_str("data: [DONE]\n\n");
    ([(CONTENT_TYPE, "text/event-stream")], events).into_response()
}
