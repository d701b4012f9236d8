//! The table of errors: bytes in; status, code, parameter and message out. Every one of them is
//! OpenAI's envelope with its four keys.

use serde_json::json;

use super::stage::{Stage, bare, chat_request, saying};

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
    let get = |path: &str, more: &str| {
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
        (bare("GET", "/v1/runs/run_9/events?after=x"), 400, "invalid_value", Some("after"), "`after` must be an event's `seq`, got `x`"),
        (bare("GET", "/v1/runs/run_9/events?from=1"), 400, "unknown_parameter", Some("from"), "the query may hold `after`, got `from`"),
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
        (get("/healthz", "Host: evil.example"), 403, "forbidden", None, "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (get("/healthz", "Host: localhost@evil.example"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `localhost@evil.example`"),
        (get("/healthz", "Host: localhost.evil.example:80"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `localhost.evil.example:80`"),
        (get("/healthz", "Host: localhost\r\nHost: evil.example"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (get("http://evil.example/healthz", "Host: localhost"), 403, "forbidden", None,
         "`Host` must be `localhost` or a loopback address, got `evil.example`"),
        (get("/healthz", "Accept: */*"), 403, "forbidden", None, "the request must have a `Host` header, got none"),
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
        (chat_request("", &saying("busy")), 429, "busy", None, "64 runs are under way, at most 64 may be"),
        (chat_request("", &saying("panic")), 500, "internal", None, "the server met a fault of its own; its log says more"),
        (chat_request("", &saying("fail")), 502, "upstream-failed", None, "it broke"),
    ];
    for (request, status, code, param, message) in cases {
        let answer = stage.send(&request).await;
        assert_eq!(answer.status, status, "{request}\n{answer:?}");
        let kind = match status {
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
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
        let retry = if status == 429 { None } else { Some("false") };
        assert_eq!(answer.header("x-should-retry"), retry, "{request}");
        let retry_after = (status == 429).then_some("7");
        assert_eq!(answer.header("retry-after"), retry_after, "{request}");
        // Only the run that failed existed.
        let run = (status == 502).then_some("run_0001");
        assert_eq!(answer.header("x-harness-run"), run, "{request}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{request}");
    }
    assert_eq!((stage.started(), stage.cancelled()), (1, 0));
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
    stage.close_the_loop();
    let ready = stage.send(bare("GET", "/readyz")).await;
    let expected = json!({"error": {"message": "the server is stopping", "type": "server_error",
                                    "param": null, "code": "not_ready"}});
    assert_eq!((ready.status, ready.json()), (503, expected));
    assert_eq!(ready.header("x-should-retry"), None);
    assert_eq!(stage.send(bare("GET", "/healthz")).await.status, 200);
    assert_eq!(stage.chat(&saying("say x")).await.status, 503);
}
