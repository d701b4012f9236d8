//! What replies look like, key by key, whole and streamed.

use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, bare, chat_request, saying, until};

fn usage() -> Value {
    json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
           "prompt_tokens_details": {"cached_tokens": 4},
           "completion_tokens_details": {"reasoning_tokens": 2}})
}

fn run_info(reason: &str, notes: Value) -> Value {
    json!({"session_id": "ws_…", "run_id": "run_…", "workspace": "/…", "turns": 1,
           "tool_calls": 0, "termination_reason": reason, "notes": notes})
}

fn chunk(delta: Value, finish_reason: Value) -> Value {
    json!({"id": "chatcmpl-…", "object": "chat.completion.chunk", "created": "TIME",
           "model": "m",
           "choices": [{"index": 0, "delta": delta, "logprobs": null,
                        "finish_reason": finish_reason}]})
}

#[tokio::test]
async fn a_whole_reply() {
    let stage = Stage::open().await;
    let mut body = saying("say hello");
    body["user"] = json!("eve");
    let answer = stage.chat(&body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("x-harness-session").is_some_and(|id| id.starts_with("ws_")));
    assert!(answer.header("x-harness-run").is_some_and(|id| id.starts_with("run_")));
    assert!(answer.header("x-request-id").is_some());
    let expected = json!({
        "id": "chatcmpl-…", "object": "chat.completion", "created": "TIME", "model": "m",
        "choices": [{
            "index": 0,
            "message": {"role": "assistant", "content": "hello", "refusal": null, "annotations": []},
            "logprobs": null,
            "finish_reason": "stop",
        }],
        "usage": usage(),

        "harness": run_info("completed", json!(["`user` is neither kept nor sent on"])),
    });
    assert_eq!(answer.json(), expected);
}

#[tokio::test]
async fn a_limit_shows_as_length_and_an_unnamed_model_as_the_configured_one() {
    let stage = Stage::open().await;
    let body = json!({"messages": [{"role": "user", "content": "budget"}],
                      "harness": {"max_turns": 1}});
    let reply = stage.chat(&body).await.json();
    assert_eq!(reply["choices"][0]["message"]["content"], "so far");
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
    assert_eq!(reply["harness"]["termination_reason"], "max-turns");
    assert_eq!(reply["model"], "Org/configured");
}

#[tokio::test]
async fn a_streamed_reply() {
    let stage = Stage::open().await;
    let mut body = saying("say hello");
    body["stream"] = json!(true);
    let answer = stage.chat(&body).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(answer.header("x-harness-session").is_some_and(|id| id.starts_with("ws_")));
    assert!(answer.header("x-harness-run").is_some_and(|id| id.starts_with("run_")));
    let mut closing = chunk(json!({}), json!("stop"));
    closing["harness"] = run_info("completed", json!([]));
    let expected = vec![
        chunk(json!({"role": "assistant", "content": ""}), json!(null)),
        chunk(json!({"content": "hello"}), json!(null)),
        closing,
        json!("data: [DONE]"),
    ];
    assert_eq!(answer.events(), expected);
}

#[tokio::test]
async fn a_stream_tells_its_usage_when_asked() {
    let stage = Stage::open().await;
    let mut body = saying("say hello");
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    let mut expected = vec![
        chunk(json!({"role": "assistant", "content": ""}), json!(null)),
        chunk(json!({"content": "hello"}), json!(null)),
        chunk(json!({}), json!("stop")),
    ];
    expected[2]["harness"] = run_info("completed", json!([]));
    for chunk in &mut expected {
        chunk["usage"] = json!(null);
    }
    let mut last = chunk(json!({}), json!(null));
    last["choices"] = json!([]);
    last["usage"] = usage();
    expected.extend([last, json!("data: [DONE]")]);
    assert_eq!(stage.chat(&body).await.events(), expected);
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_the_envelope() {
    let stage = Stage::open().await;
    let mut body = saying("fail");
    body["stream"] = json!(true);
    let answer = stage.chat(&body).await;
    let message = "the upstream did not accept the credentials, with status 401";
    let error = json!({"error": {"message": message, "type": "server_error", "param": null,
                                 "code": "upstream-refused"}});
    let expected = vec![
        chunk(json!({"role": "assistant", "content": ""}), json!(null)),
        error,
        json!("data: [DONE]"),
    ];
    assert_eq!((answer.status, answer.events()), (200, expected));
}

#[tokio::test]
async fn a_slow_stream_shows_signs_of_life() {
    let stage = Stage::open().await;
    let mut body = saying("slow");
    body["stream"] = json!(true);
    let events = stage.chat(&body).await.events();
    // The run takes more than two intervals and says nothing.
    assert_eq!(events[1], json!(": keep-alive"), "{events:?}");
    assert_eq!(events[2], json!(": keep-alive"), "{events:?}");
    assert_eq!(events[events.len() - 1], json!("data: [DONE]"));
}

#[tokio::test]
async fn a_long_answer_comes_in_pieces_that_every_client_can_read() {
    let stage = Stage::open().await;
    let text = format!("é{}\u{2028}\u{85}", "ab😀".repeat(400));
    let mut body = saying(&format!("say {text}"));
    body["stream"] = json!(true);
    let answer = stage.chat(&body).await;
    let content =
        |event: &Value| event["choices"][0]["delta"]["content"].as_str().map(str::to_owned);
    let whole: String = answer.events().iter().filter_map(content).collect();
    assert_eq!(whole, text);
    assert!(!answer.body.contains(['\u{2028}', '\u{85}']));
}

/// Everything a request may say arrives, and the session it names is gone on with.
#[tokio::test]
async fn the_loop_gets_what_was_asked() {
    let stage = Stage::open().await;
    let workspace = tempfile::Builder::new().prefix("ä").tempdir_in(stage.directory.path());
    let workspace = workspace.expect("a directory");
    let workspace = workspace.path().to_str().expect("UTF-8");
    let mut body = json!({
        "model": "gpt-5",
        "messages": [{"role": "system", "content": "be brief"},
                     {"role": "user", "content": "say one END two"}],
        "tool_choice": "none", "stop": ["END"], "temperature": 0.5, "max_tokens": 7,
        "response_format": {"type": "json_object"},
        "harness": {"workspace": workspace, "max_turns": 3, "max_seconds": 9},
    });
    let headers = format!("X-Harness-Workspace: {workspace}\r\n");
    let first = stage.send(chat_request(&headers, &body)).await;
    assert_eq!(first.json()["choices"][0]["message"]["content"], "one ");
    let asked = stage.upstream.last.lock().expect("no panic under the lock").clone();
    assert_eq!((&asked["model"], &asked["temperature"]), (&json!("gpt-5"), &json!(0.5)));
    assert_eq!((asked.get("stop"), asked.get("harness")), (None, None));
    // Without tools every reply is the answer, so these go with the request.
    assert_eq!(asked["response_format"], json!({"type": "json_object"}));
    assert_eq!(asked.get("max_tokens").or(asked.get("max_completion_tokens")), Some(&json!(7)));
    let system = asked["messages"][0]["content"].as_str();
    assert!(system.is_some_and(|text| text.ends_with("be brief")), "{asked}");

    let session = first.header("x-harness-session").expect("an id").to_owned();
    body["model"] = json!(format!("gpt-5::{session}"));
    let second = stage.chat(&body).await;
    assert_eq!(second.header("x-harness-session"), Some(session.as_str()));
    assert_eq!(second.json()["model"], body["model"]);
    assert_ne!(second.header("x-harness-run"), first.header("x-harness-run"));
}

#[tokio::test]
async fn models_and_health() {
    let stage = Stage::open().await;
    let model =
        |id: &str| json!({"id": id, "object": "model", "created": "TIME", "owned_by": "harness"});
    let mut list = stage.send(bare("GET", "/v1/models")).await.json();
    for model in list["data"].as_array_mut().expect("a list") {
        model["created"] = json!("TIME");
    }
    let expected = json!({"object": "list", "data": [model("Org/configured"), model("harness")]});
    assert_eq!(list, expected);
    for path in ["/v1/models/Org/configured", "/v1/models/Org%2Fconfigured"] {
        assert_eq!(stage.send(bare("GET", path)).await.json(), model("Org/configured"));
    }
    let alive = stage.send(bare("GET", "/healthz")).await;
    assert_eq!((alive.status, alive.json()), (200, json!({"status": "ok"})));
    let ready = stage.send(bare("GET", "/readyz")).await;
    assert_eq!((ready.status, ready.json()), (200, json!({"status": "ready", "sandbox": null})));
    assert_eq!(stage.send(bare("HEAD", "/healthz")).await.status, 200);
}

#[tokio::test]
async fn an_ordinary_client_reads_it() {
    // The client wants a provider even for plain HTTP; a second test may have set it before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let stage = Stage::open().await;
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let url = format!("http://{}/v1/chat/completions", stage.address);
    for _ in 0..2 {
        let sent = client
            .post(&url)
            .header("content-type", "application/json")
            .header("authorization", "Bearer any")
            .body(saying("say hello").to_string())
            .send();
        let response = sent.await.expect("a response");
        let text = response.text().await.expect("a body");
        let reply: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(reply["choices"][0]["message"]["content"], "hello");
    }
}

#[tokio::test]
async fn stopping_ends_runs_and_tells_their_clients() {
    let mut stage = Stage::open().await;
    let idle = stage.connect().await;
    let body = saying("wait");
    let mut streamed = body.clone();
    streamed["stream"] = json!(true);
    let whole = stage.chat(&body);
    let stream = stage.chat(&streamed);
    let stopping = async {
        until("both runs start", Duration::from_secs(5), || stage.asked() == 2).await;
        stage.stop.cancel();
    };
    let (whole, stream, ()) = tokio::join!(whole, stream, stopping);
    assert_eq!((whole.status, &whole.json()["error"]["code"]), (503, &json!("cancelled")));
    assert_eq!(stream.events().pop(), Some(json!("data: [DONE]")));
    drop(idle);
    let ended = tokio::time::timeout(Duration::from_secs(5), &mut stage.server).await;
    assert!(matches!(ended, Ok(Ok(Ok(())))), "{ended:?}");
}
