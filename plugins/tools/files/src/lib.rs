//! The file tools: `read`, `write` and `edit`.
//!
//! The host resolves every path, keeps what the model was shown, and compares before it writes;
//! this component decides what to show, finds the place of an edit, and words the answers. It
//! never changes a byte outside what was asked: encodings, line endings and byte order marks of
//! a file stay as they are.

mod edit;
mod page;
mod read;
mod source;
mod spec;
mod text;
mod write;

use harness_sdk::{Call, Fault, Input, Outcome, Spec, Tool, export_tool, fault};

/// The component.
pub struct Files;

export_tool!(Files);

impl Tool for Files {
    fn specs() -> Vec<Spec> {
        spec::all()
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        match call.tool.as_str() {
            "read" => read::run(&input),
            "write" => write::run(&input),
            "edit" => edit::run(&input),
            other => Err(fault::unsupported(format!("this component has no tool `{other}`"))),
        }
    }
}
