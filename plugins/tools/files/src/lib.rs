//! The file tools: `read`, for now with the simplest paging.

use harness_sdk::{
    Call, Effects, Fault, Input, Outcome, Spec, Tool, export_tool, fault, outcome, workspace_read,
};

/// The component.
pub struct Files;

export_tool!(Files);

impl Tool for Files {
    fn specs() -> Vec<Spec> {
        vec![Spec {
            name: "read".into(),
            description: "Read a text file as numbered lines.".into(),
            input_schema: r#"{"type":"object","properties":{"path":{"type":"string","description":"File, relative to the workspace"},"offset":{"type":"integer","minimum":1,"description":"First line, from 1"},"limit":{"type":"integer","minimum":1,"description":"Number of lines"}},"required":["path"],"additionalProperties":false}"#.into(),
            effects: Effects::READ,
            timeout_ms: 30_000,
            timeout_argument: None,
        }]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        let path = input.text("path")?;
        let offset = input.number("offset")?.unwrap_or(1).max(1);
        let limit = input.number("limit")?.unwrap_or(2_000);
        let content = workspace_read::read(path, 0, 0)?;
        let text = String::from_utf8(content.bytes)
            .map_err(|_| fault::unsupported(format!("`{path}` is not UTF-8 text")))?;
        let mut shown = String::new();
        let mut last = 0;
        for (number, line) in (1_u64..).zip(text.lines()) {
            if number >= offset && number - offset < limit {
                shown.push_str(&format!("{number}\t{line}\n"));
                last = number;
            }
        }
        if last > 0 {
            workspace_read::mark_shown(path, &content.version, offset, last)?;
        }
        Ok(outcome(shown, format!("read {path}")))
    }
}
