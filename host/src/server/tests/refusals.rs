//! The table of errors: bytes in; status, code, parameter and message out. Every one of them is
//! OpenAI's envelope with its four keys.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::stage::{MAX_RUNS, Stage, bare, chat_request, exchange, options, saying, until};
use crate::server::caller::Callers;
use crate::server::{Door, bind, layered};

/// A chat request with other lines than usual.
fn odd(head: &str, body: &str) -> String {
    format!("{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn everything_that_is_refused_has_the_same_shape() {
    let stage = Stage::open().await;
    let post = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost";
    let json_post = format!("{post}\r\nContent-Type: application/json");
    let session = |id: &str| format!("X-Harness-Session: {id}\r\n");
    let in_body = |key: &str, value: &str| {
        let mut body = saying("say x");
        body["harness"] = json!({key: value});
        body
    };
    let with = |path: &str, more: &str| {
        format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{more}\r\n\r\n")
    };
    let long = format!("{{\"x\": \"{}\"}}", "y".repeat(5000));
    let chunked = format!(
        "{json_post}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    #[rustfmt::skip]
    let cases: Vec<(String, u16, &str, Option<&str>, &str)> = vec![
        (bare("GET", "/nothing"), 404, "unknown_route", None, "there is no route `GET /nothing`; the API lies under `/v1`"),
        (bare("POST", "/v1/nothing"), 404, "unknown_route", None, "there is no route `POST /v1/nothing`"),
        (bare("GET", "/v1/chat/completions"), 405, "method_not_allowed", None, "`/v1/chat/completions` does not take `GET`"),
        (bare("DELETE", "/v1/models"), 405, "method_not_allowed", None, "`/v1/models` does not take `DELETE`"),
        (bare("GET", "/v1/models/nope"), 404, "model_not_found", None, "there is no model `nope`"),
        (bare("GET", "/v1/models/%ff"), 404, "not_found", None, "there is nothing at `/v1/models/%ff`"),
        (bare("GET", "/v1/runs/run_9"), 404, "run_not_found", None, "there is no run `run_9`"),
        (bare("GET", "/v1/runs/%ff"), 404, "not_found", None, "there is nothing at `/v1/runs/%ff`"),
        (bare("GET", "/v1/runs/run_9/events"), 404, "run_not_found", None, "there is no run `run_9`"),
        (bare("GET", "/v1/runs/run_9/events?after=x"), 400, "invalid_value", Some("after"), "`after` must be a whole number, got `x`"),
        (bare("GET", "/v1/runs/run_9/events?from=1"), 400, "unknown_parameter", Some("from"), "the query has no name `from`: known are `after`"),
        (odd(post, "{}"), 415, "unsupported_media_type", Some("Content-Type"), "`Content-Type` must be `application/json`, got none"),
        (odd(&format!("{post}\r\nContent-Type: text/plain"), "{}"), 415, "unsupported_media_type", Some("Content-Type"),
         "`Content-Type` must be `application/json`, got `text/plain`"),
        (odd(&json_post, "{\"a\" 1}"), 400, "invalid_json", Some("body"), "the body must be JSON, got expected `:` at line 1 column 6"),
        (odd(&format!("{post}\r\nContent-Type: Application/JSON; charset=utf-8"), "{}"), 400, "missing", Some("messages"), "`messages` is missing"),
        (odd(&json_post, &long), 413, "body_too_large", None, "the body must be at most 4096 bytes, got more"),
        (chunked, 413, "body_too_large", None, "the body must be at most 4096 bytes, got more"),
        (chat_request("Origin: http://localhost:9\r\n", &saying("say x")), 403, "forbidden", None,
         "`Origin` must be absent or the host that was asked, got `http://localhost:9`"),
        (chat_request("Origin: null\r\n", &saying("say x")), 403, "forbidden", None,
         "`Origin` must be absent or the host that was asked, got `null`"),
        (with("/healthz", "Host: evil.example"), 403, "forbidden", None, "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (with("/healthz", "Host: localhost@evil.example"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `localhost@evil.example`"),
        (with("/healthz", "Host: localhost.evil.example:80"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `localhost.evil.example:80`"),
        (with("/healthz", "Host: localhost\r\nHost: evil.example"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (with("http://evil.example/healthz", "Host: localhost"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (with("/healthz", "Accept: */*"), 403, "forbidden", None, "the request must have a `Host` header, got none"),
        (chat_request(&session("../etc"), &saying("say x")), 400, "invalid_value", Some("x-harness-session"),
         "`x-harness-session` must be a session's id, `ws_…`, once, got `../etc`"),
        (chat_request(&(session("ws_00000001") + &session("ws_00000002")), &saying("say x")), 400, "invalid_value", Some("x-harness-session"),
         "`x-harness-session` must be a session's id, `ws_…`, once, got `ws_00000002`"),
        (chat_request("X-Harness-Workspace: here\r\n", &saying("say x")), 400, "invalid_value", Some("x-harness-workspace"),
         "`x-harness-workspace` must be an absolute path, once, got `here`"),
        (chat_request(&session("ws_00000001"), &in_body("session_id", "ws_00000002")), 400, "contradiction", Some("harness.session_id"),
         "`harness.session_id` must agree with `X-Harness-Session` `ws_00000001`, got `ws_00000002`"),
        (chat_request("X-Harness-Workspace: /a\r\n", &in_body("workspace", "/b")), 400, "contradiction", Some("harness.workspace"),
         "`harness.workspace` must agree with `X-Harness-Workspace` `/a`, got `/b`"),
        (chat_request(&session("ws_00000001"), &json!({"model": "m::ws_00000002", "messages": [{"role": "user", "content": "say x"}]})),
         400, "contradiction", Some("model"), "`model` must agree with `X-Harness-Session` `ws_00000001`, got `ws_00000002`"),
        (chat_request(&session("ws_00000001"), &saying("say x")), 404, "session_not_found", None, "there is no session `ws_00000001`"),
        (chat_request("", &saying("fail")), 502, "upstream-refused", None, "the upstream did not accept the credentials, with status 401"),
    ];
    for (request, status, code, param, message) in cases {
        let answer = stage.send(&request).await;
        assert_eq!(answer.status, status, "{request}\n{answer:?}");
        let kind = match status {
            403 => "permission_error",
            404 => "not_found_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        let expected =
            json!({"error": {"message": message, "type": kind, "param": param, "code": code}});
        assert_eq!(answer.json(), expected, "{request}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{request}");
        assert!(
            answer.header("x-request-id").is_some_and(|id| id.starts_with("req_")),
            "{request}"
        );
        assert_eq!(answer.header("x-should-retry"), Some("false"), "{request}");
        // Only the run that failed existed.
        for name in ["x-harness-run", "x-harness-session"] {
            assert_eq!(answer.header(name).is_some(), status == 502, "{request}");
        }
        assert_eq!(answer.header("allow").is_some(), status == 405, "{request}");
    }
    assert_eq!((stage.asked(), stage.left()), (1, 0));
}

#[tokio::test]
async fn hosts_and_origins_of_this_machine_are_let_in() {
    let stage = Stage::open().await;
    let cases = [
        "Host: localhost:8080",
        "Host: LOCALHOST",
        "Host: 127.0.0.1:1",
        "Host: 127.9.9.9",
        "Host: [::1]:8080",
        "Host: localhost:8080\r\nOrigin: http://localhost:8080",
        "Host: 127.0.0.1\r\nOrigin: http://127.0.0.1",
    ];
    for lines in cases {
        let request = format!("GET /healthz HTTP/1.1\r\nConnection: close\r\n{lines}\r\n\r\n");
        assert_eq!(stage.send(request).await.status, 200, "{lines}");
    }
}

/// A client that sends all of it before it reads must still hear why.
#[tokio::test]
async fn a_body_far_over_the_limit_is_answered() {
    let stage = Stage::open().await;
    let request = chat_request("", &json!({"x": "y".repeat(20 * 1024 * 1024)}));
    assert_eq!(stage.send(request).await.status, 413);
    // Who asks first is told before anything is sent.
    let head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Type: application/json\r\nContent-Length: 99999\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(stage.send(head).await.status, 413);
}

#[tokio::test]
async fn a_loop_that_takes_no_runs_is_not_ready() {
    let stage = Stage::open().await;
    stage.harness.begin_shutdown();
    let ready = stage.send(bare("GET", "/readyz")).await;
    let expected = json!({"error": {"message": "the server is stopping", "type": "server_error",
                                    "param": null, "code": "not_ready"}});
    assert_eq!((ready.status, ready.json()), (503, expected));
    assert_eq!(ready.header("x-should-retry"), None);
    assert_eq!(stage.send(bare("GET", "/healthz")).await.status, 200);
    let refused = stage.chat(&saying("say x")).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
}

/// One run more than may be is told to come back; streamed or not, it is an ordinary error.
#[tokio::test]
async fn too_many_runs() {
    let stage = Stage::open().await;
    let mut waiting = Vec::new();
    for _ in 0..MAX_RUNS {
        let mut socket = stage.connect().await;
        let request = chat_request("", &saying("wait"));
        socket.write_all(request.as_bytes()).await.expect("the server reads");
        waiting.push(socket);
    }
    until("they run", Duration::from_secs(5), || stage.asked() == MAX_RUNS).await;
    let message = format!("{MAX_RUNS} runs are under way, no more may be");
    let expected = json!({"error": {"message": message, "type": "rate_limit_error", "param": null,
                                    "code": "busy"}});
    for is_stream in [false, true] {
        let mut body = saying("say x");
        body["stream"] = json!(is_stream);
        let answer = stage.chat(&body).await;
        assert_eq!((answer.status, answer.json()), (429, expected.clone()));
        assert_eq!(answer.header("retry-after"), Some("5"));
        assert_eq!(answer.header("x-should-retry"), None);
        assert_eq!(answer.header("x-harness-run"), None);
    }
}

#[tokio::test]
async fn a_panic_is_an_error_like_any_other() {
    async fn panicking() {
        panic!("asked to");
    }
    let stage = Stage::open().await;
    let door = Arc::new(Door {
        harness: stage.harness.clone(),
        callers: Callers::new(&[]),
        options: options(),
        is_loopback: true,
        started: 0,
    });
    let router = layered(Router::new().route("/panic", get(panicking)), door);
    let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
    let address = listener.local_addr().expect("a bound socket");
    tokio::spawn(axum::serve(listener, router).into_future());
    let socket = TcpStream::connect(address).await.expect("it listens");
    let answer = exchange(socket, bare("GET", "/panic").as_bytes()).await;
    let message = "the server met a fault of its own; its log says more";
    let expected = json!({"error": {"message": message, "type": "server_error", "param": null,
                                    "code": "internal"}});
    assert_eq!((answer.status, answer.json()), (500, expected));
    assert!(answer.header("x-request-id").is_some());
}
