//! The `messages` of a request: which roles and contents are taken, and what becomes of each.
//!
//! System texts are collected apart, since they go into the one system message that the loop
//! builds. Calls and outcomes in a client's history are refused with their path; an image, and a key
//! that is left out, become a note.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::field::{Field, is_nothing, shown};
use crate::error::Refusal;
use crate::message::Message;

/// Keys of a message that are read here, or say nothing more.
const KNOWN: [&str; 4] = ["role", "content", "tool_calls", "function_call"];

/// Stands in the conversation for an image.
const NO_IMAGE: &str = "[an image was here; you are not shown images]";

const IMAGES_NOTE: &str = "images are not shown to the model yet; it is told that they were there";

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
        let mut history = History::default();
        let mut left_out = BTreeSet::new();
        let mut has_late_system = false;
        let mut told = BTreeSet::new();
        // Where the last user or assistant message stands.
        let mut last_path = None;
        for entry in field.list("a list of messages")? {
            let keys = entry.object()?;
            let systems = history.system.len();
            history.take(&entry, keys, &mut told)?;
            if history.system.len() == systems {
                last_path = Some(entry.path);
            } else {
                has_late_system |= !history.messages.is_empty();
            }
            left_out.extend(
                keys.iter().filter(|(key, value)| is_left_out(key, value)).map(|(key, _)| key),
            );
        }
        history.ends_with_user(&field.path, last_path)?;
        if has_late_system {
            notes.push("system messages after the first were moved to the front".to_owned());
        }
        notes.extend(told.into_iter().map(str::to_owned));
        if !left_out.is_empty() {
            let keys: Vec<String> = left_out.iter().map(|key| shown(key)).collect();
            notes.push(format!("keys of messages that are not sent on: {}", keys.join(", ")));
        }
        Ok(history)
    }

    /// Takes one message in.
    fn take(
        &mut self,
        entry: &Field<'_>,
        keys: &Map<String, Value>,
        notes: &mut BTreeSet<&'static str>,
    ) -> Result<(), Refusal> {
        let role = entry.child("role", keys.get("role").unwrap_or(&Value::Null));
        let content = entry.child("content", keys.get("content").unwrap_or(&Value::Null));
        match role.text()? {
            "system" | "developer" => self.system.push(text_of(&content, notes)?),
            "user" => self.messages.push(Message::User { text: text_of(&content, notes)? }),
            "assistant" => {
                refuse_calls(entry, keys)?;
                let text = match content.value {
                    Value::Null => String::new(),
                    _ => text_of(&content, notes)?,
                };
                self.messages.push(Message::Assistant { text, calls: Vec::new() });
            }
            name @ ("tool" | "function") => {
                return Err(role.unsupported(format!(
                    "`{}` is `{name}`: results of a client's tools are not supported yet",
                    role.path
                )));
            }
            _ => return Err(role.wrong("`system`, `developer`, `user` or `assistant`")),
        }
        Ok(())
    }

    /// The last message that is not a system message must be a user's, and say something.
    fn ends_with_user(&self, path: &str, last_path: Option<String>) -> Result<(), Refusal> {
        let Some(last_path) = last_path else {
            let message = format!("`{path}` must hold at least one user message, got none");
            return Err(Refusal::invalid(path, message).with_code("missing"));
        };
        let (param, message) = match self.messages.last() {
            Some(Message::User { text }) if !text.trim().is_empty() => return Ok(()),
            Some(Message::User { .. }) => {
                let param = format!("{last_path}.content");
                let message =
                    format!("`{param}` must be a text that is not blank, got a blank one");
                (param, message)
            }
            _ => {
                let param = format!("{last_path}.role");
                let message =
                    format!("the last message must be a user message, got `{param}` `assistant`");
                (param, message)
            }
        };
        Err(Refusal::invalid(param, message).with_code("invalid_value"))
    }
}

/// Whether a message's key says something that is not read.
fn is_left_out(key: &str, value: &Value) -> bool {
    if key == "refusal" {
        return value.is_string();
    }
    !KNOWN.contains(&key) && !is_nothing(value)
}

/// The text of a message: a text, or parts that are texts.
fn text_of(content: &Field<'_>, notes: &mut BTreeSet<&'static str>) -> Result<String, Refusal> {
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
            // OpenAI's shape for what a model declined to say.
            "refusal" => {
                let text = part.child("refusal", object.get("refusal").unwrap_or(&Value::Null));
                texts.push(text.text()?);
            }
            // The model is told what it misses, and the client too.
            "image_url" => {
                texts.push(NO_IMAGE);
                notes.insert(IMAGES_NOTE);
            }
            name @ ("input_audio" | "file" | "image" | "video_url") => {
                return Err(kind.unsupported(format!(
                    "`{}` is `{name}`: only text is supported yet, no sound, films or files",
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
fn refuse_calls(entry: &Field<'_>, keys: &Map<String, Value>) -> Result<(), Refusal> {
    for key in ["tool_calls", "function_call"] {
        if keys.get(key).is_some_and(|calls| !is_nothing(calls)) {
            let path = format!("{}.{key}", entry.path);
            let message = format!("`{path}`: tool calls in the history are not supported yet");
            return Err(Refusal::invalid(path, message).with_code("unsupported"));
        }
    }
    Ok(())
}
