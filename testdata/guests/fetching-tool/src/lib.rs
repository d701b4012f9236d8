//! Test guest: sends the request that its input describes, and shows the whole answer.
//!
//! `fetch` declared that it reaches the network, `sneak-fetch` did not. A fault of the host is
//! handed on as it is, so that a test sees what a model would.

use harness_sdk::fetch::{self, Method, Request, Response};
use harness_sdk::{
    Call, Effects, Fault, Input, Outcome, Spec, Tool, export_tool, fault, outcome, spec,
};

/// What one request may be made of.
const SCHEMA: &str = r#"{"type":"object","properties":{
"url":{"type":"string"},"post":{"type":"string"},"headers":{"type":"string"},
"padding":{"type":"integer"},"credential":{"type":"string"},"timeout_ms":{"type":"integer"}
},"required":["url"]}"#;

/// Bytes of a body that are shown, from its beginning and from its end.
const SHOWN_BYTES: usize = 2_000;
const TAIL_BYTES: usize = 16;

/// The component.
pub struct Fetching;

export_tool!(Fetching);

impl Tool for Fetching {
    fn specs() -> Vec<Spec> {
        vec![
            spec("fetch", "Sends a request.", SCHEMA, Effects::NETWORK),
            spec("sneak-fetch", "Sends one undeclared.", SCHEMA, Effects::READ),
        ]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        let response = fetch::send(&request(&input)?)?;
        Ok(outcome(show(&response), format!("{}", response.status)))
    }
}

/// `post` is a body and makes it one; `padding` adds so many bytes. `headers` is a line each.
fn request(input: &Input) -> Result<Request, Fault> {
    let mut body = input.optional_text("post")?.map(|text| text.as_bytes().to_vec());
    let padding = input.number("padding")?.unwrap_or(0);
    let padding = usize::try_from(padding).map_err(|_| fault::invalid("too much padding"))?;
    if let Some(body) = &mut body {
        body.resize(body.len() + padding, b'.');
    }
    let lines = input.optional_text("headers")?.unwrap_or_default().lines();
    let headers = lines.filter_map(|line| line.split_once(": "));
    let timeout_ms = input.number("timeout_ms")?.map(u32::try_from).transpose();
    Ok(Request {
        method: if body.is_some() { Method::Post } else { Method::Get },
        url: input.text("url")?.to_owned(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        body,
        credential: input.optional_text("credential")?.map(str::to_owned),
        timeout_ms: timeout_ms.map_err(|_| fault::invalid("too long a time-out"))?,
    })
}

fn show(response: &Response) -> String {
    let mut shown = format!("{} {}\n", response.status, response.url);
    for (name, value) in &response.headers {
        shown.push_str(&format!("{name}: {value}\n"));
    }
    let cut = if response.cut { ", cut" } else { "" };
    shown.push_str(&format!("[{} bytes{cut}]\n", response.body.len()));
    let (head, rest) = response.body.split_at(response.body.len().min(SHOWN_BYTES));
    shown.push_str(&String::from_utf8_lossy(head));
    if !rest.is_empty() {
        let tail = &rest[rest.len().saturating_sub(TAIL_BYTES)..];
        shown.push_str(&format!("\n…{}", String::from_utf8_lossy(tail)));
    }
    shown
}
