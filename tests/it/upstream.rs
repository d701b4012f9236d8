//! What of an upstream's refusals reaches the client, and what only the operator.

use serde_json::{Value, json};

use crate::rig::{KEY, Rig, until};

/// The client's view of a run whose upstream answers with `turn`.
async fn refused(
    turn: &str,
    more: &[(&str, Value)],
) -> (Rig, reqwest::header::HeaderMap, u16, Value) {
    let rig = Rig::start(&format!("[[turn]]\n{turn}\n"), "").await;
    let mut body = rig.body("go");
    for (key, value) in more {
        body[*key] = value.clone();
    }
    let response = rig.post(&body).await;
    let (headers, status) = (response.headers().clone(), response.status().as_u16());
    let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    (rig, headers, status, body["error"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_is_too_long_is_handed_on() {
    let turn = "status = 429\nbody = 'slow down'\nheaders = { retry-after-ms = \"3600500\", x-request-id = \"theirs\" }";
    let (rig, headers, status, error) = refused(turn, &[]).await;
    assert_eq!(status, 429, "{error:#}");
    assert_eq!(headers["retry-after"], "3601");
    let message = "the upstream limits the rate of requests and asks to wait 3601 s: slow down";
    assert_eq!(error["message"], message);
    assert_eq!(error["type"], "rate_limit_error");
    assert_eq!(rig.mock.requests().len(), 1, "there is no point in waiting");
    let theirs = headers.values().any(|value| value.to_str().is_ok_and(|text| text == "theirs"));
    assert!(!theirs, "no header of the upstream's is handed on: {headers:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_the_operators() {
    for (status, to_mend) in [
        (401, "check `upstream.api_key`"),
        (402, "no credit left"),
        (403, "check what the key may use"),
    ] {
        let turn = format!("status = {status}\nbody = 'account 4711 of {KEY}'");
        let (rig, headers, told, error) = refused(&turn, &[]).await;
        assert_eq!(told, 502, "{error:#}");
        let message = format!("the upstream did not accept the credentials, with status {status}");
        assert_eq!(error["message"], message);
        assert_eq!(headers["x-should-retry"], "false");
        let log = rig.log();
        assert!(log.contains(to_mend), "{log}");
        assert!(!log.contains("4711") && !log.contains(KEY), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_without_what_is_not_the_clients() {
    let error = json!({"error": {
        "message": format!("no `temperature` for {KEY}, sk-other-0123456789 at 127.0.0.1"),
        "code": "unsupported_value",
        "param": "temperature",
    }});
    let turn = format!("status = 400\nbody = '{error}'");
    let (_, headers, status, error) = refused(&turn, &[("temperature", json!(2))]).await;
    assert_eq!(status, 400, "{error:#}");
    let message = "the upstream refused the request with status 400 (`unsupported_value`): \
                   no `temperature` for [removed], [removed] at [removed]";
    assert_eq!(error["message"], message);
    assert_eq!(
        (&error["code"], &error["param"]),
        (&json!("upstream-refused"), &json!("temperature"))
    );
    assert_eq!(headers["x-should-retry"], "false");

    let (_, _, _, error) = refused(&turn, &[]).await;
    assert_eq!(error["param"], Value::Null, "the client sent no such key");

    let (_, _, status, error) = refused("status = 404\nbody = '<html>nginx</html>'", &[]).await;
    assert_eq!(status, 404);
    let message = "the upstream refused the request with status 404: \
                   a web page came instead of an API's error";
    assert_eq!(error["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_window_is_told_once_the_upstream_told_it() {
    let rig = Rig::start("context_window = 32768\n[[turn]]\ntext = \"hi\"\n", "").await;
    until("the upstream is asked", || rig.log().contains("the upstream told the context window"))
        .await;
    for path in ["/v1/models/scripted", "/v1/models/harness"] {
        assert_eq!(rig.json(path).await.1["context_window"], 32_768, "{path}");
    }

    let rig = Rig::start("[[turn]]\ntext = \"hi\"\n", "").await;
    until("the upstream is asked", || rig.log().contains("does not tell the context window")).await;
    let (_, models) = rig.json("/v1/models").await;
    assert_eq!(models["data"][0].get("context_window"), None, "{models:#}");
    assert_eq!(rig.chat(&rig.body("go")).await.answer(), "hi");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_is_learned_from_a_refusal() {
    let error = json!({"error": {"message": "too long", "type": "exceed_context_size_error", "n_ctx": 4096}});
    let (rig, _, status, told) = refused(&format!("status = 400\nbody = '{error}'"), &[]).await;
    assert_eq!(status, 400, "{told:#}");
    assert_eq!(rig.json("/v1/models/scripted").await.1["context_window"], 4096);
}
