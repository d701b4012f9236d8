//! The profiles of providers that speak OpenAI's wire: data only.
//!
//! The host encodes and decodes that wire itself and reads from the quirk table what a provider
//! wants otherwise, so nothing here is called after `describe`. `docs/profiles.md` says what
//! each field means; null means that the provider is not told, or that it is not known.

use harness_sdk::serde_json::{Value, json};
use harness_sdk::{Description, Profile, export_profile};

/// The component.
pub struct Profiles;

export_profile!(Profiles);

impl Profile for Profiles {
    fn describe() -> Vec<Description> {
        vec![
            description("generic", "*", &quirks("max_tokens")),
            description("openai", "https://api.openai.com/*", &quirks("max_completion_tokens")),
        ]
    }
}

fn description(name: &str, matches: &str, quirks: &Value) -> Description {
    Description {
        name: name.to_owned(),
        matches: vec![matches.to_owned()],
        quirks: quirks.to_string(),
        own_wire: false,
    }
}

/// The table, with every field the host reads.
fn quirks(output_limit_field: &str) -> Value {
    json!({
        // The request field that bounds the length of a reply.
        "output_limit_field": output_limit_field,
        // The role under which the system prompt is sent.
        "system_role": "system",
        // The value of `parallel_tool_calls`; null: do not send it.
        "parallel_tool_calls": null,
        // Send `stream_options.include_usage`.
        "stream_usage": true,
        // The value of `strict` in a tool's definition; null: do not send it.
        "strict": null,
        // Images may be sent.
        "images": false,
        // Tokens; null: not known.
        "context_window": null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness_sdk::serde_json;

    #[test]
    fn every_description_is_a_whole_table() {
        let described = Profiles::describe();
        let names: Vec<_> = described.iter().map(|description| &*description.name).collect();
        assert_eq!(names, ["generic", "openai"]);
        for description in &described {
            let quirks: Value = serde_json::from_str(&description.quirks).unwrap();
            assert_eq!(quirks.as_object().unwrap().len(), 7);
            assert!(!description.own_wire);
        }
        assert!(described[1].quirks.contains("max_completion_tokens"));
    }
}
