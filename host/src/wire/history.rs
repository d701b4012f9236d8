//! The `messages` of a request: which roles and contents are taken, and what becomes of each.
//!
//! System texts are collected apart, since they go into the one system message that the loop
//! builds. Calls, outcomes and pictures in a client's history are refused with their path; a key
//! that is left out becomes a note.

use std::collections::BTreeSet;

use serde_json::Value;

use super::field::{Field, shown};
use crate::error::Refusal;
use crate::message::Message;

/// Keys of a message that are read here, or say nothing more.
const KNOWN: [&str; 5] = ["role", "content", "tool_calls", "function_call", "refusal"];

/// A client's conversation, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct History {
    /// Texts of system and developer messages, in order.
    pub(super) system: Vec<String>,
    /// User and assistant messages, in order; the last is a user's.
    pub(super) messages: Vec<Message>,
}

impl History {
    /// Reads `messages`. What is left out is told in `notes`.
    pub(super) fn read(field: &Field<'_>, notes: &mut Vec<String>) -> Result<History, Refusal> {
        let entries = field.list("a list of messages")?;
        let mut history = History::default();
        let mut left_out = BTreeSet::new();
        let mut late_system = false;
        // Where the last message stands that is no system message.
        let mut last = None;
        for entry in entries {
            let object = entry.object()?;
            let role = entry.given(object, "role").ok_or_else(|| {
                Refusal::invalid(
                    format!("{}.role", entry.path),
                    format!("`{}.role` is missing", entry.path),
                )
                .with_code("missing")
            })?;
            let role_name = role.text()?;
            let content = Field::new(
                format!("{}.content", entry.path),
                object.get("content").unwrap_or(&Value::Null),
            );
            match role_name {
                "system" | "developer" => {
                    late_system |= !history.messages.is_empty();
                    history.system.push(text_of(&content)?);
                }
                "user" => {
                    history.messages.push(Message::User { text: text_of(&content)? });
                    last = Some(entry.clone());
                }
                "assistant" => {
                    refuse_calls(&entry)?;
                    let text =
                        if content.value.is_null() { String::new() } else { text_of(&content)? };
                    history.messages.push(Message::Assistant { text, calls: Vec::new() });
                    last = Some(entry.clone());
                }
                "tool" | "function" => {
                    return Err(role.unsupported(format!(
                        "`{}` is `{role_name}`: results of a client's tools are not supported yet",
                        role.path
                    )));
                }
                _ => {
                    return Err(role.wrong("`system`, `developer`, `user` or `assistant`"));
                }
            }
            let said = |(key, value): (&String, &Value)| {
                let counts =
                    key == "refusal" && value.is_string() || !KNOWN.contains(&key.as_str());
                (counts && !Field::new("", value).is_empty()).then(|| key.clone())
            };
            left_out.extend(object.iter().filter_map(said));
        }
        ends_with_user(field, &history, last)?;
        if late_system {
            notes.push("system messages after the first were moved to the front".to_owned());
        }
        if !left_out.is_empty() {
            let keys: Vec<String> = left_out.iter().map(|key| shown(key)).collect();
            notes.push(format!("keys of messages that are not sent on: {}", keys.join(", ")));
        }
        Ok(history)
    }
}

/// The text of a message: a text, or parts that are texts.
fn text_of(content: &Field<'_>) -> Result<String, Refusal> {
    let expected = "a text or a list of text parts";
    if let Value::String(text) = content.value {
        return Ok(text.clone());
    }
    let parts = content.list(expected)?;
    if parts.is_empty() {
        return Err(content.wrong("a text or a list of at least one text part"));
    }
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        let object = part.object()?;
        let kind = part.child("type", object.get("type").unwrap_or(&Value::Null));
        match kind.text()? {
            "text" => {
                let text = part.child("text", object.get("text").unwrap_or(&Value::Null));
                texts.push(text.text()?);
            }
            name @ ("image_url" | "input_audio" | "file" | "image" | "video_url") => {
                return Err(kind.unsupported(format!(
                    "`{}` is `{name}`: only text is supported yet, no pictures, sound or files",
                    kind.path
                )));
            }
            _ => return Err(kind.wrong("`text`")),
        }
    }
    // Parts are blocks of their own, such as a file put under a question: a line each, at least.
    Ok(texts.join("\n"))
}

/// Calls in an assistant message would need outcomes, which a client cannot supply yet.
fn refuse_calls(entry: &Field<'_>) -> Result<(), Refusal> {
    let object = entry.object()?;
    for key in ["tool_calls", "function_call"] {
        if let Some(calls) = entry.given(object, key).filter(|calls| !calls.is_empty()) {
            return Err(calls.unsupported(format!(
                "`{}`: tool calls in the history are not supported yet",
                calls.path
            )));
        }
    }
    Ok(())
}

/// The last message that is not a system message must be a user's, and say something.
fn ends_with_user(
    field: &Field<'_>,
    history: &History,
    last: Option<Field<'_>>,
) -> Result<(), Refusal> {
    let Some(last) = last else {
        let message = format!("`{}` must hold at least one user message, got none", field.path);
        return Err(Refusal::invalid(&field.path, message).with_code("missing"));
    };
    match history.messages.last() {
        Some(Message::User { text }) if !text.trim().is_empty() => Ok(()),
        Some(Message::User { .. }) => {
            let path = format!("{}.content", last.path);
            let message = format!("`{path}` must be a text that is not blank, got a blank one");
            Err(Refusal::invalid(path, message).with_code("invalid_value"))
        }
        _ => {
            let path = format!("{}.role", last.path);
            let message =
                format!("the last message must be a user message, got `{path}` `assistant`");
            Err(Refusal::invalid(path, message).with_code("invalid_value"))
        }
    }
}
