//! Arguments as a model sent them, to input that fits the tool's schema.
//!
//! Text that does not parse is never guessed at. What is mended is lossless and told: a number
//! sent as text, an object sent as JSON text, a null where nothing was meant. The errors are read
//! by the model: what did not fit, what would, and the shape of the whole.

use jsonschema::Validator;
use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use crate::message::ARGUMENT_BYTES;

/// Problems told at once; a model mends the first few and the rest follow from them.
const PROBLEMS: usize = 4;

/// Characters of the model's own text that an error repeats.
const ECHO_CHARS: usize = 120;

/// A tool's input schema, ready to check with.
pub(super) struct Schema {
    validator: Validator,
    properties: Map<String, Value>,
    required: Vec<String>,
}

/// Input that fits, as canonical text: keys sorted, no white space.
#[derive(Debug, PartialEq)]
pub(super) struct Fitting {
    pub(super) value: Value,
    pub(super) text: String,
    /// What was changed to make it fit, one sentence each.
    pub(super) mended: Vec<String>,
}

impl Schema {
    /// Reads a schema; the error is for the tool's author.
    pub(super) fn new(text: &str) -> Result<Schema, String> {
        let schema: Value =
            serde_json::from_str(text).map_err(|err| format!("input schema is not JSON: {err}"))?;
        if schema.get("type") != Some(&Value::from("object")) {
            return Err("input schema must have `\"type\": \"object\"`".to_owned());
        }
        let validator = jsonschema::draft202012::new(&schema)
            .map_err(|err| format!("input schema is not valid JSON Schema 2020-12: {err}"))?;
        let properties = match schema.get("properties") {
            Some(Value::Object(properties)) => properties.clone(),
            _ => Map::new(),
        };
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        Ok(Schema { validator, properties, required: required.map(str::to_owned).collect() })
    }

    /// Checks the arguments of a call of `tool`; the error is for the model.
    pub(super) fn fit(&self, tool: &str, arguments: &str) -> Result<Fitting, String> {
        if arguments.len() > ARGUMENT_BYTES {
            return Err(format!(
                "the arguments of `{tool}` are {} bytes, over the limit of {ARGUMENT_BYTES}; nothing was done\n\
                 hint: do it in smaller parts",
                arguments.len()
            ));
        }
        let (mut fields, unwrapped) = match parse(arguments) {
            Ok(parsed) => parsed,
            Err(problem) if ends_early(arguments) => {
                return Err(format!(
                    "the arguments of `{tool}` do not fit, nothing was done: {problem}, as if the \
                     reply was cut off\n\
                     hint: call `{tool}` again with all of them, in smaller parts if they were long"
                ));
            }
            Err(problem) => return Err(self.misfit(tool, &[problem])),
        };
        let mut mended: Vec<String> = unwrapped.into_iter().collect();
        mended.extend(self.mend(&mut fields));
        let value = Value::Object(fields);
        let problems: Vec<String> =
            self.validator.iter_errors(&value).take(PROBLEMS).map(|err| describe(&err)).collect();
        if !problems.is_empty() {
            return Err(self.misfit(tool, &problems));
        }
        Ok(Fitting { text: value.to_string(), value, mended })
    }

    fn misfit(&self, tool: &str, problems: &[String]) -> String {
        format!(
            "the arguments of `{tool}` do not fit, nothing was done: {}\n\
             hint: call `{tool}` again with {}",
            problems.join("; "),
            self.outline()
        )
    }

    /// The shape in one line: `{"path": string, "offset"?: integer}`.
    fn outline(&self) -> String {
        let field = |(name, schema): (&String, &Value)| {
            let mark = if self.required.contains(name) { "" } else { "?" };
            let kind = schema.get("type").and_then(Value::as_str).unwrap_or("any");
            format!("\"{name}\"{mark}: {kind}")
        };
        let fields: Vec<String> = self.properties.iter().map(field).collect();
        format!("{{{}}}", fields.join(", "))
    }

    /// Whether null means something to a property.
    fn admits_null(&self, name: &str) -> bool {
        // Without a type anything goes; with several, null may be one.
        !matches!(
            self.properties.get(name).map(|schema| &schema["type"]),
            Some(Value::String(kind)) if kind != "null"
        )
    }

    /// Lossless repairs of top-level properties, each named in the result.
    fn mend(&self, value: &mut Map<String, Value>) -> Vec<String> {
        let mut mended = Vec::new();
        let empty: Vec<String> = value
            .iter()
            .filter(|(name, value)| value.is_null() && !self.required.contains(name))
            .filter(|(name, _)| !self.admits_null(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in empty {
            value.remove(&name);
            mended.push(format!("`{name}` was null and was left out"));
        }
        for (name, value) in value.iter_mut() {
            let wanted = self.properties.get(name).and_then(|schema| schema.get("type"));
            let Some(wanted) = wanted.and_then(Value::as_str) else { continue };
            if let Some(better) = convert(value, wanted) {
                mended.push(format!("`{name}` was read as {wanted}"));
                *value = better;
            }
        }
        mended
    }
}

/// The fields, and what had to be done to get at them.
fn parse(arguments: &str) -> Result<(Map<String, Value>, Option<String>), String> {
    // Some servers stream no arguments at all for a call that has none.
    if arguments.trim().is_empty() {
        return Ok((Map::new(), None));
    }
    let fields = |text: &str| {
        serde_json::from_str::<Fields>(text)
            .map(|fields| fields.0)
            .map_err(|err| format!("they cannot be taken at their word: {err}"))
    };
    match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(_)) => Ok((fields(arguments)?, None)),
        // The object, encoded once more than it should be.
        Ok(Value::String(text)) if matches!(serde_json::from_str(&text), Ok(Value::Object(_))) => {
            Ok((fields(&text)?, Some("the object was read out of a text".to_owned())))
        }
        Ok(other) => Err(format!("expected a JSON object, got {}", kind(&other))),
        Err(err) => {
            Err(format!("they are not valid JSON ({err}); they began with `{}`", head(arguments)))
        }
    }
}

/// Whether it could be the start of JSON: an output limit that the provider does not tell of cuts so.
pub(crate) fn ends_early(arguments: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(arguments).is_err_and(|err| err.is_eof())
}

/// An object's fields, each there once: of two values of one key neither is meant more.
struct Fields(Map<String, Value>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        struct Once;
        impl<'de> Visitor<'de> for Once {
            type Value = Fields;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Map::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    if fields.contains_key(&key) {
                        return Err(A::Error::custom(format!("`{}` occurs twice", head(&key))));
                    }
                    fields.insert(key, value);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Once)
    }
}

/// `value` as `wanted`, when it is the same thing written in another type.
fn convert(value: &Value, wanted: &str) -> Option<Value> {
    match (value, wanted) {
        (Value::String(text), "integer" | "number" | "boolean") => {
            let parsed: Value = serde_json::from_str(text.trim()).ok()?;
            let same = match wanted {
                "integer" => parsed.is_i64() || parsed.is_u64(),
                "number" => parsed.is_number(),
                _ => parsed.is_boolean(),
            };
            same.then_some(parsed)
        }
        (Value::Number(number), "integer") => {
            let whole = number.as_f64().filter(|_| !number.is_i64() && !number.is_u64())?;
            let exact = whole.fract() == 0.0 && whole.abs() < 9e15;
            #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53: exact")]
            exact.then(|| Value::from(whole as i64))
        }
        (Value::String(text), "array" | "object") => {
            let parsed: Value = serde_json::from_str(text).ok()?;
            (kind(&parsed) == wanted).then_some(parsed)
        }
        _ => None,
    }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let place = place.trim_start_matches('/');
    let message = head(&error.to_string());
    if place.is_empty() { message } else { format!("`{place}`: {message}") }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn head(text: &str) -> String {
    match text.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Schema;

    fn check(arguments: &str, expected: Result<(&str, usize), &str>) {
        let schema = Schema::new(
            r#"{"type":"object","additionalProperties":false,"required":["path"],"properties":{
                "path":{"type":"string"},"limit":{"type":"integer","minimum":1},
                "all":{"type":"boolean"},"edits":{"type":"array"}}}"#,
        )
        .expect("the schema of this test is valid");
        match (schema.fit("read", arguments), expected) {
            (Ok(fitting), Ok((text, mended))) => {
                assert_eq!((fitting.text.as_str(), fitting.mended.len()), (text, mended));
            }
            (Err(message), Err(fragment)) => {
                assert!(message.contains(fragment), "no `{fragment}` in `{message}`");
                assert!(message.len() < 800, "{} bytes", message.len());
                assert!(message.contains("hint: "), "{message}");
            }
            (got, expected) => panic!("{arguments}: expected {expected:?}, got {got:?}"),
        }
    }

    #[test]
    fn fits_mends_and_refuses() {
        check(r#"{"path":"a"}"#, Ok((r#"{"path":"a"}"#, 0)));
        check(r#"{"path":"a","limit":5}"#, Ok((r#"{"limit":5,"path":"a"}"#, 0)));
        check(r#"{"path":"a","limit":"5"}"#, Ok((r#"{"limit":5,"path":"a"}"#, 1)));
        check(r#"{"path":"a","limit":5.0}"#, Ok((r#"{"limit":5,"path":"a"}"#, 1)));
        check(r#"{"path":"a","all":"true","limit":null}"#, Ok((r#"{"all":true,"path":"a"}"#, 2)));
        check(r#"{"path":"5"}"#, Ok((r#"{"path":"5"}"#, 0)));
        check(
            r#"{"path":"a","edits":"[{\"a\":1}]"}"#,
            Ok((r#"{"edits":[{"a":1}],"path":"a"}"#, 1)),
        );
        check(r#"{"path":"a","path":"b"}"#, Err("`path` occurs twice"));
        check("12345", Err("expected a JSON object, got number"));
        check(r#"["x"]"#, Err("got array"));
        check("null", Err("got null"));
        check(r#""{\"path\":\"a\"}""#, Ok((r#"{"path":"a"}"#, 1)));
        check(r#""{\"path\":\"a\",\"limit\":\"5\"}""#, Ok((r#"{"limit":5,"path":"a"}"#, 2)));
        check(r#""{\"path\":\"a\",\"path\":\"b\"}""#, Err("`path` occurs twice"));
        check(r#""\"{}\"""#, Err("got string"));
        check(r#""path""#, Err("got string"));
        check("", Err("\"path\""));
        check("{\"path\": \"a", Err("not valid JSON"));
        check("{\"path\": \"a", Err("in smaller parts"));
        check(r#"{"path":"a","limit":"many"}"#, Err("`limit`"));
        check(r#"{"path":"a","limit":0}"#, Err("`limit`"));
        check(r#"{"path":"a","limit":5.5}"#, Err("`limit`"));
        check(r#"{"path":7}"#, Err("`path`"));
        check(r#"{"path":"a","lines":3}"#, Err("lines"));
        check(&"x".repeat(1 << 20), Err("not valid JSON"));
        check(&"x".repeat((1 << 20) + 1), Err("over the limit"));
        check(&format!("{{\"path\":\"a\",\"limit\":\"{}\"}}", "y".repeat(5000)), Err("`limit`"));
    }
}
