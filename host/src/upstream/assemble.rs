//! Chunks to one reply.
//!
//! Takes events as they come and gives a [`Reply`] only when the provider said why it ended: what
//! breaks off is an error, and nothing of it is used. Knows nothing of sockets or timers.

use std::collections::HashSet;

use serde_json::Value;

use super::calls::Drafts;
use super::chunk::{self, Chunk, Delta, WireUsage};
use super::error::UpstreamError;
use super::verdict;
use crate::message::{Finish, Reply, Usage};

/// Largest reply: text, reasoning and arguments together.
pub(super) const MAX_REPLY_BYTES: usize = 16 << 20;

/// Most calls of one reply: ten times what the busiest models send, and few enough to search.
const MAX_CALLS: usize = 1_000;

/// A reply that is still being sent.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    text: String,
    reasoning: String,
    calls: Drafts,
    finish: Option<Finish>,
    usage: Option<Usage>,
    bytes: usize,
    was_mended: bool,
}

impl Assembler {
    /// Takes one event.
    pub(super) fn event(&mut self, name: &str, data: &[u8]) -> Result<(), UpstreamError> {
        if name == "error" {
            return Err(verdict::of_error(
                &serde_json::from_slice(data)
                    .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(data).into_owned())),
            ));
        }
        match serde_json::from_slice::<Chunk>(data) {
            Ok(chunk) => self.chunk(chunk),
            Err(_) => self.mend(data),
        }
    }

    /// One provider writes a new frame into the middle of an old one, without a line end. The
    /// second is whole. Once is an accident, twice is a stream that cannot be read.
    fn mend(&mut self, data: &[u8]) -> Result<(), UpstreamError> {
        let broken = UpstreamError::Broken { what: "an event is not the JSON of a chunk" };
        const START: &[u8] = b"data:";
        let Some(at) = data.windows(START.len()).rposition(|window| window == START) else {
            return Err(broken);
        };
        match serde_json::from_slice::<Chunk>(&data[at + START.len()..]) {
            Ok(chunk) if !std::mem::replace(&mut self.was_mended, true) => self.chunk(chunk),
            _ => Err(broken),
        }
    }

    /// Takes one chunk, or a whole completion.
    fn chunk(&mut self, chunk: Chunk) -> Result<(), UpstreamError> {
        match &chunk.error {
            // Some servers send the key in every chunk.
            Value::Null | Value::Bool(false) => {}
            Value::String(text) if text.is_empty() => {}
            error => return Err(verdict::of_error(error)),
        }
        self.count(chunk.usage.as_ref());
        self.count(chunk.x_groq.as_ref().and_then(|extras| extras.usage.as_ref()));
        for choice in chunk.choices.into_iter().flatten() {
            // We ask for one; others are not ours to read.
            if chunk::count(&choice.index).unwrap_or(0) != 0 {
                continue;
            }
            self.count(choice.usage.as_ref());
            if let Some(delta) = choice.delta.or(choice.message) {
                self.delta(delta);
            }
            if let Some(reason) = chunk::word(choice.finish_reason) {
                self.finish_with(&reason)?;
            }
        }
        if self.bytes > MAX_REPLY_BYTES {
            return Err(UpstreamError::TooLarge { limit_bytes: MAX_REPLY_BYTES });
        }
        if self.calls.len() > MAX_CALLS {
            return Err(UpstreamError::TooManyCalls { limit: MAX_CALLS });
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta) {
        let before = self.text.len() + self.reasoning.len();
        let (text, reasoning) = (&mut self.text, &mut self.reasoning);
        chunk::content(&delta.content, &mut |said| text.push_str(said), &mut |thought| {
            reasoning.push_str(thought);
        });
        // One of the two names; a server that sends both sends the same text.
        let thought = chunk::word(delta.reasoning_content).or_else(|| chunk::word(delta.reasoning));
        self.reasoning.push_str(thought.as_deref().unwrap_or_default());
        // The answer, where a model declines in a field of its own.
        self.text.push_str(chunk::word(delta.refusal).as_deref().unwrap_or_default());
        self.bytes += self.text.len() + self.reasoning.len() - before;
        for piece in delta.tool_calls.into_iter().flatten() {
            self.bytes += self.calls.add(piece);
        }
    }

    /// The first reason stands: a second one, where it comes, is the lesser.
    fn finish_with(&mut self, reason: &str) -> Result<(), UpstreamError> {
        let finish = match reason.to_ascii_lowercase().as_str() {
            "tool_calls" | "function_call" | "tool_use" | "tool_call" => Finish::ToolCalls,
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => Finish::Length,
            "content_filter" | "safety" | "sensitive" | "refusal" => Finish::ContentFilter,
            "error" | "insufficient_system_resource" => {
                return Err(UpstreamError::Failed {
                    status: 502,
                    retry_after: None,
                    message: String::new(),
                });
            }
            "malformed_function_call" | "unexpected_tool_call" => {
                return Err(UpstreamError::Broken {
                    what: "the model's tool call was not readable upstream",
                });
            }
            _ => Finish::Stop,
        };
        self.finish.get_or_insert(finish);
        Ok(())
    }

    fn count(&mut self, usage: Option<&WireUsage>) {
        let Some(usage) = usage.map(WireUsage::to_usage) else { return };
        // Later counts are larger; a last one of zeros is a placeholder.
        if usage.total() > 0 || self.usage.is_none() {
            self.usage = Some(usage);
        }
    }

    /// True once the provider said why it ended; usage may still follow.
    pub(super) fn has_finished(&self) -> bool {
        self.finish.is_some()
    }

    /// The reply, or an error when it never ended. Ids of calls are made unique against `taken`;
    /// `ordinal` goes into those that are made up.
    pub(super) fn into_reply(
        self,
        taken: &HashSet<String>,
        ordinal: usize,
    ) -> Result<Reply, UpstreamError> {
        let Some(finish) = self.finish else {
            return Err(UpstreamError::Broken { what: "it ended without a finish reason" });
        };
        // Providers get these two wrong in both directions; the calls decide.
        let finish = match (finish, self.calls.is_empty()) {
            (Finish::Stop, false) => Finish::ToolCalls,
            (Finish::ToolCalls, true) => Finish::Stop,
            (finish, _) => finish,
        };
        Ok(Reply {
            text: self.text,
            reasoning: self.reasoning,
            calls: self.calls.into_calls(taken, ordinal),
            finish,
            usage: self.usage,
        })
    }
}
