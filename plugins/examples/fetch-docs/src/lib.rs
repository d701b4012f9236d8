//! An example of a tool that people want: `fetch_docs` gets one page and shows it as text.
//!
//! Which servers it may ask is in the configuration and nowhere else:
//!
//! ```toml
//! [plugin.fetch-docs]
//! path = "/absolute/path/fetch-docs.wasm"
//! grants = ["fetch"]
//! fetch = ["docs.rs", "*.readthedocs.io"]
//! ```
//!
//! HTML becomes readable text (`html`), other text is shown as it is. Of a long page the part around
//! `find` is shown, or the beginning (`excerpt`). Never follows a link, never runs a script.

mod entities;
mod excerpt;
mod html;

use harness_sdk::fetch::{self, Method, Request, Response};
use harness_sdk::{Call, Effects, Fault, Input, Outcome, Spec, Tool};
use harness_sdk::{export_tool, fault, outcome, spec};

const SCHEMA: &str = r#"{"type":"object","properties":{
"url":{"type":"string","description":"`https://…`; a `#part` shows the page from that part on"},
"find":{"type":"string","description":"Show the part of the page around this text"}
},"required":["url"],"additionalProperties":false}"#;

/// The component.
pub struct FetchDocs;

export_tool!(FetchDocs);

impl Tool for FetchDocs {
    fn specs() -> Vec<Spec> {
        let description = "Get a page of documentation from the web as text, at most 30 KiB of it. \
                           Only servers that the configuration allows can be asked.";
        vec![spec("fetch_docs", description, SCHEMA, Effects::NETWORK)]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        let (url, find) = (input.text("url")?, input.optional_text("find")?);
        let response = fetch::send(&Request {
            method: Method::Get,
            url: url.to_owned(),
            headers: vec![("accept".to_owned(), "text/html, text/*;q=0.9, */*;q=0.5".to_owned())],
            body: None,
            credential: None,
            timeout_ms: None,
        })?;
        let page = read(&response, part_of(url))?;
        let shown = excerpt::of(&page, find)?;
        let cut = if response.cut {
            "\n[the page is longer than 4 MiB; the rest was not read]"
        } else {
            ""
        };
        let summary = format!("{} bytes of {}", shown.len(), response.url);
        Ok(outcome(format!("{}\n\n{shown}{cut}", response.url), summary))
    }
}

/// What stands behind `#`.
fn part_of(url: &str) -> Option<&str> {
    url.split_once('#').map(|(_, part)| part).filter(|part| !part.is_empty())
}

/// The page as text.
fn read(response: &Response, part: Option<&str>) -> Result<String, Fault> {
    let Response { status, url, .. } = response;
    if !(200..300).contains(status) {
        let fault = match status {
            404 | 410 => fault::not_found(format!("there is no page `{url}` (status {status})")),
            _ => fault::failed(format!("`{url}` was answered with status {status}")),
        };
        return Err(fault);
    }
    let header = response.headers.iter().find(|(name, _)| name == "content-type");
    let kind = header.map(|(_, value)| value.to_ascii_lowercase()).unwrap_or_default();
    let text = String::from_utf8_lossy(&response.body);
    let is_html = kind.starts_with("text/html") || kind.starts_with("application/xhtml");
    let is_text = ["text/", "application/json", "application/xml", "application/toml"];
    if is_html || (kind.is_empty() && text.trim_start().starts_with('<')) {
        return Ok(html::to_text(&text, part));
    }
    if kind.is_empty()
        || is_text.iter().any(|start| kind.starts_with(start))
        || kind.contains("+json")
    {
        return Ok(text.into_owned());
    }
    Err(fault::unsupported(format!("`{url}` is `{kind}`, expected a page of text")))
}
