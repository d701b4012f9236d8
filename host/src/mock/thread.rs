//! One conversation as the scripted upstream sees it: what came so far, and the rules it must keep.
//!
//! Only what a request adds is read; what came before is compared byte by byte. The rules are those
//! that real providers answer with 400: order of roles, every call answered once and in order.

use std::collections::VecDeque;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::body::{Cursor, is_name};

/// A conversation, after the requests so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Thread {
    /// The messages of the last request, joined by commas.
    messages: Bytes,
    count: usize,
    /// Ids of calls that wait for their outcome.
    open: VecDeque<String>,
    /// Texts of outcomes and user messages since the last reply.
    newest: Vec<String>,
}

#[derive(Deserialize)]
struct Spoken {
    #[serde(default)]
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Value,
    #[serde(default)]
    tool_call_id: Value,
}

/// The text of the first user message: what a conversation is known by.
pub(super) fn first_user_text(messages: &[u8]) -> Option<String> {
    let mut cursor = Cursor::new(messages);
    loop {
        let message: Spoken = cursor.value().ok()?;
        if message.role == "user" {
            return Some(text(&message.content));
        }
        if !cursor.eat(b',') {
            return None;
        }
    }
}

impl Thread {
    /// Takes the messages of the next request, and returns the rules they break.
    pub(super) fn receive(&mut self, messages: Bytes) -> Vec<String> {
        let mut violations = Vec::new();
        let is_suffix = messages.starts_with(&self.messages);
        if !is_suffix {
            let same = messages
                .iter()
                .zip(self.messages.iter())
                .take_while(|(now, before)| now == before)
                .count();
            violations.push(format!(
                "the messages are not the previous ones plus a suffix: byte {same} of {} differs",
                self.messages.len()
            ));
            *self = Thread::default();
        }
        let mut cursor = Cursor::new(&messages);
        cursor.at = self.messages.len();
        let mut goes_on = match self.messages.is_empty() {
            true => !cursor.is_at_end(),
            false => cursor.eat(b','),
        };
        while goes_on {
            match cursor.value::<Spoken>() {
                Ok(message) => self.take(&message, &mut violations),
                Err(err) => {
                    violations.push(format!("`messages[{}]` is not a message: {err}", self.count));
                    return violations;
                }
            }
            goes_on = cursor.eat(b',');
        }
        if !cursor.is_at_end() {
            violations.push("`messages` is not the last key".to_owned());
        }
        if let Some(id) = self.open.front() {
            violations.push(format!("call `{id}` has no outcome"));
        }
        self.messages = messages;
        violations
    }

    fn take(&mut self, message: &Spoken, violations: &mut Vec<String>) {
        let at = self.count;
        let mut wrong = |what: String| violations.push(format!("`messages[{at}]`: {what}"));
        if message.role != "tool"
            && let Some(id) = self.open.front()
        {
            wrong(format!("call `{id}` has no outcome directly after it"));
            self.open.clear();
        }
        match message.role.as_str() {
            "system" | "developer" if at > 0 => {
                wrong("a system message that is not the first".to_owned())
            }
            "system" | "developer" => {}
            "user" => {
                for part in message.content.as_array().into_iter().flatten() {
                    if let Err(what) = part_of_user(part) {
                        wrong(what);
                    }
                }
                self.newest.push(text(&message.content));
            }
            "assistant" => {
                self.newest.clear();
                let calls = message.tool_calls.as_array().map(Vec::as_slice).unwrap_or_default();
                if calls.is_empty() && text(&message.content).trim().is_empty() {
                    wrong("an assistant message with neither text nor calls".to_owned());
                }
                for call in calls {
                    match call_id(call) {
                        Ok(id) if self.open.contains(&id) => {
                            wrong(format!("two calls have the id `{id}`"))
                        }
                        Ok(id) => self.open.push_back(id),
                        Err(what) => wrong(what),
                    }
                }
            }
            "tool" => {
                let id = message.tool_call_id.as_str().unwrap_or_default();
                match self.open.front() {
                    Some(expected) if expected == id => {
                        self.open.pop_front();
                    }
                    Some(expected) => {
                        wrong(format!("expected the outcome of `{expected}`, but `{id}` came"))
                    }
                    None => wrong(format!("an outcome of `{id}`, which is no open call")),
                }
                if !message.content.is_string() {
                    wrong("the outcome of a call that is not a text".to_owned());
                }
                self.newest.push(text(&message.content));
            }
            role => wrong(format!("unknown role `{role}`")),
        }
        self.count += 1;
    }

    /// The first of `expected` that occurs in nothing the last request brought.
    pub(super) fn lacks<'a>(&self, expected: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let mut missing =
            expected.filter(|text| !self.newest.iter().any(|newest| newest.contains(text)));
        missing.next()
    }
}

fn call_id(call: &Value) -> Result<String, String> {
    let id = call["id"].as_str().filter(|id| !id.is_empty() && id.len() <= 64);
    let id = id.ok_or("a call's id is not 1 to 64 bytes")?;
    let function = &call["function"];
    if call["type"] != "function" || !function["name"].as_str().is_some_and(is_name) {
        return Err(format!("call `{id}` has no function with a name that providers accept"));
    }
    let arguments = function["arguments"].as_str().unwrap_or_default();
    let is_object = arguments.trim_start().starts_with('{')
        && serde_json::from_str::<IgnoredAny>(arguments).is_ok();
    match is_object {
        true => Ok(id.to_owned()),
        false => Err(format!("the arguments of call `{id}` are not the text of a JSON object")),
    }
}

/// A text, or an image of a type that providers take, as a data URL.
fn part_of_user(part: &Value) -> Result<(), String> {
    match part["type"].as_str() {
        Some("text") if part["text"].is_string() => Ok(()),
        Some("image_url") => {
            let url = part["image_url"]["url"].as_str().unwrap_or_default();
            let data = ["png", "jpeg", "gif", "webp"]
                .iter()
                .find_map(|kind| url.strip_prefix(&format!("data:image/{kind};base64,")));
            let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            let is_base64 = |data: &str| {
                !data.is_empty() && data.len().is_multiple_of(4) && data.bytes().all(is_letter)
            };
            match data.is_some_and(is_base64) {
                true => Ok(()),
                false => Err("an image that is no data URL of one in base64".to_owned()),
            }
        }
        _ => Err("a part that is neither a text nor an image".to_owned()),
    }
}

/// The text of a content; of an image the start of its URL, up to the data.
fn text(content: &Value) -> String {
    let shown = |part: &Value| {
        let url = part["image_url"]["url"].as_str().and_then(|url| url.split(',').next());
        part["text"].as_str().or(url).unwrap_or_default().to_owned()
    };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(shown).collect(),
        _ => String::new(),
    }
}
