//! An example of a tool that keeps something: `todo`, a list of what is to do, which lives with the
//! session.
//!
//! ```toml
//! [plugin.todo]
//! path = "/absolute/path/todo.wasm"
//! grants = ["state"]
//! ```
//!
//! One call replaces the whole list or adds to it, and is always answered with the whole list
//! (`list`). It has no effect outside itself, so calls run side by side: each compares the revision it
//! read, and begins again when another one came first. Never touches the workspace.

mod list;

use harness_sdk::state;
use harness_sdk::{Call, Effects, Fault, FaultKind, Outcome, Spec, Tool};
use harness_sdk::{export_tool, fault, outcome, spec};

use list::{List, Wish};

/// Where the list is kept.
const KEY: &str = "list";

/// How often a call begins again. Each time another call got its change in, and no more than this
/// many run at one time.
const TRIES: u32 = 64;

const SCHEMA: &str = r#"{"type":"object","properties":{
"set":{"type":"array","maxItems":100,"description":"The whole list, in order; replaces what was there","items":{"type":"object","properties":{
"text":{"type":"string","minLength":1,"maxLength":500,"description":"What is to do, one line"},
"status":{"enum":["pending","doing","done"],"description":"At most one is `doing`"}
},"required":["text","status"],"additionalProperties":false}},
"add":{"type":"array","maxItems":100,"description":"Texts to put at the end, pending","items":{"type":"string","minLength":1,"maxLength":500}}
},"additionalProperties":false}"#;

/// The component.
pub struct Todo;

export_tool!(Todo);

impl Tool for Todo {
    fn specs() -> Vec<Spec> {
        let description = "Keep a list of what is to do in work of several steps. `set` the list at \
                           the beginning, and again with new statuses whenever a step begins or is \
                           done; `add` what turns up. Without arguments it shows the list.";
        vec![spec("todo", description, SCHEMA, Effects::empty())]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let wish = Wish::read(&call.input)?;
        let list = change(&wish)?;
        let shown = outcome(list.to_text(), list.summary());
        Ok(Outcome { data: Some(list.to_json()), ..shown })
    }
}

/// Brings the kept list to what is wished, whoever else changes it meanwhile.
fn change(wish: &Wish) -> Result<List, Fault> {
    for _ in 0..TRIES {
        let kept = state::get(KEY);
        let revision = kept.as_ref().map_or(0, |kept| kept.revision);
        let list = wish.applied(kept.as_ref().map(|kept| kept.bytes.as_slice()))?;
        if wish.is_look() {
            return Ok(list);
        }
        match state::put(KEY, list.to_json().as_bytes(), revision) {
            Ok(_) => return Ok(list),
            Err(fault) if fault.kind == FaultKind::Conflict => {}
            Err(fault) => return Err(fault),
        }
    }
    Err(fault::conflict(format!("the list was changed by other calls {TRIES} times over"))
        .hint("send the call again"))
}
