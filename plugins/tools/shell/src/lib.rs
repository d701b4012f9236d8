//! Command tools, not here yet.

use harness_sdk::{Call, Fault, Outcome, Spec, Tool, export_tool, fault};

/// The component.
pub struct Shell;

export_tool!(Shell);

impl Tool for Shell {
    fn specs() -> Vec<Spec> {
        Vec::new()
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        Err(fault::unsupported(format!("tool `{}` is not here yet", call.tool)))
    }
}
