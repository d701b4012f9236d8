//! The role of a tool: it says what it offers, and it acts when called.
//!
//! One component may offer several tools; [`Call::tool`](crate::Call) tells which was meant.

use crate::{Call, Effects, Fault, Outcome, Part, Spec};

/// Implemented by a plugin that acts; made visible to the host by [`export_tool!`](crate::export_tool).
pub trait Tool {
    /// The tools of this component. Called once, when it is loaded.
    fn specs() -> Vec<Spec>;

    /// One call, in an instance of its own.
    ///
    /// # Errors
    ///
    /// A fault is read by the model: what is wrong, and the next step as its hint.
    fn run(call: Call) -> Result<Outcome, Fault>;
}

/// Milliseconds a call has when its tool says no more of it.
const TIMEOUT_MS: u32 = 30_000;

/// What a tool offers, with half a minute for a call. Line breaks in the schema are for those who
/// read the code, and are left out: every byte of it is sent with every request.
pub fn spec(name: &str, description: &str, schema: &str, effects: Effects) -> Spec {
    Spec {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: schema.replace('\n', ""),
        effects,
        timeout_ms: TIMEOUT_MS,
        timeout_argument: None,
        path_arguments: Vec::new(),
    }
}

/// An outcome that is one text for the model and one line for people who watch.
pub fn outcome(text: impl Into<String>, summary: impl Into<String>) -> Outcome {
    Outcome {
        parts: vec![Part::Text(text.into())],
        summary: summary.into(),
        data: None,
        exit_code: None,
    }
}

/// A text as a JSON string, to build an outcome's `data` from: much smaller in a component than
/// a tree of values.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Exports a type that implements [`Tool`]. Once in a crate; nothing happens on native targets.
#[macro_export]
macro_rules! export_tool {
    ($tool:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::ExportedTool<$tool>;
    $crate::tool_contract::export_tool_world!(Exported with_types_in $crate::tool_contract);
        };
    };
}
