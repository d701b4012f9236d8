//! Never twice: a request that is sent again is the same run, and what a tool did is not done again.

use serde_json::{Value, json};

use crate::rig::{Rig, until};

const AGAIN: (&str, &str) = ("x-stainless-retry-count", "1");

/// Leaves a line for each time it ran.
const ONE_COMMAND: &str = r#"
    [[turn]]
    calls = [{ tool = "bash", input = { command = "echo ran >> count; until test -e go; do sleep 0.02; done" } }]
    [[turn]]
    text = "done"
"#;

fn ran(rig: &Rig) -> usize {
    let text = std::fs::read_to_string(rig.workspace().join("count")).unwrap_or_default();
    text.lines().count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_waits_for_the_run_it_began() {
    for again in [AGAIN, ("idempotency-key", "k-1")] {
        let rig = Rig::start(ONE_COMMAND, "").await;
        let body = rig.body("go");
        let first =
            rig.chat_with(&[("idempotency-key", "k-1")][..usize::from(again != AGAIN)], &body);
        let second = async {
            until("the command runs", || ran(&rig) == 1).await;
            let asking = rig.chat_with(std::slice::from_ref(&again), &body);
            let letting = async {
                until("the second is there", || rig.log().matches("sent again").count() == 1).await;
                rig.put("go", "");
            };
            tokio::join!(asking, letting).0
        };
        let (first, second) = tokio::join!(first, second);
        assert_eq!((first.status, second.status), (200, 200), "{:#}", second.body);
        assert_eq!(first.run, second.run);
        assert_eq!(first.answer(), second.answer());
        assert_eq!(ran(&rig), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_what_the_run_came_to_also_after_a_restart() {
    let mut rig = Rig::start(ONE_COMMAND, "").await;
    rig.put("go", "");
    let mut body = rig.body("go");
    let key = [("idempotency-key", "k-2")];
    let first = rig.chat_with(&key, &body).await;
    let asked = rig.mock.requests().len();
    let compare = |again: &Value| {
        for part in ["choices", "usage", "harness", "id"] {
            assert_eq!(again[part], first.body[part], "{part}");
        }
    };
    compare(&rig.chat_with(&key, &body).await.body);
    compare(&rig.chat_with(&[AGAIN, key[0]], &body).await.body);
    rig.kill_and_restart();
    compare(&rig.chat_with(&key, &body).await.body);
    assert_eq!((ran(&rig), rig.mock.requests().len()), (1, asked));
    // Streamed, it is the same answer; the same key for another body is a mistake.
    body["stream"] = json!(true);
    let reply = rig.chat_with(&key, &body).await;
    assert_eq!((reply.status, reply.reason()), (422, "idempotency_key_reused"));
    assert_eq!(reply.should_retry.as_deref(), Some("false"));
    for wrong in ["", &"k".repeat(256)] {
        let reply = rig.chat_with(&[("idempotency-key", wrong)], &body).await;
        assert_eq!((reply.status, reply.reason()), (400, "invalid_value"), "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_count_or_key_the_same_request_is_another_run() {
    let script = format!("check = \"record\"\n{ONE_COMMAND}{ONE_COMMAND}");
    let rig = Rig::start(&script, "").await;
    rig.put("go", "");
    let body = rig.body("go");
    let first = rig.chat(&body).await;
    let second = rig.chat_with(&[("x-stainless-retry-count", "0")], &body).await;
    assert_eq!((first.status, second.status), (200, 200));
    assert_ne!(first.run, second.run);
    assert_eq!(ran(&rig), 2);
    // A retry finds the newest.
    let third = rig.chat_with(&[AGAIN], &body).await;
    assert_eq!(third.run, second.run);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_did_something_and_failed_is_told_and_not_repeated() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo ran >> count" } }]
        [[turn]]
        status = 400
        body = '{"error": {"message": "no"}}'
    "#;
    let rig = Rig::start(script, "").await;
    let body = rig.body("go");
    let first = rig.chat(&body).await;
    assert_eq!(
        (first.status, first.should_retry.as_deref()),
        (400, Some("false")),
        "{:#}",
        first.body
    );
    // Not every client says that it sends again.
    let silent = rig.chat(&body).await;
    assert_eq!((silent.status, silent.reason()), (409, "already_run"), "{:#}", silent.body);
    let again = rig.chat_with(&[AGAIN], &body).await;
    assert_eq!((again.status, again.reason()), (409, "already_run"), "{:#}", again.body);
    assert_eq!(again.should_retry.as_deref(), Some("false"));
    let message = again.body["error"]["message"].as_str().unwrap();
    assert!(message.contains(&first.run) && message.contains("upstream-refused"), "{message}");
    assert_eq!(ran(&rig), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_failed_before_it_did_anything_is_begun_anew() {
    let script = "[[turn]]\nstatus = 401\nbody = '{}'\n[[turn]]\ntext = \"now\"\n";
    let rig = Rig::start(script, "").await;
    let body = rig.body("go");
    let key = ("idempotency-key", "k-3");
    let first = rig.chat_with(&[key], &body).await;
    assert_eq!((first.status, first.should_retry.as_deref()), (502, Some("false")));
    let second = rig.chat_with(&[key, AGAIN], &body).await;
    assert_eq!((second.status, second.answer()), (200, "now"), "{:#}", second.body);
    let third = rig.chat_with(&[key, AGAIN], &body).await;
    assert_eq!(third.run, second.run);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_a_retry_hears_that_the_run_was_cut_off() {
    let mut rig = Rig::start(ONE_COMMAND, "").await;
    let body = rig.body("go");
    let headers = [("idempotency-key", "k-4")];
    let client = rig.client.clone();
    let url = format!("{}/v1/chat/completions", rig.server.url);
    let sent = client
        .post(url)
        .header("content-type", "application/json")
        .header("idempotency-key", "k-4")
        .body(body.to_string())
        .send();
    let asking = tokio::spawn(sent);
    until("the command runs", || ran(&rig) == 1).await;
    rig.kill_and_restart();
    assert!(asking.await.unwrap().is_err(), "the connection was lost");
    let again = rig.chat_with(&headers, &body).await;
    assert_eq!((again.status, again.reason()), (409, "already_run"), "{:#}", again.body);
    assert!(again.body["error"]["message"].as_str().unwrap().contains("interrupted"));
    assert_eq!(ran(&rig), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_ends_as_the_first_did() {
    let script = "[[turn]]\ntext = \"0123456789\"\nusage = { prompt = 1, completion = 10 }\n";
    let rig = Rig::start(script, "").await;
    let mut body = rig.body("go");
    body["max_tokens"] = json!(5);
    let key = [("idempotency-key", "k-5")];
    let first = rig.chat_with(&key, &body).await;
    assert_eq!(first.body["choices"][0]["finish_reason"], "length", "{:#}", first.body);
    let again = rig.chat_with(&key, &body).await;
    assert_eq!(again.body["choices"], first.body["choices"]);
    assert_eq!(again.run, first.run);
}
