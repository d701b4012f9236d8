//! What goes with a conversation: the tools on offer and the client's own request keys.
//!
//! Offers are encoded once per tool set, not per turn. A schema that cannot be offered is an error
//! when the set is made, never a request that the provider refuses.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::quirks::Quirks;

/// Keys of a request that are the harness's to write, or that would change the wire under it.
const RESERVED: [&str; 13] = [
    "function_call",
    "functions",
    "harness",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "model",
    "n",
    "parallel_tool_calls",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
];

/// One tool as the model is told about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOffer {
    /// 1 to 64 of `a-z A-Z 0-9 _ -`.
    pub name: String,
    /// For the model.
    pub description: String,
    /// The arguments' JSON Schema, as JSON text: an object.
    pub schema: String,
}

/// A tool that cannot be offered to a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// The name is not one that providers accept.
    #[error("tool name `{name}` is not 1 to 64 of the letters `a-z A-Z 0-9 _ -`")]
    Name {
        /// As it came.
        name: String,
    },
    /// The schema is not a JSON object.
    #[error("the schema of tool `{name}` is not a JSON object")]
    Schema {
        /// The tool.
        name: String,
    },
}

/// A set of tools, encoded. Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers(Bytes);

impl Offers {
    /// Encodes `tools` in the order given. A schema without `type` or `properties` gets both,
    /// since some providers refuse one without them.
    pub fn new(tools: &[ToolOffer], quirks: &Quirks) -> Result<Offers, OfferError> {
        if tools.is_empty() {
            return Ok(Offers::default());
        }
        let encoded =
            tools.iter().map(|tool| offer(tool, quirks)).collect::<Result<Vec<_>, _>>()?;
        Ok(Offers(Value::Array(encoded).to_string().into()))
    }

    /// True when there is no tool in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Size on the wire.
    pub fn len_bytes(&self) -> usize {
        self.0.len()
    }

    pub(super) fn encoded(&self) -> &[u8] {
        &self.0
    }
}

fn offer(tool: &ToolOffer, quirks: &Quirks) -> Result<Value, OfferError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !(1..=64).contains(&tool.name.len()) || !tool.name.bytes().all(is_allowed) {
        return Err(OfferError::Name { name: tool.name.clone() });
    }
    let Ok(Value::Object(mut schema)) = serde_json::from_str(&tool.schema) else {
        return Err(OfferError::Schema { name: tool.name.clone() });
    };
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    let mut function = json!({
        "name": tool.name,
        "description": tool.description,
        "parameters": schema,
    });
    if let Some(strict) = quirks.strict {
        function["strict"] = json!(strict);
    }
    Ok(json!({"type": "function", "function": function}))
}

/// What the model may do with the tools on offer. Without tools it is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// Call or not, as it likes.
    #[default]
    Auto,
    /// No call. Providers do not all obey.
    None,
    /// At least one call. Providers do not all obey.
    Required,
}

/// The client's own top-level keys that are forwarded as they are: `temperature`, `seed` and so on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Passthrough(Map<String, Value>);

impl Passthrough {
    /// Takes what may be forwarded out of `keys`: not the keys the harness writes itself, and no
    /// `null`, which some servers cannot read where a value is expected.
    pub fn new(mut keys: Map<String, Value>) -> Passthrough {
        keys.retain(|key, value| !value.is_null() && !RESERVED.contains(&key.as_str()));
        Passthrough(keys)
    }

    pub(super) fn entries(&self) -> &Map<String, Value> {
        &self.0
    }
}
