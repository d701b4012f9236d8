//! A call's arguments, read by name and type.
//!
//! The host has validated them against the schema before it calls, so a wrong type here means
//! that schema and plugin disagree; it is still said in words, never guessed at.

use serde_json::{Map, Value};

use crate::{Fault, fault};

/// The arguments of one call: an object.
#[derive(Debug)]
pub struct Input(Map<String, Value>);

impl Input {
    /// Reads the text of [`Call::input`](crate::Call).
    ///
    /// # Errors
    ///
    /// `invalid-input` when the text is not JSON or not an object.
    pub fn parse(json: &str) -> Result<Input, Fault> {
        match serde_json::from_str(json) {
            Ok(Value::Object(fields)) => Ok(Input(fields)),
            Ok(_) => Err(fault::invalid("the arguments are not a JSON object")),
            Err(err) => Err(fault::invalid(format!("the arguments are not JSON: {err}"))),
        }
    }

    /// A text that must be there.
    ///
    /// # Errors
    ///
    /// `invalid-input` when it is missing or not a string.
    pub fn text(&self, name: &str) -> Result<&str, Fault> {
        self.optional_text(name)?
            .ok_or_else(|| fault::invalid(format!("argument `{name}` is missing")))
    }

    /// A text that may be left out; null counts as left out.
    ///
    /// # Errors
    ///
    /// `invalid-input` when it is there and not a string.
    pub fn optional_text(&self, name: &str) -> Result<Option<&str>, Fault> {
        self.read(name, "a string", Value::as_str)
    }

    /// A whole number from 0 that may be left out.
    ///
    /// # Errors
    ///
    /// `invalid-input` when it is there and anything else.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.read(name, "a whole number", Value::as_u64)
    }

    /// True only when the argument is there and true.
    ///
    /// # Errors
    ///
    /// `invalid-input` when it is there and not a boolean.
    pub fn is_set(&self, name: &str) -> Result<bool, Fault> {
        Ok(self.read(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    fn read<'a, T>(
        &'a self,
        name: &str,
        expected: &str,
        convert: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => convert(value)
                .map(Some)
                .ok_or_else(|| fault::invalid(format!("argument `{name}` must be {expected}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_type() {
        let input = Input::parse(r#"{"a":"x","n":5,"b":true,"z":null,"f":1.5}"#).unwrap();
        assert_eq!(input.text("a").unwrap(), "x");
        assert_eq!(input.number("n").unwrap(), Some(5));
        assert_eq!(input.number("z").unwrap(), None);
        assert!(input.is_set("b").unwrap());
        assert!(!input.is_set("missing").unwrap());
        assert_eq!(input.optional_text("z").unwrap(), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let input = Input::parse(r#"{"n":-1,"a":1}"#).unwrap();
        let message = |result: Result<Option<u64>, Fault>| result.unwrap_err().message;
        assert_eq!(message(input.number("n")), "argument `n` must be a whole number");
        assert_eq!(input.text("a").unwrap_err().message, "argument `a` must be a string");
        assert_eq!(input.text("q").unwrap_err().message, "argument `q` is missing");
        assert!(Input::parse("[]").is_err());
        assert!(Input::parse("{").is_err());
    }
}
