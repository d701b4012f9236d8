//! The quirk table: what one kind of provider needs said differently on OpenAI's wire.
//!
//! Data only, on floor 0. A profile component or a configuration file supplies it as JSON or
//! TOML, `upstream` applies it. An unknown field is an error, so that a typing mistake in a
//! profile is told and not ignored.

use serde::{Deserialize, Serialize};

/// Differences from OpenAI's wire that the host applies by itself. The default is the safest
/// reading of "OpenAI-compatible": only fields that every known server accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quirks {
    /// The field that limits output: `max_tokens`, or `max_completion_tokens` for OpenAI itself.
    pub output_limit_field: String,
    /// The role of the first message: `system` or `developer`.
    pub system_role: String,
    /// Sent as `parallel_tool_calls` when set; left out otherwise.
    pub parallel_tool_calls: Option<bool>,
    /// Ask for usage in the stream by `stream_options.include_usage`.
    pub stream_usage: bool,
    /// Sent as `strict` on every tool when set; left out otherwise.
    pub strict: Option<bool>,
    /// Whether the model is shown images. Where that is not known it is not: words always arrive,
    /// while a server that takes none may refuse the request or read the picture as text.
    pub images: bool,
    /// The largest image file, in bytes.
    pub max_image_bytes: u64,
    /// The most pixels of an image in either direction.
    pub max_image_side: u32,
    /// The most images of a run.
    pub max_images: u32,
    /// Tokens the model can hold, when known.
    pub context_window: Option<u64>,
}

impl Default for Quirks {
    fn default() -> Self {
        Quirks {
            output_limit_field: "max_tokens".to_owned(),
            system_role: "system".to_owned(),
            parallel_tool_calls: None,
            stream_usage: true,
            strict: None,
            images: false,
            // What the strictest of the large providers takes: 5 MiB in base64, 8,000 pixels while
            // there are at most 20 images.
            max_image_bytes: 3_750_000,
            max_image_side: 8_000,
            max_images: 20,
            context_window: None,
        }
    }
}
