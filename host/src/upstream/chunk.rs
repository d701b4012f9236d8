//! The shapes of a streamed chunk, and of a whole completion, as providers really send them.
//!
//! Everything is optional, and what differs in type between providers is kept as a JSON value and
//! read by the functions below. Decides nothing: `assemble` does.

use serde::Deserialize;
use serde_json::Value;

use crate::message::Usage;

/// One chunk, or one whole completion.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) error: Value,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<WireUsage>,
    /// Groq's own place for usage.
    pub(super) x_groq: Option<Extras>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Extras {
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) index: Value,
    pub(super) delta: Option<Delta>,
    /// In a whole completion; read like one big delta.
    pub(super) message: Option<Delta>,
    pub(super) finish_reason: Value,
    /// Moonshot's place for usage.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Value,
    pub(super) reasoning_content: Value,
    pub(super) reasoning: Value,
    pub(super) refusal: Value,
    pub(super) tool_calls: Option<Vec<Piece>>,
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece {
    pub(super) index: Value,
    pub(super) id: Value,
    pub(super) function: Option<PieceFunction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PieceFunction {
    pub(super) name: Value,
    pub(super) arguments: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Value,
    completion_tokens: Value,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// Moonshot's name for cached tokens.
    cached_tokens: Value,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Value,
}

impl WireUsage {
    /// In our words; absent numbers are 0.
    pub(super) fn to_usage(&self) -> Usage {
        let cached =
            self.prompt_tokens_details.as_ref().and_then(|details| count(&details.cached_tokens));
        let reasoning = self
            .completion_tokens_details
            .as_ref()
            .and_then(|details| count(&details.reasoning_tokens));
        Usage {
            prompt_tokens: count(&self.prompt_tokens).unwrap_or(0),
            completion_tokens: count(&self.completion_tokens).unwrap_or(0),
            cached_tokens: cached
                .or_else(|| count(&self.cached_tokens))
                .or_else(|| count(&self.prompt_cache_hit_tokens))
                .unwrap_or(0),
            reasoning_tokens: reasoning.unwrap_or(0),
        }
    }
}

/// A number that may come as a float or in quotes.
pub(super) fn count(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => {
            number.as_u64().or_else(|| number.as_f64().map(|float| float as u64))
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// A word; empty and `null` are none.
pub(super) fn word(value: Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Arguments as text: a string as it is, anything else but `null` as JSON.
pub(super) fn arguments(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Hands the texts of a content value to `say`, and those of its thinking parts to `think`.
/// Content is a string, `null`, or a list of parts.
pub(super) fn content(value: &Value, say: &mut dyn FnMut(&str), think: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => say(text),
        Value::Array(parts) => {
            for part in parts {
                content(part, say, think);
            }
        }
        Value::Object(part) => {
            if let Some(thinking) = part.get("thinking") {
                // Mistral nests text parts in it; all of them are thinking.
                content(thinking, think, &mut |_| {});
            } else if let Some(text) = part.get("text") {
                content(text, say, think);
            }
        }
        _ => {}
    }
}
