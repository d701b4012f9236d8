//! The profiles of providers that speak OpenAI's wire: data only.
//!
//! The host encodes and decodes that wire itself and reads from the quirk table what a provider
//! wants otherwise, so nothing here is called after `describe`. `docs/profiles.md` says what
//! each field means; null means that the provider is not told, or that it is not known.

use harness_sdk::{Description, Profile, export_profile};

/// The component.
pub struct Profiles;

export_profile!(Profiles);

impl Profile for Profiles {
    fn describe() -> Vec<Description> {
        vec![
            description("generic", "*", quirks("max_tokens", false)),
            description(
                "openai",
                "https://api.openai.com/*",
                quirks("max_completion_tokens", true),
            ),
        ]
    }
}

fn description(name: &str, matches: &str, quirks: String) -> Description {
    Description {
        name: name.to_owned(),
        matches: vec![matches.to_owned()],
        quirks,
        own_wire: false,
    }
}

/// The table, with every field the host reads:
///
/// - `output_limit_field`: the request field that bounds the length of a reply;
/// - `system_role`: the role under which the system prompt is sent;
/// - `parallel_tool_calls`: its value in the request, null to leave it out;
/// - `stream_usage`: send `stream_options.include_usage`;
/// - `strict`: its value in a tool's definition, null to leave it out;
/// - `images`: the model is shown images; not where that is unknown, since words always arrive;
/// - `max_image_bytes`, `max_image_side` in pixels, `max_images` in a run: what is over is described;
/// - `context_window`: in tokens, null when not known.
fn quirks(output_limit_field: &str, images: bool) -> String {
    format!(
        r#"{{"output_limit_field":"{output_limit_field}","system_role":"system","parallel_tool_calls":null,"stream_usage":true,"strict":null,"images":{images},"max_image_bytes":3750000,"max_image_side":8000,"max_images":20,"context_window":null}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn every_description_is_a_whole_table() {
        let described = Profiles::describe();
        let names: Vec<_> = described.iter().map(|description| &*description.name).collect();
        assert_eq!(names, ["generic", "openai"]);
        for description in &described {
            let quirks: Value = serde_json::from_str(&description.quirks).unwrap();
            assert_eq!(quirks.as_object().unwrap().len(), 10);
            assert!(!description.own_wire);
        }
        assert!(described[1].quirks.contains("max_completion_tokens"));
    }
}
