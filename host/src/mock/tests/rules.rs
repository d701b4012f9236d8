//! What the scripted upstream refuses, records and answers to anybody's requests.

use serde_json::{Value, json};

use super::*;

/// Sends `body` as it is; status and parsed answer.
async fn post(running: &Running, body: impl Into<reqwest::Body>) -> (u16, Value) {
    let client =
        reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    let url = format!("{}/chat/completions", running.base_url());
    let response = client.post(url).body(body).send().await.expect("an answer");
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

async fn get_text(running: &Running, path: &str) -> String {
    let client =
        reqwest::Client::builder().no_proxy().tls_certs_only([]).build().expect("a client");
    let url = format!("http://{}{path}", running.addr());
    client.get(url).send().await.expect("an answer").text().await.expect("a body")
}

#[tokio::test]
async fn whole_answers_and_the_other_paths() {
    let bench =
        Bench::new("model = \"m1\"\n[[turn]]\ntext = \"Hi.\"\nusage = { prompt = 1 }").await;
    let running = &bench.running;
    let (status, answer) = post(
        running,
        r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"u"}]}]}"#,
    )
    .await;
    assert_eq!(status, 200);
    assert_eq!(answer["model"], "m1");
    assert_eq!(answer["choices"][0]["message"], json!({"role": "assistant", "content": "Hi."}));
    assert_eq!(answer["usage"]["prompt_tokens"], 1);
    assert_eq!(get_text(running, "/healthz").await, "ok\n");
    assert!(get_text(running, "/v1/models").await.contains("\"id\":\"m1\""));
    let seen: Value =
        serde_json::from_str(&get_text(running, "/mock/requests").await).expect("one line of JSON");
    assert_eq!((&seen["turn"], &seen["violations"]), (&json!(1), &json!([])));
}

#[tokio::test]
async fn rules_of_the_wire() {
    let user = r#"{"role":"user","content":"u"}"#;
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"read","arguments":"{}"}}]}"#;
    let outcome = r#"{"role":"tool","tool_call_id":"a","content":"x"}"#;
    let body =
        |messages: &[&str]| format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
    let pictured = |url: &str| {
        let image = json!({"type": "image_url", "image_url": {"url": url}});
        json!({"role": "user", "content": [image]}).to_string()
    };
    let cases = [
        ("[]".to_owned(), "the body is not a JSON object"),
        ("{\"model\":\"m\"}".to_owned(), "`messages` is missing"),
        (body(&[]), "there is no user message"),
        (format!(r#"{{"messages":[{user}]}}"#), "`model` is missing or empty"),
        (
            format!(r#"{{"messages":[{user}],"model":"m"}}"#),
            "`messages` is not the last key: `model` follows",
        ),
        (
            format!(r#"{{"model":"m","tools":[],"messages":[{user}]}}"#),
            "`tools` is not a list with something in it",
        ),
        (
            format!(
                r#"{{"model":"m","tools":[{{"type":"function","function":{{"name":"a b","parameters":{{}}}}}}],"messages":[{user}]}}"#
            ),
            "`tools[0].function.name` is not 1 to 64 of `a-z A-Z 0-9 _ -`; `tools[0].function.parameters` is not the schema of an object",
        ),
        (
            body(&[user, r#"{"role":"system","content":"s"}"#]),
            "`messages[1]`: a system message that is not the first",
        ),
        (body(&[user, r#"{"role":"robot","content":"s"}"#]), "`messages[1]`: unknown role `robot`"),
        (
            body(&[user, r#"{"role":"assistant","content":" "}"#]),
            "`messages[1]`: an assistant message with neither text nor calls",
        ),
        (body(&[user, call]), "call `a` has no outcome"),
        (
            body(&[user, call, user, outcome]),
            "`messages[2]`: call `a` has no outcome directly after it; `messages[3]`: an outcome of `a`, which is no open call",
        ),
        (body(&[user, outcome]), "`messages[1]`: an outcome of `a`, which is no open call"),
        (
            body(&[user, call, outcome, outcome]),
            "`messages[3]`: an outcome of `a`, which is no open call",
        ),
        (
            body(&[user, call, &outcome.replace("\"a\"", "\"b\"")]),
            "`messages[2]`: expected the outcome of `a`, but `b` came; call `a` has no outcome",
        ),
        (
            body(&[user, &call.replace("{}", "{"), outcome]),
            "`messages[1]`: the arguments of call `a` are not the text of a JSON object; `messages[2]`: an outcome of `a`, which is no open call",
        ),
        (
            body(&[user, call, &outcome.replace("\"x\"", r#"[{"type":"text","text":"x"}]"#)]),
            "`messages[2]`: the outcome of a call that is not a text",
        ),
        (
            body(&[&pictured("https://example.com/a.png")]),
            "`messages[0]`: an image that is no data URL of one in base64",
        ),
        (
            body(&[&pictured("data:image/tiff;base64,AAAA")]),
            "`messages[0]`: an image that is no data URL of one in base64",
        ),
        (
            body(&[&pictured("data:image/png;base64,AA A")]),
            "`messages[0]`: an image that is no data URL of one in base64",
        ),
        (
            body(&[r#"{"role":"user","content":[{"type":"file"}]}"#]),
            "`messages[0]`: a part that is neither a text nor an image",
        ),
    ];
    let bench = Bench::new("[[turn]]\ntext = \"x\"\nrepeat = 2").await;
    for (sent, expected) in &cases {
        let (status, answer) = post(&bench.running, sent.clone()).await;
        assert_eq!((status, answer["error"]["message"].as_str()), (400, Some(*expected)), "{sent}");
    }
    assert_eq!(bench.running.requests().len(), cases.len());
    assert!(
        bench.running.requests().iter().all(|seen| seen.turn == 0 && !seen.violations.is_empty())
    );

    // Good ones, the second of them a suffix; then one that is none.
    assert_eq!(post(&bench.running, body(&[user])).await.0, 200);
    let (status, answer) =
        post(&bench.running, body(&[&user.replace("\"content\"", " \"content\""), call, outcome]))
            .await;
    assert_eq!(status, 400);
    let message = answer["error"]["message"].as_str();
    assert_eq!(
        message,
        Some("the messages are not the previous ones plus a suffix: byte 15 of 29 differs")
    );
    assert_eq!(post(&bench.running, body(&[user, call, outcome])).await.0, 200);
}

#[tokio::test]
async fn violations_can_be_let_pass() {
    let bench = Bench::new(
        "check = \"record\"\n[[turn]]\ntext = \"x\"\nexpect = [\"something\"]\nrepeat = 2",
    )
    .await;
    let body = r#"{"messages":[{"role":"user","content":"u"}],"model":"m"}"#;
    assert_eq!(post(&bench.running, body).await.0, 200);
    let violations =
        ["`messages` is not the last key: `model` follows", "turn 1: `something` does not occur"];
    assert_eq!(bench.running.requests()[0].violations, violations);
}

#[tokio::test]
async fn conversations_do_not_mix() {
    let bench = Bench::new("[[turn]]\ntext = \"one\"\n[[turn]]\ntext = \"two\"").await;
    let body = |text: &str| {
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#)
    };
    for (text, said) in [("a", "one"), ("b", "one"), ("a", "two"), ("c", "one"), ("b", "two")] {
        let (_, answer) = post(&bench.running, body(text)).await;
        assert_eq!(answer["choices"][0]["message"]["content"], said);
    }
    let conversations: Vec<_> =
        bench.running.requests().iter().map(|seen| seen.conversation).collect();
    assert_eq!(conversations, [1, 2, 1, 3, 2]);
}

#[test]
fn scripts_that_cannot_be_played() {
    let check = |script: &str, expected: &str| {
        let err = Script::parse(script).expect_err("no script").to_string();
        assert!(err.contains(expected), "{script}\n{err}");
    };
    check("", "the script has no `[[turn]]`");
    check("modle = \"x\"", "unknown field `modle`");
    check("[[turn]]\ntext = \"a\"\n[[turn]]\ntxt = \"b\"", "turn 2: unknown field `txt`");
    check("[[turn]]", "turn 1: expected one of `text`, `reasoning`, `calls`, `status`, `raw`");
    check(
        "[[turn]]\ntext = \"a\"\nstatus = 500",
        "turn 1: a reply, `status` and `raw` exclude each other",
    );
    check(
        "[[turn]]\ntext = \"a\"\nbody = \"b\"",
        "turn 1: `body` belongs to `status`, which is missing",
    );
    check("[[turn]]\nstatus = 200", "turn 1: `status` must be 300 to 599, but is 200");
    check("[[turn]]\ntext = \"a\"\nrepeat = 0", "turn 1: `repeat` must be 1 or more, but is 0");
    check("[[turn]]\ntext = \"a\"\nfinish = \"done\"", "turn 1: unknown variant `done`");
    check(
        "[[turn]]\ncalls = [{ tool = \"a\", input = {}, arguments = \"\" }]",
        "turn 1: call `a` has both",
    );
    check("[[turn]]\ncalls = [{ input = {} }]", "turn 1: missing field `tool`");
    check(
        "[[turn]]\nstatus = 500\nheaders = { \"a b\" = \"c\" }",
        "turn 1: header `a b` has a name or a value",
    );
}
