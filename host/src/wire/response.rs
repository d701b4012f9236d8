//! The answers of the API, to OpenAI's letter, with one key of our own: `harness`.
//!
//! Shapes only; they serialise and know nothing else. Keys that OpenAI always sends are always
//! here, null where there is nothing to say, so that strict clients find what they look for.

use serde::Serialize;

use crate::error::{Refusal, RefusalKind};
use crate::event::Reason;
use crate::message::{Finish, Usage};

/// What a whole reply and every chunk of a stream have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    /// `chatcmpl-…`.
    pub id: String,
    /// Seconds since 1970.
    pub created: u64,
    /// As the client named it.
    pub model: String,
}

/// `chat.completion`.
#[derive(Clone, Debug, Serialize)]
pub struct ChatCompletion {
    object: &'static str,
    #[serde(flatten)]
    head: Head,
    choices: [Choice; 1],
    usage: WireUsage,
    harness: RunInfo,
}

#[derive(Clone, Debug, Serialize)]
struct Choice {
    index: u32,
    message: AnswerMessage,
    logprobs: Option<()>,
    finish_reason: FinishReason,
}

#[derive(Clone, Debug, Serialize)]
struct AnswerMessage {
    role: &'static str,
    content: String,
    refusal: Option<String>,
    annotations: [(); 0],
}

impl ChatCompletion {
    /// The whole reply.
    pub fn new(head: Head, answer: String, ending: Ending) -> ChatCompletion {
        let message =
            AnswerMessage { role: "assistant", content: answer, refusal: None, annotations: [] };
        let finish_reason = ending.finish_reason;
        ChatCompletion {
            object: "chat.completion",
            head,
            choices: [Choice { index: 0, message, logprobs: None, finish_reason }],
            usage: ending.usage,
            harness: ending.run,
        }
    }
}

/// `chat.completion.chunk`.
#[derive(Clone, Debug, Serialize)]
pub struct Chunk<'a> {
    object: &'static str,
    #[serde(flatten)]
    head: &'a Head,
    choices: Vec<ChunkChoice<'a>>,
    // Absent unless the client asked for usage; then null on every chunk but the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<WireUsage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harness: Option<&'a RunInfo>,
}

#[derive(Clone, Debug, Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<FinishReason>,
}

/// What a chunk adds.
#[derive(Clone, Debug, Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    harness: Option<&'a serde_json::Value>,
}

/// Makes the chunks of one stream.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// On every chunk.
    pub head: Head,
    /// Whether the client asked for usage.
    pub include_usage: bool,
}

impl Chunks {
    /// The first: who speaks, and nothing said yet.
    pub fn opening(&self) -> Chunk<'_> {
        let delta = Delta { role: Some("assistant"), content: Some(""), ..Delta::default() };
        self.with(delta, None)
    }

    /// A piece of the answer.
    pub fn content<'a>(&'a self, piece: &'a str) -> Chunk<'a> {
        self.with(Delta { content: Some(piece), ..Delta::default() }, None)
    }

    /// Something that happened in the run.
    pub fn event<'a>(&'a self, event: &'a serde_json::Value) -> Chunk<'a> {
        self.with(Delta { harness: Some(event), ..Delta::default() }, None)
    }

    /// The last with a choice: why it ended, and what the run was.
    pub fn closing<'a>(&'a self, ending: &'a Ending) -> Chunk<'a> {
        let mut chunk = self.with(Delta::default(), Some(ending.finish_reason));
        chunk.harness = Some(&ending.run);
        chunk
    }

    /// The usage, after everything else; None unless the client asked for it.
    pub fn usage<'a>(&'a self, ending: &Ending) -> Option<Chunk<'a>> {
        let mut chunk = self.with(Delta::default(), None);
        chunk.choices.clear();
        chunk.usage = Some(Some(ending.usage));
        self.include_usage.then_some(chunk)
    }

    fn with<'a>(&'a self, delta: Delta<'a>, finish_reason: Option<FinishReason>) -> Chunk<'a> {
        Chunk {
            object: "chat.completion.chunk",
            head: &self.head,
            choices: vec![ChunkChoice { index: 0, delta, logprobs: None, finish_reason }],
            usage: self.include_usage.then_some(None),
            harness: None,
        }
    }
}

/// How an answer ended.
#[derive(Clone, Debug)]
pub struct Ending {
    /// In OpenAI's word.
    pub finish_reason: FinishReason,
    /// Sum over every upstream call.
    pub usage: WireUsage,
    /// In ours.
    pub run: RunInfo,
}

/// `finish_reason`. Calls are never left to the client, so `tool_calls` cannot happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is whole.
    Stop,
    /// A budget or the output limit cut the work short.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
}

impl FinishReason {
    /// OpenAI's word for the end of a run.
    pub fn of(reason: Reason, finish: Finish) -> FinishReason {
        match (reason, finish) {
            (Reason::MaxTurns | Reason::MaxSeconds | Reason::MaxTokens, _) => FinishReason::Length,
            (_, Finish::Length) => FinishReason::Length,
            (_, Finish::ContentFilter) => FinishReason::ContentFilter,
            (_, Finish::Stop | Finish::ToolCalls) => FinishReason::Stop,
        }
    }
}

/// The `harness` object of a reply.
#[derive(Clone, Debug, Serialize)]
pub struct RunInfo {
    /// To go on with.
    pub session_id: String,
    /// To look it up by.
    pub run_id: String,
    /// Where it worked.
    pub workspace: String,
    /// Turns taken.
    pub turns: u32,
    /// Calls proposed.
    pub tool_calls: u32,
    /// The true reason, in one stable word.
    pub termination_reason: Reason,
    /// What was not done as asked.
    pub notes: Vec<String>,
}

/// `usage`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WireUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u64,
}

impl From<Usage> for WireUsage {
    fn from(usage: Usage) -> WireUsage {
        WireUsage {
            prompt_tokens: usage.prompt_tokens,
            completion_tokens: usage.completion_tokens,
            total_tokens: usage.total(),
            prompt_tokens_details: PromptDetails { cached_tokens: usage.cached_tokens },
            completion_tokens_details: CompletionDetails {
                reasoning_tokens: usage.reasoning_tokens,
            },
        }
    }
}

/// `list` of models.
#[derive(Clone, Debug, Serialize)]
pub struct ModelList {
    object: &'static str,
    data: Vec<Model>,
}

impl ModelList {
    /// All of them.
    pub fn new(data: Vec<Model>) -> ModelList {
        ModelList { object: "list", data }
    }
}

/// `model`.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
}

impl Model {
    /// The model `id`, told to be as old as `created`, in seconds since 1970, and to hold
    /// `context_window` tokens where that is known.
    pub fn new(id: String, created: u64, context_window: Option<u64>) -> Model {
        Model { id, object: "model", created, owned_by: "harness", context_window }
    }
}

/// Every error's body: always these four keys.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorBody<'a> {
    error: ErrorFields<'a>,
}

#[derive(Clone, Debug, Serialize)]
struct ErrorFields<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: RefusalKind,
    param: Option<&'a str>,
    code: Option<&'a str>,
}

impl<'a> From<&'a Refusal> for ErrorBody<'a> {
    fn from(refusal: &'a Refusal) -> ErrorBody<'a> {
        ErrorBody {
            error: ErrorFields {
                message: &refusal.message,
                kind: refusal.kind,
                param: refusal.param.as_deref(),
                code: refusal.code.as_deref(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_in_openai_words() {
        let cases = [
            (Reason::Completed, Finish::Stop, FinishReason::Stop),
            (Reason::Completed, Finish::Length, FinishReason::Length),
            (Reason::Completed, Finish::ContentFilter, FinishReason::ContentFilter),
            (Reason::MaxTurns, Finish::Stop, FinishReason::Length),
            (Reason::MaxSeconds, Finish::ContentFilter, FinishReason::Length),
            (Reason::MaxTokens, Finish::ToolCalls, FinishReason::Length),
        ];
        for (reason, finish, expected) in cases {
            assert_eq!(FinishReason::of(reason, finish), expected, "{reason:?} {finish:?}");
        }
    }
}
