//! What a run is asked for, and what it comes to: the words between a door and the loop.
//!
//! Data only. A door fills a [`RunRequest`] from whatever its clients speak, and turns a
//! [`Finished`] back into that.

use crate::error::Refusal;
use crate::event::Reason;
use crate::ledger::Mark;
use crate::message::{Finish, Message, Usage};
use crate::upstream::Passthrough;

/// What a client asked for, once it was read and checked.
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Who asks, since sessions belong to callers, and by what the request is known again.
    pub mark: Mark,
    /// The client says that it sends this again.
    pub is_sent_again: bool,
    /// The run goes on when its client leaves.
    pub detach: bool,
    /// A session to go on with.
    pub session: Option<String>,
    /// An absolute directory to work in.
    pub workspace: Option<String>,
    /// The model's id upstream; None or `harness` for the configured one.
    pub model: Option<String>,
    /// The client's own instructions, in order.
    pub system: Vec<String>,
    /// User messages and answers, oldest first; the last is a user's.
    pub messages: Vec<Message>,
    /// What belongs to the answer alone.
    pub answer: AnswerOptions,
    /// The client's other keys, for the upstream.
    pub extra: Passthrough,
    /// Whether tools may be called.
    pub tools: ToolUse,
    /// Limits under the configured ones.
    pub limits: Tighter,
    /// What was not done as asked.
    pub notes: Vec<String>,
}

/// What belongs to the answer alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AnswerOptions {
    /// The answer ends before the first of these.
    pub stop: Vec<String>,
    /// The most tokens of it.
    pub max_tokens: Option<u64>,
    /// The client's other keys with the answer's form among them, when it asked for one.
    pub formatted: Option<Passthrough>,
}

/// Whether tools may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolUse {
    /// The model decides.
    #[default]
    Auto,
    /// At least once, in the first turn.
    Required,
    /// Never: none is offered.
    Off,
}

/// Limits a request may set under the configured ones; higher ones are clamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tighter {
    /// Turns.
    pub max_turns: Option<u32>,
    /// Seconds.
    pub max_seconds: Option<u64>,
    /// Tokens.
    pub max_total_tokens: Option<u64>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Why.
    pub reason: Reason,
    /// Of the reply that ended it.
    pub finish: Finish,
    /// The answer; empty when there is an error.
    pub answer: String,
    /// Why there is no answer.
    pub error: Option<Refusal>,
    /// Sum over every upstream call.
    pub usage: Usage,
    /// Turns taken.
    pub turns: u32,
    /// Calls proposed.
    pub tool_calls: u32,
    /// Everything that was downgraded or ignored.
    pub notes: Vec<String>,
}

impl Finished {
    /// A run that could give no answer.
    pub(super) fn without_answer(reason: Reason, error: Refusal) -> Finished {
        Finished {
            reason,
            finish: Finish::Stop,
            answer: String::new(),
            error: Some(error),
            usage: Usage::default(),
            turns: 0,
            tool_calls: 0,
            notes: Vec::new(),
        }
    }
}
