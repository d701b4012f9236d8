//! What a scripted upstream says, turn by turn: read from TOML, checked before anything listens.
//!
//! Every error names the turn and what was expected there. Nothing is played here.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use serde::Deserialize;

use crate::message::Finish;

/// A script, checked. Written like this; every key of a turn but one that says what it answers is
/// optional, and [`Script::parse`] names what is wrong:
///
/// ```toml
/// model = "scripted"              # shown in `/v1/models` and in answers
/// context_window = 32768          # shown in `/v1/models`
/// check = "refuse"                # or "record": let requests pass that break the wire's rules
///
/// [[turn]]                        # a reply
/// text = "Let me look."           # `{n}` in texts and inputs is the number of the repetition
/// reasoning = "hm"
/// calls = [{ tool = "read", input = { path = "a{n}.rs" } }, { tool = "bash", arguments = "not json {" }]
/// finish = "length"               # stop, tool_calls, length, content_filter, none
/// usage = { prompt = 100, completion = 10, cached = 50, reasoning = 0 }
/// pause_ms = 100                  # before the first byte
/// piece_pause_ms = 5              # before every further piece
/// repeat = 40
/// expect = ["fn main"]            # must occur in the newest outcomes or user message; of an image
///                                 # `data:image/png;base64`
///
/// [[turn]]                        # an error
/// status = 503
/// headers = { retry-after = "1" }
/// body = "busy"
///
/// [[turn]]                        # bytes as they are, after the headers of a stream
/// raw = "data: oops"
/// disconnect = true               # cut the connection afterwards; any turn may
/// ```
#[derive(Clone, Debug)]
pub struct Script {
    pub(super) model: String,
    pub(super) context_window: Option<u64>,
    pub(super) check: Check,
    pub(super) turns: Vec<Turn>,
}

/// What happens to a request that breaks the wire's rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// 400, and the turn is not played.
    #[default]
    Refuse,
    /// It is played, and the violation shows in the record: for clients that are not ours.
    Record,
}

/// One answer.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    /// Before the first byte.
    pub(super) pause: Duration,
    /// Before every further piece.
    pub(super) piece_pause: Duration,
    /// How many requests it answers.
    pub(super) repeat: u32,
    /// Texts that must occur in what the request brought.
    pub(super) expect: Vec<String>,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// The connection is cut after the last piece.
    pub(super) disconnect: bool,
    pub(super) play: Play,
}

/// What an answer is made of.
#[derive(Clone, Debug)]
pub(super) enum Play {
    Reply(Scripted),
    Error { status: StatusCode, body: String },
    Raw(Bytes),
}

/// A reply; `{n}` in its texts stands for the number of the repetition.
#[derive(Clone, Debug)]
pub(super) struct Scripted {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) calls: Vec<ScriptedCall>,
    /// None: the stream ends without one.
    pub(super) finish: Option<Finish>,
    pub(super) usage: Option<WrittenUsage>,
}

#[derive(Clone, Debug)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    pub(super) arguments: String,
}

/// A script that cannot be played.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// Not TOML, or an unknown key outside the turns.
    #[error("the script cannot be read: {what}")]
    Unreadable {
        /// The parser's words, with the line.
        what: String,
    },
    /// A script without a turn.
    #[error("the script has no `[[turn]]`")]
    Empty,
    /// One turn is wrong.
    #[error("turn {turn}: {what}")]
    Turn {
        /// Counted from 1.
        turn: usize,
        /// What was expected and what came.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScript {
    model: Option<String>,
    context_window: Option<u64>,
    #[serde(default)]
    check: Check,
    #[serde(default)]
    turn: Vec<toml::Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTurn {
    text: Option<String>,
    reasoning: Option<String>,
    calls: Option<Vec<WrittenCall>>,
    finish: Option<WrittenFinish>,
    usage: Option<WrittenUsage>,
    #[serde(default)]
    pause_ms: u64,
    #[serde(default)]
    piece_pause_ms: u64,
    repeat: Option<u32>,
    #[serde(default)]
    expect: Vec<String>,
    status: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    raw: Option<String>,
    #[serde(default)]
    disconnect: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCall {
    tool: String,
    input: Option<toml::Table>,
    arguments: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenFinish {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
    None,
}

/// Tokens a turn claims to have cost.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenUsage {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    pub(super) cached: u64,
    pub(super) reasoning: u64,
}

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Script, ScriptError> {
        let written: WrittenScript = toml::from_str(text).map_err(|err| {
            ScriptError::Unreadable { what: err.to_string().trim_end().to_owned() }
        })?;
        if written.turn.is_empty() {
            return Err(ScriptError::Empty);
        }
        let turns = written.turn.into_iter().enumerate().map(|(at, turn)| {
            turn.try_into()
                .map_err(|err: toml::de::Error| err.message().to_owned())
                .and_then(checked)
                .map_err(|what| ScriptError::Turn { turn: at + 1, what })
        });
        Ok(Script {
            model: written.model.unwrap_or_else(|| "scripted".to_owned()),
            context_window: written.context_window,
            check: written.check,
            turns: turns.collect::<Result<_, _>>()?,
        })
    }
}

fn checked(turn: WrittenTurn) -> Result<Turn, String> {
    let repeat = turn.repeat.unwrap_or(1);
    if repeat == 0 {
        return Err("`repeat` must be 1 or more, but is 0".to_owned());
    }
    let has_reply = turn.text.is_some() || turn.reasoning.is_some() || turn.calls.is_some();
    let has_reply = has_reply || turn.finish.is_some() || turn.usage.is_some();
    let play = match (has_reply, turn.status, turn.raw) {
        (false, Some(status), None) => {
            Play::Error { status: error_status(status)?, body: error_body(status, turn.body)? }
        }
        (_, _, _) if turn.body.is_some() => {
            return Err("`body` belongs to `status`, which is missing".to_owned());
        }
        (false, None, Some(raw)) => Play::Raw(raw.into()),
        (false, None, None) if !turn.disconnect => {
            return Err("expected one of `text`, `reasoning`, `calls`, `status`, `raw`".to_owned());
        }
        (_, None, None) => Play::Reply(reply(
            turn.text.unwrap_or_default(),
            turn.reasoning.unwrap_or_default(),
            turn.calls.unwrap_or_default(),
            turn.finish,
            turn.usage,
        )?),
        _ => return Err("a reply, `status` and `raw` exclude each other".to_owned()),
    };
    Ok(Turn {
        pause: Duration::from_millis(turn.pause_ms),
        piece_pause: Duration::from_millis(turn.piece_pause_ms),
        repeat,
        expect: turn.expect,
        headers: turn.headers.into_iter().map(header).collect::<Result<_, _>>()?,
        disconnect: turn.disconnect,
        play,
    })
}

fn reply(
    text: String,
    reasoning: String,
    calls: Vec<WrittenCall>,
    finish: Option<WrittenFinish>,
    usage: Option<WrittenUsage>,
) -> Result<Scripted, String> {
    let calls = calls.into_iter().map(call).collect::<Result<Vec<_>, _>>()?;
    let finish = match finish {
        None if calls.is_empty() => Some(Finish::Stop),
        None | Some(WrittenFinish::ToolCalls) => Some(Finish::ToolCalls),
        Some(WrittenFinish::Stop) => Some(Finish::Stop),
        Some(WrittenFinish::Length) => Some(Finish::Length),
        Some(WrittenFinish::ContentFilter) => Some(Finish::ContentFilter),
        Some(WrittenFinish::None) => None,
    };
    Ok(Scripted { text, reasoning, calls, finish, usage })
}

fn call(call: WrittenCall) -> Result<ScriptedCall, String> {
    let arguments = match (call.input, call.arguments) {
        (Some(input), None) => serde_json::to_string(&input)
            .map_err(|err| format!("the input of `{}` is not plain data: {err}", call.tool))?,
        (None, Some(arguments)) => arguments,
        (None, None) => "{}".to_owned(),
        (Some(_), Some(_)) => {
            return Err(format!("call `{}` has both `input` and `arguments`", call.tool));
        }
    };
    Ok(ScriptedCall { tool: call.tool, arguments })
}

fn error_status(status: u16) -> Result<StatusCode, String> {
    match StatusCode::from_u16(status) {
        Ok(code) if (300..600).contains(&status) => Ok(code),
        _ => Err(format!("`status` must be 300 to 599, but is {status}")),
    }
}

fn error_body(status: u16, body: Option<String>) -> Result<String, String> {
    Ok(body.unwrap_or_else(|| {
        super::answer::error_json(&format!("scripted status {status}"), "scripted")
    }))
}

fn header((name, value): (String, String)) -> Result<(HeaderName, HeaderValue), String> {
    match (name.parse(), value.parse()) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        _ => Err(format!("header `{name}` has a name or a value that cannot be sent")),
    }
}

impl Turn {
    /// The HTTP status it answers with.
    pub(super) fn status(&self) -> u16 {
        match &self.play {
            Play::Error { status, .. } => status.as_u16(),
            Play::Reply(_) | Play::Raw(_) => 200,
        }
    }
}
