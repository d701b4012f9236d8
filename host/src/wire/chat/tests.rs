//! What a request becomes: a table of requests, a table of refusals, and any JSON at all.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn read(value: Value) -> Result<ChatRequest, Refusal> {
    ChatRequest::from_value(value)
}

/// A request that asks one thing, with the keys of `more` on top.
fn asking(more: Value) -> Value {
    let mut request = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let (Value::Object(keys), Value::Object(more)) = (&mut request, more) else {
        panic!("two objects are expected");
    };
    keys.extend(more);
    request
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

#[test]
fn a_whole_request_is_sorted() {
    let request = read(json!({
        "model": "gpt-5::ws_0123456789abcdef",
        "messages": [
            {"role": "developer", "content": "be brief"},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
             "name": "eve"},
            {"role": "assistant", "content": null, "refusal": null, "annotations": [],
             "tool_calls": [], "audio": null},
            {"role": "system", "content": "be kind"},
            {"role": "user", "content": "c"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true, "include_obfuscation": false},
        "stop": "END",
        "tools": [],
        "tool_choice": "required",
        "temperature": 0.2,
        "zebra": {"b": 1, "a": [null]},
        "seed": null,
        "n": 1,
        "logprobs": false,
        "modalities": ["text"],
        "response_format": {"type": "text"},
        "store": false,
        "harness": {"workspace": "/w", "session_id": "ws_0123456789abcdef", "max_turns": 3,
                    "max_seconds": 60, "max_total_tokens": null},
    }));
    let expected = ChatRequest {
        sent_model: Some("gpt-5::ws_0123456789abcdef".to_owned()),
        model: Some("gpt-5".to_owned()),
        model_session: Some("ws_0123456789abcdef".to_owned()),
        system: vec!["be brief".to_owned(), "be kind".to_owned()],
        messages: vec![
            user("a\nb"),
            Message::Assistant { text: String::new(), calls: Vec::new() },
            user("c"),
        ],
        stream: true,
        include_usage: true,
        stop: vec!["END".to_owned()],
        max_tokens: None,
        response_format: None,
        tool_choice: ToolChoice::Required,
        harness: HarnessOptions {
            workspace: Some("/w".to_owned()),
            session_id: Some("ws_0123456789abcdef".to_owned()),
            max_turns: Some(3),
            max_seconds: Some(60),
            max_total_tokens: None,
            ..HarnessOptions::default()
        },
        extra: json!({"temperature": 0.2, "zebra": {"b": 1, "a": [null]}})
            .as_object()
            .cloned()
            .expect("an object was written here"),
        notes: vec![
            "system messages after the first were moved to the front".to_owned(),
            "keys of messages that are not sent on: `name`".to_owned(),
            "`stop` is applied to the answer alone".to_owned(),
        ],
    };
    assert_eq!(request, Ok(expected));
}

#[test]
fn models_are_split() {
    let cases = [
        (json!("harness"), None, None),
        (json!(""), None, None),
        (json!(null), None, None),
        (json!("harness::ws_abcdefgh"), None, Some("ws_abcdefgh")),
        (json!("a::b"), Some("a::b"), None),
        (json!("a::b::ws_abcdefgh"), Some("a::b"), Some("ws_abcdefgh")),
        (json!("a::ws_ABCDEFGH"), Some("a::ws_ABCDEFGH"), None),
    ];
    for (model, name, session) in cases {
        let request = read(asking(json!({"model": model}))).expect("every name is taken");
        assert_eq!((request.model.as_deref(), request.model_session.as_deref()), (name, session));
    }
}

#[test]
fn what_is_not_done_is_noted_and_not_sent_on() {
    let cases = [
        (json!({"max_tokens": 10}), "`max_tokens` is applied to the answer alone"),
        (
            json!({"max_completion_tokens": 10}),
            "`max_completion_tokens` is applied to the answer alone",
        ),
        (
            json!({"response_format": {"type": "json_object"}}),
            "`response_format` is applied to the answer alone",
        ),
        (json!({"logprobs": true}), "`logprobs` is not sent on, since the answer cannot carry it"),
        (
            json!({"top_logprobs": 3}),
            "`top_logprobs` is not sent on, since the answer cannot carry it",
        ),
        (
            json!({"prediction": {"type": "content"}}),
            "`prediction` is not sent on, since the answer cannot carry it",
        ),
        (
            json!({"modalities": ["text", "audio"]}),
            "`modalities` is not sent on, since the answer is text alone",
        ),
        (
            json!({"parallel_tool_calls": false}),
            "`parallel_tool_calls` is not sent on, since the upstream's profile decides it",
        ),
        (
            json!({"store": true}),
            "`store` is not sent on, since runs are kept by the harness itself",
        ),
        (json!({"metadata": {"a": "b"}}), "`metadata` is neither kept nor sent on"),
        (json!({"user": "eve"}), "`user` is neither kept nor sent on"),
        (
            json!({"stream_options": {"include_cost": true}}),
            "`stream_options.include_cost` is not known and has no effect",
        ),
    ];
    for (more, note) in cases {
        let request = read(asking(more.clone())).expect("it is taken");
        assert_eq!((request.notes, request.extra.len()), (vec![note.to_owned()], 0), "{more}");
    }
}

#[test]
fn an_image_is_told_to_the_model_and_to_the_client() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}});
    let request = json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "What is this?"}, image,
    ]}]});
    let request = ChatRequest::from_value(request).expect("it is taken");
    let told = "What is this?\n[an image was here; you are not shown images]";
    assert_eq!(request.messages, [user(told)]);
    assert_eq!(
        request.notes,
        ["images are not shown to the model yet; it is told that they were there"]
    );
}

#[test]
fn refusals_name_the_place_and_what_was_expected() {
    let user = json!({"role": "user", "content": "hi"});
    let messages = |list: Value| json!({"messages": list});
    let content =
        |content: Value| json!({"messages": [user, {"role": "user", "content": content}]});
    #[rustfmt::skip]
    let cases = [
        (json!([1]), "body", "`body` must be an object, got a list"),
        (json!({}), "messages", "`messages` is missing"),
        (messages(json!(null)), "messages", "`messages` is missing"),
        (messages(json!("hi")), "messages", "`messages` must be a list of messages, got the text `hi`"),
        (messages(json!([])), "messages", "`messages` must hold at least one user message, got none"),
        (messages(json!([7])), "messages[0]", "`messages[0]` must be an object, got `7`"),
        (messages(json!([{"content": "hi"}])), "messages[0].role", "`messages[0].role` must be a text, got `null`"),
        (messages(json!([{"role": "User", "content": ""}])), "messages[0].role",
         "`messages[0].role` must be `system`, `developer`, `user` or `assistant`, got the text `User`"),
        (messages(json!([{"role": "tool", "content": "x"}])), "messages[0].role",
         "`messages[0].role` is `tool`: results of a client's tools are not supported yet"),
        (messages(json!([user, {"role": "assistant", "tool_calls": [{"id": "a"}]}, user])),
         "messages[1].tool_calls",
         "`messages[1].tool_calls`: tool calls in the history are not supported yet"),
        (messages(json!([user, {"role": "assistant", "content": "x"}])), "messages[1].role",
         "the last message must be a user message, got `messages[1].role` `assistant`"),
        (messages(json!([{"role": "system", "content": "x"}])), "messages",
         "`messages` must hold at least one user message, got none"),
        (content(json!(5)), "messages[1].content",
         "`messages[1].content` must be a text or a list of text parts, got `5`"),
        (content(json!(null)), "messages[1].content",
         "`messages[1].content` must be a text or a list of text parts, got `null`"),
        (content(json!(" \n")), "messages[1].content",
         "`messages[1].content` must be a text that is not blank, got a blank one"),
        (content(json!([])), "messages[1].content",
         "`messages[1].content` must be a text or a list of at least one text part, got a list"),
        (content(json!([{"type": "text", "text": 1}])), "messages[1].content[0].text",
         "`messages[1].content[0].text` must be a text, got `1`"),
        (content(json!([{"type": "file", "file": {}}])), "messages[1].content[0].type",
         "`messages[1].content[0].type` is `file`: only text is supported yet, no sound, films or files"),
        (content(json!([{"type": "poem"}])), "messages[1].content[0].type",
         "`messages[1].content[0].type` must be `text`, got the text `poem`"),
        (json!({"model": 5}), "model", "`model` must be a text, got `5`"),
        (json!({"stream": "yes"}), "stream", "`stream` must be `true` or `false`, got the text `yes`"),
        (json!({"stream_options": {"include_usage": 1}}), "stream_options.include_usage",
         "`stream_options.include_usage` must be `true` or `false`, got `1`"),
        (json!({"stop": ["a", "b", "c", "d", "e"]}), "stop", "`stop` must be at most 4 texts, got a list"),
        (json!({"stop": ["a", ""]}), "stop[1]", "`stop[1]` must be a text that is not empty, got the text ``"),
        (json!({"stop": 1}), "stop", "`stop` must be a text or a list of texts, got `1`"),
        (json!({"n": 2}), "n", "`n` must be 1, got `2`: a run has one answer"),
        (json!({"n": 0}), "n", "`n` must be a whole number of at least 1, got `0`"),
        (json!({"max_tokens": -1}), "max_tokens",
         "`max_tokens` must be a whole number of at least 1, got `-1`"),
        (json!({"tools": [{}]}), "tools",
         "client tools are not supported yet: `tools` must be empty or absent"),
        (json!({"functions": [{}]}), "functions",
         "client tools are not supported yet: `functions` must be empty or absent"),
        (json!({"tool_choice": "any"}), "tool_choice",
         "`tool_choice` must be `auto`, `none` or `required`, got the text `any`"),
        (json!({"tool_choice": {"type": "function"}}), "tool_choice",
         "`tool_choice` must be `auto`, `none` or `required`, got an object: naming a tool is not supported yet"),
        (json!({"response_format": {}}), "response_format.type",
         "`response_format.type` must be a text, got `null`"),
        (json!({"harness": true}), "harness", "`harness` must be an object, got `true`"),
        (json!({"harness": {"max_turn": 1}}), "harness.max_turn",
         "`harness` has no key `max_turn`: did you mean `max_turns`?"),
        (json!({"harness": {"zzz": null}}), "harness.zzz",
         "`harness` has no key `zzz`: known are `workspace`, `session_id`, `max_turns`, `max_seconds`, `max_total_tokens`, `detach`, `stream_events`"),
        (json!({"harness": {"max_turns": 0}}), "harness.max_turns",
         "`harness.max_turns` must be a whole number of at least 1, got `0`"),
        (json!({"harness": {"session_id": "../x"}}), "harness.session_id",
         "`harness.session_id` must be a session's id, `ws_…`, got the text `../x`"),
        (json!({"harness": {"workspace": "rel"}}), "harness.workspace",
         "`harness.workspace` must be an absolute path, got the text `rel`"),
    ];
    for (more, param, message) in cases {
        let is_whole = !more.is_object() || more == json!({});
        let value = if is_whole { more } else { asking(more) };
        let refusal = read(value.clone()).expect_err("it is refused");
        assert_eq!(
            (refusal.status, refusal.param.as_deref(), refusal.message.as_str()),
            (400, Some(param), message),
            "{value}"
        );
    }
}

#[test]
fn json_errors_tell_line_and_column() {
    let cases: [(&[u8], &str); 3] = [
        (b"", "the body must be JSON, got EOF while parsing a value at line 1 column 0"),
        (b"{\n \"a\": }", "the body must be JSON, got expected value at line 2 column 7"),
        (b"\"\xff\"", "the body must be JSON, got invalid unicode code point at line 1 column 2"),
    ];
    for (bytes, message) in cases {
        let refusal = ChatRequest::from_json(bytes).expect_err("it is refused");
        assert_eq!(refusal.message, message);
    }
}

/// Any JSON value, with a liking for the names and words that are read.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "model",
        "messages",
        "role",
        "content",
        "type",
        "text",
        "stream",
        "stream_options",
        "include_usage",
        "stop",
        "tools",
        "tool_choice",
        "n",
        "harness",
        "workspace",
        "session_id",
        "max_turns",
        "response_format",
        "tool_calls",
        "max_tokens",
        "other",
    ]);
    let words = prop::sample::select(vec![
        "user",
        "system",
        "assistant",
        "tool",
        "text",
        "image_url",
        "auto",
        "ws_abcdefgh",
        "/",
        "",
        "m::ws_abcdefgh",
        "é😀",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
        ".{0,60}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..6).prop_map(|keys| {
                keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_a_request_or_a_refusal_with_a_place(value in any_json(), nested in any_json()) {
        let message = json!({"role": "user", "content": nested, "name": value});
        let wrapped = json!({"messages": [message, {"role": "user", "content": "hi"}], "stop": value,
                             "harness": nested, "x": value});
        for value in [value, wrapped] {
            match read(value) {
                Ok(request) => {
                    let ends_with_user = matches!(request.messages.last(), Some(Message::User { .. }));
                    prop_assert!(ends_with_user);
                }
                Err(refusal) => {
                    prop_assert_eq!(refusal.status, 400);
                    prop_assert!(refusal.param.is_some_and(|param| !param.is_empty()));
                    prop_assert!(!refusal.message.contains('\n'));
                }
            }
        }
    }
}
