//! One value of a request together with the path that leads to it.
//!
//! The only place that words "expected this, got that" for a client. It reads and refuses; what a
//! value means is decided by whoever asked for it.

use serde_json::{Map, Value};

use crate::error::Refusal;

/// Characters of a wrong text that a message repeats.
const SHOWN_CHARS: usize = 40;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    /// As in `messages[2].content`.
    pub(super) path: String,
    /// What stands there.
    pub(super) value: &'a Value,
}

impl<'a> Field<'a> {
    /// A value at the top of the request.
    pub(super) fn new(path: impl Into<String>, value: &'a Value) -> Field<'a> {
        Field { path: path.into(), value }
    }

    /// A text.
    pub(super) fn text(&self) -> Result<&'a str, Refusal> {
        self.value.as_str().ok_or_else(|| self.wrong("a text"))
    }

    /// `true` or `false`.
    pub(super) fn flag(&self) -> Result<bool, Refusal> {
        self.value.as_bool().ok_or_else(|| self.wrong("`true` or `false`"))
    }

    /// A whole number that is at least 1, however it is written; one beyond 64 bits is the largest
    /// of those.
    pub(super) fn count(&self) -> Result<u64, Refusal> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1 and whole; a float cast saturates"
        )]
        let whole = |number: f64| (number >= 1.0 && number.fract() == 0.0).then_some(number as u64);
        self.value
            .as_u64()
            .or_else(|| self.value.as_f64().and_then(whole))
            .filter(|number| *number >= 1)
            .ok_or_else(|| self.wrong("a whole number of at least 1"))
    }

    /// The entries of a list.
    pub(super) fn list(&self, expected: &str) -> Result<Vec<Field<'a>>, Refusal> {
        let entries = self.value.as_array().ok_or_else(|| self.wrong(expected))?;
        let at = |(index, value)| Field::new(format!("{}[{index}]", self.path), value);
        Ok(entries.iter().enumerate().map(at).collect())
    }

    /// The keys of an object.
    pub(super) fn object(&self) -> Result<&'a Map<String, Value>, Refusal> {
        self.value.as_object().ok_or_else(|| self.wrong("an object"))
    }

    /// `value`, which stands under `key` of this one.
    pub(super) fn child(&self, key: &str, value: &'a Value) -> Field<'a> {
        Field::new(format!("{}.{key}", self.path), value)
    }

    /// The refusal of a value that is not what was expected.
    pub(super) fn wrong(&self, expected: &str) -> Refusal {
        let message = format!("`{}` must be {expected}, got {}", self.path, describe(self.value));
        Refusal::invalid(&self.path, message).with_code("invalid_value")
    }

    /// The refusal of something that could be meant, but not here.
    pub(super) fn unsupported(&self, message: impl Into<String>) -> Refusal {
        Refusal::invalid(&self.path, message).with_code("unsupported")
    }
}

/// True for null, an empty list and an empty object: nothing is asked for.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        _ => false,
    }
}

/// A value in a few words.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "`null`".to_owned(),
        Value::Bool(flag) => format!("`{flag}`"),
        Value::Number(number) => format!("`{number}`"),
        Value::String(text) => format!("the text {}", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A text from a client, short and on one line.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(SHOWN_CHARS).collect();
    let more = if chars.next().is_some() { "…" } else { "" };
    format!("`{}{more}`", head.escape_debug())
}
