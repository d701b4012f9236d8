//! Search tools, not here yet.

use harness_sdk::{Call, Fault, Outcome, Spec, Tool, export_tool, fault};

/// The component.
pub struct Search;

export_tool!(Search);

impl Tool for Search {
    fn specs() -> Vec<Spec> {
        Vec::new()
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        Err(fault::unsupported(format!("tool `{}` is not here yet", call.tool)))
    }
}
