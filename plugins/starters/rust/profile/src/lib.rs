//! The profile `example`: two differences of a provider from OpenAI's wire.
//!
//! It is data: the host asks once, when it loads, and applies the quirks by itself.

use harness_sdk::{Description, Profile, export_profile};

/// This provider limits output by another field, and gets confused by several calls in one reply.
const QUIRKS: &str =
    r#"{"output_limit_field":"max_completion_tokens","parallel_tool_calls":false}"#;

struct Example;

export_profile!(Example);

impl Profile for Example {
    fn describe() -> Vec<Description> {
        vec![Description {
            name: "example".to_owned(),
            matches: vec!["*example.org*".to_owned()],
            quirks: QUIRKS.to_owned(),
            own_wire: false,
        }]
    }
}
