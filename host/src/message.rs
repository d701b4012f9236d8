//! The words of a conversation: messages, the calls a model proposes, the outcomes it reads.
//!
//! Plain data on floor 0. Nothing here knows a provider, a tool or a file: `upstream` turns
//! messages into bytes and bytes into a [`Reply`], `agent` decides what follows.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::image::Image;

/// One message of a conversation, in the order the model reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum Message {
    /// Instructions; at most one, and first.
    System {
        /// The host's own prompt, then the client's.
        text: String,
    },
    /// What a person, or the harness on their behalf, asks.
    User {
        /// Plain text.
        text: String,
    },
    /// What the model said and asked for.
    Assistant {
        /// May be empty when there are calls.
        text: String,
        /// In the order they were proposed.
        calls: Vec<Call>,
    },
    /// What became of every call of the assistant message before it, in the same order.
    Outcomes {
        /// One for each call, no more and no fewer.
        outcomes: Vec<CallOutcome>,
    },
}

/// The largest argument text of a call that is run, in bytes.
pub const ARGUMENT_BYTES: usize = 1 << 20;

/// A tool call as the model proposed it, before anything was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Unique within the conversation; made up by us where the provider sent none.
    pub id: String,
    /// The tool's name, exactly as proposed.
    pub tool: String,
    /// The arguments as text. Meant to be a JSON object; may be anything.
    pub arguments: String,
}

/// What the model reads as the result of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallOutcome {
    /// The call it answers.
    pub call_id: String,
    /// At most 64 KiB, redacted, valid UTF-8 without NUL.
    pub text: String,
    /// What the model is shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// One whole reply of a model.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Reply {
    /// Everything said outside calls and reasoning.
    pub text: String,
    /// Reasoning text, where the provider shows it; never sent back by the shipped profiles.
    pub reasoning: String,
    /// In the order they arrived.
    pub calls: Vec<Call>,
    /// Why the model stopped.
    pub finish: Finish,
    /// None when the provider told nothing.
    pub usage: Option<Usage>,
}

/// Why a reply ended. A reply that never ended is an upstream error, not a [`Reply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finish {
    /// The model was done.
    #[default]
    Stop,
    /// The model waits for its calls.
    ToolCalls,
    /// The output limit cut it: its calls may be cut too and are never run.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

/// Tokens of one or more upstream calls, as the provider counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens written, reasoning included.
    pub completion_tokens: u64,
    /// The share of `prompt_tokens` that came from the provider's cache.
    pub cached_tokens: u64,
    /// The share of `completion_tokens` that was reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Tokens in all, as budgets count them.
    pub fn total(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.completion_tokens)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        // Saturating: a provider that reports nonsense must not end a run.
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}
