//! Test guest: a tool built for another version of the contract.
//!
//! Its world says only as much of that version as it uses; the host never gets further than the
//! version's number.

#![allow(unsafe_code, reason = "what the generated macro exports is unsafe code")]

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated code; the world below documents itself"
)]
mod contract {
    wit_bindgen::generate!({
        inline: "
            package harness:plugin@0.0.9;

            interface log {
                write: func(message: string);
            }

            interface tool {
                specs: func() -> list<string>;
                run: func(tool: string, input: string) -> string;
            }

            world tool-plugin {
                import log;
                export tool;
            }
        ",
        world: "tool-plugin",
    });
}

use contract::exports::harness::plugin::tool::Guest;
use contract::harness::plugin::log;

/// The component.
pub struct Old;

impl Guest for Old {
    fn specs() -> Vec<String> {
        vec!["old".to_owned()]
    }

    fn run(tool: String, _input: String) -> String {
        log::write(&format!("`{tool}` was called"));
        "done".to_owned()
    }
}

#[cfg(target_arch = "wasm32")]
contract::export!(Old with_types_in contract);
