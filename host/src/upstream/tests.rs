//! Bytes in, reply out: every transcript, cut in every way; and bodies that only grow.
#![expect(clippy::disallowed_methods, reason = "reads the transcripts")]

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::reading::Reading;
use super::*;
use crate::image::Image;
use crate::message::{Call, CallOutcome, Message, Reply};
use crate::quirks::Quirks;

/// Reads `pieces` as one answer, the second message of its conversation.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Reply, UpstreamError> {
    let mut reading = Reading::new();
    for piece in pieces {
        reading.feed(piece)?;
    }
    reading.end(&HashSet::new(), 2)
}

fn shown(result: Result<Reply, UpstreamError>) -> Value {
    match result {
        Ok(reply) => json!({
            "text": reply.text,
            "reasoning": reply.reasoning,
            "calls": reply.calls,
            "finish": reply.finish,
            "usage": reply.usage,
        }),
        Err(err) => json!({ "error": err.to_string() }),
    }
}

struct Transcript {
    name: String,
    bytes: Vec<u8>,
    expected: Value,
}

fn transcripts() -> Vec<Transcript> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/transcripts");
    let mut all: Vec<Transcript> = std::fs::read_dir(folder)
        .expect("the transcripts' folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| Transcript {
            name: path.file_name().expect("a name").to_string_lossy().into_owned(),
            bytes: std::fs::read(path.join("upstream.sse")).expect("upstream.sse"),
            expected: serde_json::from_slice(
                &std::fs::read(path.join("expected.json")).expect("expected.json"),
            )
            .expect("JSON in expected.json"),
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(all.len() > 40, "only {} transcripts", all.len());
    all
}

#[test]
fn every_transcript_gives_its_reply() {
    let wrong: Vec<String> = transcripts()
        .into_iter()
        .filter_map(|transcript| {
            let got = shown(read([&transcript.bytes[..]]));
            (got != transcript.expected)
                .then(|| format!("{}:\n  {got}\n  {}", transcript.name, transcript.expected))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_single_cut_and_single_bytes_give_the_same() {
    for transcript in transcripts() {
        for at in 0..=transcript.bytes.len() {
            let (head, tail) = transcript.bytes.split_at(at);
            assert_eq!(
                shown(read([head, tail])),
                transcript.expected,
                "{} cut at {at}",
                transcript.name
            );
        }
        assert_eq!(
            shown(read(transcript.bytes.chunks(1))),
            transcript.expected,
            "{}",
            transcript.name
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_cuts_give_the_same(mut cuts in prop::collection::vec(0.0..1.0f64, 0..12)) {
        cuts.sort_by(f64::total_cmp);
        for transcript in transcripts() {
            let mut pieces = Vec::new();
            let mut rest = &transcript.bytes[..];
            for cut in &cuts {
                let done = transcript.bytes.len() - rest.len();
                let at = ((cut * transcript.bytes.len() as f64) as usize).saturating_sub(done);
                let (piece, after) = rest.split_at(at.min(rest.len()));
                pieces.push(piece);
                rest = after;
            }
            pieces.push(rest);
            prop_assert_eq!(shown(read(pieces)), transcript.expected, "{}", transcript.name);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "(data: ?|\\{|\\}|\"|[a-z]|\n|\r|:|\\[DONE\\]){0,60}") {
        let _ = read([&bytes[..]]);
        let _ = read([text.as_bytes()]);
    }

    #[test]
    fn arbitrary_arguments_are_kept_or_split(pieces in prop::collection::vec("[{}\":,a é]{0,6}", 0..6)) {
        let mut stream = String::new();
        for piece in &pieces {
            let piece = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "t", "arguments": piece}}]}}]});
            stream += &format!("data: {piece}\n\n");
        }
        stream += "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";
        let reply = read([stream.as_bytes()]).expect("a reply");
        let ids: HashSet<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
        prop_assert_eq!(ids.len(), reply.calls.len());
    }
}

#[test]
fn ids_of_earlier_turns_are_not_used_again() {
    let taken: HashSet<String> = ["a".to_owned(), "a_2".to_owned(), "call_2_1".to_owned()].into();
    let mut reading = Reading::new();
    let bytes = br#"{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"t"}},{"function":{"name":"u"}}]},"finish_reason":"stop"}]}"#;
    reading.feed(bytes).expect("feed");
    let calls = reading.end(&taken, 2).expect("a reply").calls;
    let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["a_3", "call_2_1_2"]);
}

#[test]
fn a_reply_has_a_largest_size() {
    let piece =
        format!("data: {}\n\n", json!({"choices": [{"delta": {"content": "x".repeat(1 << 20)}}]}));
    let result = read(std::iter::repeat_n(piece.as_bytes(), 17));
    assert_eq!(result, Err(UpstreamError::TooLarge { limit_bytes: 16 << 20 }));
    let result = read(std::iter::repeat_n(&[b'x'; 1 << 20][..], 17));
    assert_eq!(result, Err(UpstreamError::TooLarge { limit_bytes: 16 << 20 }));
    let whole = [b"{", &[b' '; 1 << 20][..]].concat();
    let result = read(std::iter::repeat_n(&whole[..], 17));
    assert_eq!(result, Err(UpstreamError::TooLarge { limit_bytes: 16 << 20 }));
}

fn call(id: &str, tool: &str, arguments: &str) -> Call {
    Call { id: id.to_owned(), tool: tool.to_owned(), arguments: arguments.to_owned() }
}

fn outcome(call_id: &str, text: &str) -> CallOutcome {
    CallOutcome { call_id: call_id.to_owned(), text: text.to_owned(), images: Vec::new() }
}

fn messages() -> Vec<Message> {
    let text = |text: &str| text.to_owned();
    vec![
        Message::System { text: text("Be brief.") },
        Message::User { text: text("Look \"here\"\n\u{1}") },
        Message::Assistant {
            text: String::new(),
            calls: vec![call("a", "read", r#"{"path": "x"}"#), call("b", "ba sh<|x", "not json {")],
        },
        Message::Outcomes { outcomes: vec![outcome("a", "1\tfn"), outcome("b", " ")] },
        Message::Assistant { text: text("  "), calls: vec![] },
        Message::Assistant { text: text("Done."), calls: vec![] },
        Message::User { text: text("Thanks.") },
    ]
}

fn ask<'a>(conversation: &'a Conversation, offers: &'a Offers, extra: &'a Passthrough) -> Ask<'a> {
    Ask {
        model: "m",
        conversation,
        offers,
        choice: ToolChoice::Auto,
        extra,
        output_limit: None,
        deadline: Deadline::after(Duration::from_secs(60)),
    }
}

#[test]
fn each_body_is_the_one_before_and_a_suffix() {
    let mut conversation = Conversation::new(Arc::default());
    let (offers, extra) = (Offers::default(), Passthrough::default());
    let mut before = Vec::new();
    for message in messages() {
        conversation.push(message);
        let body = encode::body(&ask(&conversation, &offers, &extra)).to_vec();
        assert_eq!(body.len(), ask(&conversation, &offers, &extra).len_bytes());
        let kept = before.strip_suffix(b"]}").unwrap_or(&before[..]);
        assert!(body.starts_with(kept));
        before = body;
    }
    let body: Value = serde_json::from_slice(&before).expect("JSON");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Look \"here\"\n\u{1}"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"path\": \"x\"}"}},
                {"id": "b", "type": "function", "function": {"name": "ba_sh__x", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "1\tfn"},
            {"role": "tool", "tool_call_id": "b", "content": "(no output)"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ])
    );
}

fn image(side: u8) -> Image {
    Image::read(&[b'G', b'I', b'F', b'8', b'9', b'a', side, 0, side, 0]).expect("an image")
}

/// A turn of two calls, each with an image.
fn turn_with_images(conversation: &mut Conversation, sides: [u8; 2]) {
    let calls = vec![call("a", "read", "{}"), call("b", "read", "{}")];
    let shown = |id, side| CallOutcome { images: vec![image(side)], ..outcome(id, "[image]") };
    conversation.push(Message::Assistant { text: String::new(), calls });
    let outcomes = vec![shown("a", sides[0]), shown("b", sides[1])];
    conversation.push(Message::Outcomes { outcomes });
}

fn sent(conversation: &Conversation) -> Vec<Value> {
    let (offers, extra) = (Offers::default(), Passthrough::default());
    let body = encode::body(&ask(conversation, &offers, &extra)).to_vec();
    let mut body: Value = serde_json::from_slice(&body).expect("JSON");
    serde_json::from_value(body["messages"].take()).expect("a list")
}

#[test]
fn images_stand_behind_the_outcomes_of_their_turn() {
    let mut conversation = Conversation::new(Arc::default());
    conversation.push(Message::User { text: "u".to_owned() });
    turn_with_images(&mut conversation, [1, 2]);
    let sent = sent(&conversation);
    let roles: Vec<&str> = sent.iter().filter_map(|message| message["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "user"]);
    assert_eq!(sent[2]["content"], "[image]");
    assert_eq!(
        sent[4]["content"],
        json!([
            {"type": "text", "text": "The images of the outcomes above, in their order:"},
            {"type": "text", "text": "GIF image, 1\u{d7}1 pixels, 10 bytes"},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAQABAA=="}},
            {"type": "text", "text": "GIF image, 2\u{d7}2 pixels, 10 bytes"},
            {"type": "image_url", "image_url": {"url": "data:image/gif;base64,R0lGODlhAgACAA=="}},
        ])
    );
}

#[test]
fn refused_images_become_words_from_the_newest_on() {
    let mut conversation = Conversation::new(Arc::default());
    conversation.push(Message::User { text: "u".to_owned() });
    assert!(!conversation.drop_images(), "there is none");
    turn_with_images(&mut conversation, [1, 2]);
    turn_with_images(&mut conversation, [3, 4]);
    let before = sent(&conversation);
    assert!(conversation.drop_images());
    let dropped = sent(&conversation);
    assert_eq!(dropped[..6], before[..6], "what was accepted stays");
    let words = "[image]\n[not shown after all: the model's provider refused it]";
    let contents: Vec<&Value> = dropped[6..].iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [words, words]);
    assert!(conversation.drop_images(), "those before are next");
    assert!(!sent(&conversation).iter().any(|message| message["content"].is_array()));
    assert!(!conversation.drop_images());
    assert!(!conversation.is_refused_images());
    turn_with_images(&mut conversation, [5, 6]);
    assert!(conversation.drop_images() && conversation.is_refused_images(), "the third refusal");
}

#[test]
fn long_conversations_are_sent_in_pieces() {
    let mut conversation = Conversation::new(Arc::default());
    let (offers, extra) = (Offers::default(), Passthrough::default());
    let texts: Vec<String> = (0..40).map(|n| format!("{n}").repeat(3_000)).collect();
    for text in &texts {
        conversation.push(Message::User { text: text.clone() });
    }
    let body = encode::body(&ask(&conversation, &offers, &extra)).to_vec();
    assert_eq!(body.len(), ask(&conversation, &offers, &extra).len_bytes());
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    let sent: Vec<_> =
        body["messages"].as_array().expect("a list").iter().map(|m| &m["content"]).collect();
    assert_eq!(sent, texts.iter().collect::<Vec<_>>());
}

#[test]
fn the_head_follows_the_quirks() {
    let quirks = Quirks {
        output_limit_field: "max_completion_tokens".to_owned(),
        system_role: "developer".to_owned(),
        parallel_tool_calls: Some(true),
        stream_usage: false,
        strict: Some(false),
        ..Quirks::default()
    };
    let tool = ToolOffer {
        name: "read".to_owned(),
        description: "Reads.".to_owned(),
        schema: "{}".to_owned(),
    };
    let offers = Offers::new(&[tool], &quirks).expect("offers");
    let extra = json!({"temperature": 0.5, "seed": null, "model": "x", "stream": false, "max_tokens": 1, "messages": []});
    let extra = Passthrough::new(extra.as_object().expect("an object").clone());
    let mut conversation = Conversation::new(Arc::new(quirks));
    conversation.push(Message::System { text: "s".to_owned() });
    let ask = Ask {
        choice: ToolChoice::None,
        output_limit: Some(9),
        ..ask(&conversation, &offers, &extra)
    };
    let body = encode::body(&ask).to_vec();
    assert!(body.ends_with(br#","messages":[{"role":"developer","content":"s"}]}"#));
    assert_eq!(
        serde_json::from_slice::<Value>(&body).expect("JSON"),
        json!({
            "model": "m",
            "stream": true,
            "temperature": 0.5,
            "max_completion_tokens": 9,
            "tools": [{"type": "function", "function": {
                "name": "read",
                "description": "Reads.",
                "parameters": {"type": "object", "properties": {}},
                "strict": false,
            }}],
            "tool_choice": "none",
            "parallel_tool_calls": true,
            "messages": [{"role": "developer", "content": "s"}],
        })
    );
}

#[test]
fn without_tools_there_is_no_choice() {
    let mut conversation = Conversation::new(Arc::default());
    conversation.push(Message::User { text: "u".to_owned() });
    let (offers, extra) = (Offers::default(), Passthrough::default());
    let ask = Ask { choice: ToolChoice::Required, ..ask(&conversation, &offers, &extra) };
    assert_eq!(
        String::from_utf8(encode::body(&ask).to_vec()).expect("text"),
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"u"}]}"#
    );
}

#[test]
fn tools_that_cannot_be_offered_are_told() {
    let offer = |name: &str, schema: &str| {
        let tool = ToolOffer {
            name: name.to_owned(),
            description: String::new(),
            schema: schema.to_owned(),
        };
        Offers::new(&[tool], &Quirks::default()).map(|_| ()).map_err(|err| err.to_string())
    };
    assert_eq!(offer("read", r#"{"type":"object"}"#), Ok(()));
    let name =
        |name| Err(format!("tool name `{name}` is not 1 to 64 of the letters `a-z A-Z 0-9 _ -`"));
    assert_eq!(offer("re ad", "{}"), name("re ad"));
    assert_eq!(offer("", "{}"), name(""));
    assert_eq!(
        offer("read", "[]"),
        Err("the schema of tool `read` is not a JSON object".to_owned())
    );
}

#[test]
fn base_urls() {
    let check = |base: &str, expected: Result<&str, &str>| {
        let got = endpoint(base).map(|(_, url)| url.to_string()).map_err(|err| err.to_string());
        let start = "the upstream's base URL must be like `https://api.example.com/v1`, but ";
        assert_eq!(
            got,
            expected.map(str::to_owned).map_err(|what| format!("{start}{what}")),
            "{base}"
        );
    };
    check("http://127.0.0.1:1/v1", Ok("http://127.0.0.1:1/v1/chat/completions"));
    check("https://a.example/v1/", Ok("https://a.example/v1/chat/completions"));
    check(
        "https://a.example/d?api-version=1",
        Ok("https://a.example/d/chat/completions?api-version=1"),
    );
    check("https://a.example", Ok("https://a.example/chat/completions"));
    check("ftp://a.example", Err("its scheme is `ftp`"));
    check("https://me:pw@a.example", Err("it holds a name or a password"));
    check("api.example.com/v1", Err("relative URL without a base"));
}

#[test]
fn keys_are_not_shown() {
    let settings = |key: &str| UpstreamSettings {
        base_url: "https://a.example/v1".to_owned(),
        api_key: Some(key.to_owned()),
        timers: Timers::default(),
        window: None,
    };
    assert!(!format!("{:?}", settings("sk-secret")).contains("sk-secret"));
    let upstream = Upstream::new(settings("sk-secret")).expect("a client");
    assert!(!format!("{:?}", upstream.inner.client).contains("sk-secret"));
    let err = Upstream::new(settings("sk-\nsecret")).expect_err("no client");
    assert_eq!(err.to_string(), "the upstream's key has characters that cannot stand in a header");
}
