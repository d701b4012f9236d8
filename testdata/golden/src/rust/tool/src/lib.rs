//! The golden tool in Rust: `count_lines` of a file in the workspace.

use harness_sdk::{Call, Effects, Fault, Input, Outcome, Spec, Tool};
use harness_sdk::{export_tool, outcome, spec, workspace_read};

/// Bytes of a file that are counted.
const BYTES: u64 = 1 << 20;

const SCHEMA: &str = r#"{"type":"object","properties":{
"path":{"type":"string","description":"A file in the workspace"}
},"required":["path"],"additionalProperties":false}"#;

/// The component.
pub struct CountLines;

export_tool!(CountLines);

impl Tool for CountLines {
    fn specs() -> Vec<Spec> {
        let description = "Count the lines of a text file";
        vec![Spec {
            path_arguments: vec!["path".to_owned()],
            ..spec("count_lines", description, SCHEMA, Effects::READ)
        }]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        let path = input.text("path")?;
        let content = workspace_read::read(path, 0, BYTES)?;
        let lines = content.bytes.iter().filter(|byte| **byte == b'\n').count();
        Ok(outcome(format!("`{path}` has {lines} lines"), format!("{lines} lines")))
    }
}
