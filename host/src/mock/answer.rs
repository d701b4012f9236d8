//! A scripted turn to bytes: chunks for a stream, one object for a whole answer.
//!
//! Plain and complete, the way a good provider answers; whatever is odd comes from a script's
//! `raw`. The same turn of the same conversation is the same bytes every time.

use bytes::Bytes;
use serde_json::{Value, json};

use super::script::{Scripted, WrittenUsage};
use crate::message::Finish;

/// Characters in a streamed piece of text: about what a model's token batches carry.
const PIECE_CHARS: usize = 32;

/// When everything was made: a fixed second, so that answers can be compared.
const CREATED: u64 = 1_700_000_000;

/// What an answer depends on besides the script.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) model: &'a str,
    /// Of the turn in its conversation, from 1.
    pub(super) ordinal: u32,
    /// Of the repetition in its turn, from 1.
    pub(super) repetition: u32,
    /// Size of the request.
    pub(super) body_bytes: usize,
    /// Whether a stream tells its usage.
    pub(super) stream_usage: bool,
}

/// Replaces `{n}` by the repetition's number.
pub(super) fn fill(text: &str, repetition: u32) -> String {
    text.replace("{n}", &repetition.to_string())
}

/// The events of a streamed reply, in order.
pub(super) fn stream(reply: &Scripted, place: Place<'_>) -> Vec<Bytes> {
    let mut events = Events::new(place);
    let text = fill(&reply.text, place.repetition);
    let reasoning = fill(&reply.reasoning, place.repetition);
    events.delta(r#""role":"assistant","content":"#, "");
    for piece in pieces(&reasoning) {
        events.delta(r#""reasoning_content":"#, piece);
    }
    for piece in pieces(&text) {
        events.delta(r#""content":"#, piece);
    }
    let mut call_bytes = 0;
    for (at, call) in reply.calls.iter().enumerate() {
        let arguments = fill(&call.arguments, place.repetition);
        call_bytes += call.tool.len() + arguments.len();
        let id = call_id(place, at);
        let (id, tool) = (json!(id), json!(call.tool));
        events.raw_delta(&format!(
            r#""tool_calls":[{{"index":{at},"id":{id},"type":"function","function":{{"name":{tool},"arguments":""}}}}]"#
        ));
        for piece in pieces(&arguments) {
            let piece = json!(piece);
            events.raw_delta(&format!(
                r#""tool_calls":[{{"index":{at},"function":{{"arguments":{piece}}}}}]"#
            ));
        }
    }
    let Some(finish) = reply.finish else { return events.events };
    events.finish(finish_word(finish));
    if place.stream_usage {
        let written = text.len() + reasoning.len() + call_bytes;
        events.usage(&usage_json(reply.usage, place.body_bytes, written));
    }
    events.events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    events.events
}

/// The same reply as one JSON object.
pub(super) fn whole(reply: &Scripted, place: Place<'_>) -> Bytes {
    let text = fill(&reply.text, place.repetition);
    let reasoning = fill(&reply.reasoning, place.repetition);
    let mut written = text.len() + reasoning.len();
    let mut message = json!({"role": "assistant", "content": text});
    if !reasoning.is_empty() {
        message["reasoning_content"] = Value::String(reasoning);
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().enumerate().map(|(at, call)| {
            let arguments = fill(&call.arguments, place.repetition);
            written += call.tool.len() + arguments.len();
            json!({
                "id": call_id(place, at),
                "type": "function",
                "function": {"name": call.tool, "arguments": arguments},
            })
        });
        message["tool_calls"] = calls.collect();
    }
    let whole = json!({
        "id": format!("chatcmpl-mock-{}", place.ordinal),
        "object": "chat.completion",
        "created": CREATED,
        "model": place.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish.map(finish_word)}],
        "usage": usage_json(reply.usage, place.body_bytes, written),
    });
    whole.to_string().into()
}

/// The list of models.
pub(super) fn models(model: &str, context_window: Option<u64>) -> String {
    let mut entry = json!({"id": model, "object": "model", "created": CREATED, "owned_by": "mock"});
    if let Some(tokens) = context_window {
        entry["context_window"] = json!(tokens);
    }
    json!({"object": "list", "data": [entry]}).to_string()
}

/// An error body in OpenAI's shape.
pub(super) fn error_json(message: &str, code: &str) -> String {
    let error =
        json!({"message": message, "type": "invalid_request_error", "param": null, "code": code});
    json!({ "error": error }).to_string()
}

fn call_id(place: Place<'_>, at: usize) -> String {
    format!("call_{}_{}", place.ordinal, at + 1)
}

fn finish_word(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    }
}

fn usage_json(usage: Option<WrittenUsage>, body_bytes: usize, written: usize) -> Value {
    let usage = usage.unwrap_or_else(|| WrittenUsage {
        // Four bytes a token is what English text comes to.
        prompt: body_bytes as u64 / 4,
        completion: written as u64 / 4 + 1,
        ..WrittenUsage::default()
    });
    json!({
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.prompt.saturating_add(usage.completion),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let end = text.char_indices().nth(PIECE_CHARS).map_or(text.len(), |(at, _)| at);
        let (piece, rest) = text.split_at(end);
        text = rest;
        Some(piece)
    })
}

struct Events {
    start: String,
    events: Vec<Bytes>,
}

impl Events {
    fn new(place: Place<'_>) -> Events {
        let (model, ordinal) = (json!(place.model), place.ordinal);
        let start = format!(
            r#"data: {{"id":"chatcmpl-mock-{ordinal}","object":"chat.completion.chunk","created":{CREATED},"model":{model},"choices":["#
        );
        Events { start, events: Vec::new() }
    }

    /// `key` ends with its colon.
    fn delta(&mut self, key: &str, text: &str) {
        let text = Value::String(text.to_owned());
        self.raw_delta(&format!("{key}{text}"));
    }

    fn raw_delta(&mut self, fields: &str) {
        let start = &self.start;
        let event =
            format!("{start}{{\"index\":0,\"delta\":{{{fields}}},\"finish_reason\":null}}]}}\n\n");
        self.events.push(event.into());
    }

    fn finish(&mut self, reason: &str) {
        let start = &self.start;
        let event =
            format!("{start}{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{reason}\"}}]}}\n\n");
        self.events.push(event.into());
    }

    fn usage(&mut self, usage: &Value) {
        self.events.push(format!("{}],\"usage\":{usage}}}\n\n", self.start).into());
    }
}
