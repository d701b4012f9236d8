//! Words to bytes: messages and requests on OpenAI's wire.
//!
//! Never emits what a provider is known to refuse: `null` for a field, an assistant message with
//! neither text nor calls, arguments that are not a JSON object, a function name outside the
//! allowed letters. `messages` is the last key of a body, so that bodies grow at their end only.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::IgnoredAny;

use super::growing::{Body, Growing, json};
use super::{Ask, ToolChoice};
use crate::image::Image;
use crate::message::{ARGUMENT_BYTES, Call, Message};
use crate::quirks::Quirks;

/// Longest function name that providers accept.
const MAX_NAME: usize = 64;

#[derive(Serialize)]
struct Plain<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct Outcome<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

/// Images stand in a user message: OpenAI's wire has no place for them in a tool message, and most
/// servers refuse them there.
#[derive(Serialize)]
struct Pictured<'a> {
    role: &'static str,
    content: Vec<Part<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct Spoken<'a> {
    role: &'static str,
    content: &'a str,
    tool_calls: Vec<Proposed<'a>>,
}

#[derive(Serialize)]
struct Proposed<'a> {
    id: &'a str,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: Cow<'a, str>,
    arguments: &'a str,
}

/// Appends `message` to those before it.
pub(super) fn message(message: &Message, quirks: &Quirks, out: &mut Growing) {
    match message {
        Message::System { text } => out.push(&Plain { role: &quirks.system_role, content: text }),
        Message::User { text } => out.push(&Plain { role: "user", content: text }),
        // Several providers refuse an assistant message that says and asks nothing.
        Message::Assistant { text, calls } if calls.is_empty() && text.trim().is_empty() => {}
        Message::Assistant { text, calls } if calls.is_empty() => {
            out.push(&Plain { role: "assistant", content: text });
        }
        // With calls, empty text stays `""`: everyone accepts that, while `null` and a missing key
        // each break some server's template.
        Message::Assistant { text, calls } => out.push(&Spoken {
            role: "assistant",
            content: text,
            tool_calls: calls.iter().map(proposed).collect(),
        }),
        Message::Outcomes { outcomes } => {
            for outcome in outcomes {
                // Blank text in a tool message is refused by Bedrock and whoever fronts it.
                let content = match outcome.text.trim().is_empty() {
                    true => "(no output)",
                    false => &outcome.text,
                };
                out.push(&Outcome { role: "tool", tool_call_id: &outcome.call_id, content });
            }
            // Behind all of them: nothing may stand between a call and its outcome.
            let images: Vec<&Image> = outcomes.iter().flat_map(|outcome| &outcome.images).collect();
            if !images.is_empty() {
                out.push(&Pictured { role: "user", content: pictures(&images) });
            }
        }
    }
}

fn pictures<'a>(images: &[&Image]) -> Vec<Part<'a>> {
    let lead = "The images of the outcomes above, in their order:";
    let mut parts = vec![Part::Text { text: lead.into() }];
    for image in images {
        let url = format!("data:{};base64,{}", image.media_type.as_str(), image.data);
        parts.push(Part::Text { text: image.to_string().into() });
        parts.push(Part::ImageUrl { image_url: ImageUrl { url } });
    }
    parts
}

fn proposed(call: &Call) -> Proposed<'_> {
    Proposed {
        id: &call.id,
        r#type: "function",
        function: Function {
            name: wire_name(&call.tool),
            // What does not parse, or is too long, was never run; sent back as it is, it would
            // have every later request of the session refused, or fill the model's window.
            arguments: if fits(&call.arguments) { &call.arguments } else { "{}" },
        },
    }
}

fn fits(arguments: &str) -> bool {
    arguments.len() <= ARGUMENT_BYTES && is_object(arguments)
}

/// True when `text` is one whole JSON object.
pub(super) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// A name that providers accept in a history, whatever the model called the tool.
fn wire_name(name: &str) -> Cow<'_, str> {
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if name.is_empty() {
        return Cow::Borrowed("unknown");
    }
    if name.len() <= MAX_NAME && name.chars().all(is_allowed) {
        return Cow::Borrowed(name);
    }
    let letters = name.chars().take(MAX_NAME);
    Cow::Owned(letters.map(|letter| if is_allowed(letter) { letter } else { '_' }).collect())
}

/// What stands after the last message.
pub(super) const TAIL: &[u8] = b"]}";

/// The whole body: head, messages, closing brackets.
pub(super) fn body(ask: &Ask<'_>) -> Body {
    ask.conversation.encoded().between(head(ask), TAIL)
}

/// Everything before the first message. The same for every turn of a session, unless the caller
/// changes the tools, the choice or the extra keys.
pub(super) fn head(ask: &Ask<'_>) -> Vec<u8> {
    let quirks = ask.conversation.quirks();
    let mut out = Vec::with_capacity(1024 + ask.offers.len_bytes());
    out.extend_from_slice(b"{\"model\":");
    json(&ask.model, &mut out);
    out.extend_from_slice(b",\"stream\":true");
    if quirks.stream_usage {
        out.extend_from_slice(b",\"stream_options\":{\"include_usage\":true}");
    }
    for (key, value) in ask.extra.entries() {
        if *key != quirks.output_limit_field {
            field(key, value, &mut out);
        }
    }
    if let Some(limit) = ask.output_limit {
        field(&quirks.output_limit_field, &limit, &mut out);
    }
    if !ask.offers.is_empty() {
        out.extend_from_slice(b",\"tools\":");
        out.extend_from_slice(ask.offers.encoded());
        // `auto` is what everyone does unasked, and some servers refuse the word.
        match ask.choice {
            ToolChoice::Auto => {}
            ToolChoice::None => field("tool_choice", &"none", &mut out),
            ToolChoice::Required => field("tool_choice", &"required", &mut out),
        }
        if let Some(parallel) = quirks.parallel_tool_calls {
            field("parallel_tool_calls", &parallel, &mut out);
        }
    }
    out.extend_from_slice(b",\"messages\":[");
    out
}

fn field(key: &str, value: &impl Serialize, out: &mut Vec<u8>) {
    out.push(b',');
    json(&key, out);
    out.push(b':');
    json(value, out);
}
