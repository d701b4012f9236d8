//! The outer shape of a request's body: its head, checked once, and where its messages are.
//!
//! The head (everything before the first message) is the same from turn to turn, so that finding
//! it again is one comparison. The messages themselves are `thread`'s.

use std::ops::Range;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

/// What stands before the messages, and what was wrong with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    bytes: Bytes,
    /// The client wants a stream.
    pub(super) stream: bool,
    /// And its usage at the end.
    pub(super) stream_usage: bool,
    /// Rules that the head breaks.
    pub(super) violations: Vec<String>,
}

/// A body that is not a request at all.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotARequest(pub(super) String);

/// Reads values one after the other out of the middle of JSON text.
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    pub(super) fn value<T: Deserialize<'a>>(&mut self) -> Result<T, String> {
        let mut values =
            serde_json::Deserializer::from_slice(&self.bytes[self.at..]).into_iter::<T>();
        match values.next() {
            Some(Ok(value)) => {
                self.at += values.byte_offset();
                Ok(value)
            }
            Some(Err(err)) => Err(err.to_string()),
            None => Err("the text ends where a value should be".to_owned()),
        }
    }

    /// Takes `byte`, white space before it included; false when something else comes.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let is_there = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn is_at_end(&mut self) -> bool {
        self.bytes[self.at..].trim_ascii().is_empty()
    }
}

impl Head {
    /// Where the messages are in `body`, when it begins with this very head.
    pub(super) fn messages_in(&self, body: &[u8]) -> Option<Range<usize>> {
        if self.bytes.is_empty() || !body.starts_with(&self.bytes) {
            return None;
        }
        let end =
            body.trim_ascii_end().strip_suffix(b"}")?.trim_ascii_end().strip_suffix(b"]")?.len();
        (end >= self.bytes.len()).then_some(self.bytes.len()..end)
    }

    /// Reads a head that was not seen before, and where the messages are.
    pub(super) fn read(body: &Bytes) -> Result<(Head, Range<usize>), NotARequest> {
        let mut head = Head::default();
        let mut messages = None;
        let mut has_model = false;
        let mut cursor = Cursor::new(body);
        if !cursor.eat(b'{') {
            return Err(NotARequest("the body is not a JSON object".to_owned()));
        }
        let mut is_first = true;
        while !cursor.eat(b'}') {
            if !is_first && !cursor.eat(b',') {
                return Err(NotARequest("expected `,` or `}` in the body".to_owned()));
            }
            is_first = false;
            let key: String = cursor.value().map_err(NotARequest)?;
            if !cursor.eat(b':') {
                return Err(NotARequest(format!("expected `:` after `{key}`")));
            }
            if messages.is_some() {
                head.violations.push(format!("`messages` is not the last key: `{key}` follows"));
            }
            if key == "messages" {
                if !cursor.eat(b'[') {
                    return Err(NotARequest("`messages` is not a list".to_owned()));
                }
                let start = cursor.at;
                cursor.at -= 1;
                cursor.value::<IgnoredAny>().map_err(NotARequest)?;
                messages = Some(start..cursor.at - 1);
                continue;
            }
            let value: Value = cursor.value().map_err(NotARequest)?;
            match key.as_str() {
                "model" => has_model = value.as_str().is_some_and(|model| !model.is_empty()),
                "stream" => head.stream = value == Value::Bool(true),
                "stream_options" => head.stream_usage = value["include_usage"] == Value::Bool(true),
                "tools" => tools(&value, &mut head.violations),
                _ => {}
            }
        }
        if !cursor.is_at_end() {
            return Err(NotARequest("something follows the body's last bracket".to_owned()));
        }
        let messages = messages.ok_or_else(|| NotARequest("`messages` is missing".to_owned()))?;
        if !has_model {
            head.violations.push("`model` is missing or empty".to_owned());
        }
        head.bytes = body.slice(..messages.start);
        Ok((head, messages))
    }
}

fn tools(tools: &Value, violations: &mut Vec<String>) {
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        return violations.push("`tools` is not a list with something in it".to_owned());
    };
    for (at, tool) in tools.iter().enumerate() {
        let function = &tool["function"];
        if tool["type"] != "function" {
            violations.push(format!("`tools[{at}].type` is not `function`"));
        }
        if !function["name"].as_str().is_some_and(is_name) {
            violations
                .push(format!("`tools[{at}].function.name` is not 1 to 64 of `a-z A-Z 0-9 _ -`"));
        }
        let parameters = &function["parameters"];
        if parameters["type"] != "object" || !parameters["properties"].is_object() {
            violations
                .push(format!("`tools[{at}].function.parameters` is not the schema of an object"));
        }
    }
}

/// True for a function name that providers accept.
pub(super) fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(is_allowed)
}
