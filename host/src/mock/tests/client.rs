//! The upstream client against the scripted upstream: replies, failures, refusals.

use super::*;
use crate::event::Reason;
use crate::message::{Finish, Usage};

#[tokio::test]
async fn a_script_is_played_in_order() {
    let mut bench = Bench::new(
        r#"
        [[turn]]
        text = "Let me look, at all of it, for as long as it takes: 世界."
        reasoning = "hm"
        calls = [
            { tool = "read", input = { path = "src/main.rs", lines = [1, 2], deep = { a = true } } },
            { tool = "bash", arguments = "not json {" },
            { tool = "status" },
        ]
        usage = { prompt = 100, completion = 10, cached = 50, reasoning = 3 }
        [[turn]]
        text = "again {n}"
        calls = [{ tool = "read", input = { path = "f{n}" } }]
        repeat = 2
        expect = ["fn main"]
        [[turn]]
        text = "Done."
        finish = "length"
        "#,
    )
    .await;
    let reply = bench.ask().await.expect("the first");
    assert_eq!(reply.text, "Let me look, at all of it, for as long as it takes: 世界.");
    assert_eq!(reply.reasoning, "hm");
    assert_eq!(reply.finish, Finish::ToolCalls);
    let calls: Vec<_> =
        reply.calls.iter().map(|call| (&*call.id, &*call.tool, &*call.arguments)).collect();
    assert_eq!(
        calls,
        [
            ("call_1_1", "read", r#"{"deep":{"a":true},"lines":[1,2],"path":"src/main.rs"}"#),
            ("call_1_2", "bash", "not json {"),
            ("call_1_3", "status", "{}"),
        ]
    );
    let usage =
        Usage { prompt_tokens: 100, completion_tokens: 10, cached_tokens: 50, reasoning_tokens: 3 };
    assert_eq!(reply.usage, Some(usage));
    for n in 1..=2 {
        let reply = match n {
            1 => reply.clone(),
            _ => bench.ask().await.expect("again 1"),
        };
        bench.go_on(reply, "fn main() {}");
    }
    let reply = bench.ask().await.expect("again 2");
    assert_eq!((&*reply.text, &*reply.calls[0].arguments), ("again 2", r#"{"path":"f2"}"#));
    bench.go_on(reply, "anything");
    let reply = bench.ask().await.expect("the last");
    assert_eq!((&*reply.text, reply.finish), ("Done.", Finish::Length));
    bench.go_on(reply, "");
    bench.conversation.push(Message::User { text: "More?".to_owned() });
    let err = bench.ask().await.expect_err("used up");
    assert_eq!(
        err,
        UpstreamError::Failed {
            status: 500,
            retry_after: None,
            message: "the script is used up: 4 answers were played".to_owned()
        }
    );
    assert_eq!(bench.reasons(), [""; 0], "a used-up script says that trying again is no use");
    let seen = bench.running.requests();
    let told: Vec<_> =
        seen.iter().map(|seen| (seen.conversation, seen.turn, seen.status)).collect();
    assert_eq!(told, [(1, 1, 200), (1, 2, 200), (1, 3, 200), (1, 4, 200), (1, 0, 500)]);
    for pair in seen.windows(2) {
        assert!(pair[0].received_us <= pair[0].answered_us.expect("answered"));
        assert!(pair[0].answered_us.expect("answered") <= pair[1].received_us);
        assert!(pair[0].body_bytes < pair[1].body_bytes);
    }
}

#[tokio::test]
async fn passing_failures_are_tried_again() {
    let cases = [
        ("status = 503", "the upstream failed with status 503: scripted status 503"),
        (
            "status = 503\nbody = '{\"error\":{\"message\":\"Loading model\",\"code\":503}}'",
            "the upstream failed with status 503: Loading model",
        ),
        ("status = 408", "the upstream failed with status 408: scripted status 408"),
        ("status = 409", "the upstream failed with status 409: scripted status 409"),
        ("status = 425", "the upstream failed with status 425: scripted status 425"),
        (
            "status = 429\nbody = '{\"error\":{\"message\":\"check your plan and billing. Retry in 0.002s\"}}'",
            "the upstream limits the rate of requests and asks to wait 2 ms: check your plan and billing. Retry in 0.002s",
        ),
        (
            "status = 429\nbody = \"slow down\"",
            "the upstream limits the rate of requests: slow down",
        ),
        (
            "status = 502\nbody = \"<html>proxy7</html>\"",
            "the upstream failed with status 502: a web page came instead of an API's error",
        ),
        (
            "text = \"half\"\nfinish = \"none\"",
            "the upstream's answer broke off: it ended without a finish reason",
        ),
        (
            "text = \"half\"\nfinish = \"none\"\ndisconnect = true",
            "the upstream's answer broke off: the connection was lost",
        ),
        (
            "raw = \"data: {\\\"error\\\":{\\\"type\\\":\\\"overloaded_error\\\",\\\"message\\\":\\\"busy\\\"}}\\n\\n\"",
            "the upstream failed with status 529: busy",
        ),
        (
            "raw = \"data: nonsense\\n\\n\"",
            "the upstream's answer broke off: an event is not the JSON of a chunk",
        ),
        (
            "status = 400\nbody = '{\"error\":{\"message\":\"Failed to call a function\",\"code\":\"tool_use_failed\"}}'",
            "the upstream's answer broke off: the model's tool call was not readable upstream",
        ),
    ];
    for (turn, reason) in cases {
        let mut bench =
            Bench::new(&format!("[[turn]]\n{turn}\nrepeat = 2\n[[turn]]\ntext = \"fine\"")).await;
        assert_eq!(bench.ask().await.expect("the third attempt").text, "fine", "{turn}");
        assert_eq!(bench.reasons(), [reason, reason], "{turn}");
        let mut bench = Bench::new(&format!("[[turn]]\n{turn}\nrepeat = 4")).await;
        let err = bench.ask().await.expect_err("no fourth attempt");
        assert_eq!(
            (err.to_string().as_str(), err.reason()),
            (reason, Reason::UpstreamFailed),
            "{turn}"
        );
        assert_eq!(bench.running.requests().len(), 3, "{turn}");
    }
}

#[tokio::test]
async fn lasting_refusals_are_not_tried_again() {
    let refused = |status, message: &str, code: Option<&str>| UpstreamError::Refused {
        status,
        message: message.to_owned(),
        code: code.map(str::to_owned),
        param: None,
    };
    let overflow = |message: &str, window| UpstreamError::ContextOverflow {
        message: message.to_owned(),
        window,
    };
    let cases = [
        (400, r#"{"error":{"message":"bad","code":"x"}}"#, refused(400, "bad", Some("x"))),
        (422, r#"{"detail":"bad"}"#, refused(422, "bad", None)),
        (404, "no such model", refused(404, "no such model", None)),
        (
            400,
            r#"[{"error":{"message":"bad","status":"INVALID_ARGUMENT"}}]"#,
            refused(400, "bad", None),
        ),
        (400, r#"{"code":"Invalid","error":"bad"}"#, refused(400, "bad", Some("Invalid"))),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"m\":1}"}}}"#,
            refused(400, r#"Provider returned error: {"m":1}"#, None),
        ),
        (
            429,
            r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#,
            refused(429, "no money", Some("insufficient_quota")),
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your quota, check your plan and billing details."}}"#,
            refused(429, "You exceeded your quota, check your plan and billing details.", None),
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"bad\",\"code\":\"x\"}}"}}}"#,
            refused(400, "Provider returned error: bad", Some("x")),
        ),
        (
            404,
            "<html>nginx7</html>",
            refused(404, "a web page came instead of an API's error", None),
        ),
        (
            400,
            r#"{"error":{"message":"no","code":"sk-proj-0123456789","param":"a key: sk-1"}}"#,
            refused(400, "no", None),
        ),
        (302, "", refused(302, "it answered with a redirect, which is not followed", None)),
        (401, "key sk-very-secret is wrong", UpstreamError::Credentials { status: 401 }),
        (402, "", UpstreamError::Credentials { status: 402 }),
        (403, "", UpstreamError::Credentials { status: 403 }),
        (
            400,
            r#"{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            overflow("prompt is too long: 9 tokens > 8 maximum", None),
        ),
        (
            400,
            r#"{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192,"message":"big"}}"#,
            overflow("big", Some(8192)),
        ),
        (
            413,
            r#"{"error":{"message":"Your input exceeds the context window of this model","code":"context_length_exceeded"}}"#,
            overflow("Your input exceeds the context window of this model", None),
        ),
        (
            400,
            "we saw sk-very-secret at 127.0.0.1, and Bearer 0123456789",
            refused(400, "we saw [removed] at [removed], and Bearer [removed]", None),
        ),
    ];
    for (status, body, expected) in cases {
        let mut bench = Bench::new(&format!("[[turn]]\nstatus = {status}\nbody = '{body}'")).await;
        assert_eq!(bench.ask().await, Err(expected.clone()), "{status} {body}");
        assert_eq!(expected.reason(), Reason::UpstreamRefused);
        assert_eq!(bench.running.requests().len(), 1, "{status} {body}");
    }
}

#[tokio::test]
async fn long_error_bodies_are_cut() {
    let mut bench =
        Bench::new(&format!("[[turn]]\nstatus = 400\nbody = '{}'", "é".repeat(100_000))).await;
    let Err(UpstreamError::Refused { message, .. }) = bench.ask().await else {
        panic!("not refused")
    };
    assert_eq!(message.len(), 2 << 10);
}

#[tokio::test]
async fn a_dropped_ask_ends_the_request() {
    let mut bench = Bench::new("[[turn]]\ntext = \"late\"\npause_ms = 600000").await;
    {
        let stage = Arc::clone(&bench.running.stage);
        let asked = bench.ask();
        tokio::pin!(asked);
        // Until the request is there; the pause after it is longer than any test.
        while stage.seen().is_empty() {
            tokio::select! {
                reply = &mut asked => panic!("{reply:?}"),
                () = tokio::task::yield_now() => {}
            }
        }
        assert_eq!(stage.seen()[0].answered_us, None);
    }
    let noticed = async {
        while bench.running.requests()[0].answered_us.is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, noticed).await.expect("the server sees that the client is gone");
}

#[tokio::test]
async fn connections_are_used_again() {
    let mut bench = Bench::new("[[turn]]\ntext = \"fine {n}\"\nrepeat = 20").await;
    let listener = TcpListener::bind(LOOPBACK).await.expect("a listener");
    let address = listener.local_addr().expect("an address");
    let target = bench.running.addr();
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            tokio::spawn(async move {
                let mut server = tokio::net::TcpStream::connect(target).await.expect("the mock");
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    bench.upstream = upstream_at(address, timers());
    for n in 1..=20 {
        assert_eq!(bench.ask().await.expect("a reply").text, format!("fine {n}"));
    }
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
}
