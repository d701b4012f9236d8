//! Test guest: a guard that looks into the workspace before it judges.
//!
//! Written without the SDK, in a world of its own, as somebody would who does not want to take
//! the contract's word for what a guard may import.

#![allow(unsafe_code, reason = "what the generated macro exports is unsafe code")]

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated code; the contract documents itself in `wit/`"
)]
mod contract {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package guests:grabby;

            world grabby-guard {
                import harness:plugin/log@0.1.0;
                import harness:plugin/workspace-read@0.1.0;
                export harness:plugin/guard@0.1.0;
            }
        ",
        world: "guests:grabby/grabby-guard",
        generate_all,
    });
}

use contract::exports::harness::plugin::guard::{Denial, Guest, Proposal};
use contract::harness::plugin::workspace_read;

/// The component.
pub struct Grabby;

impl Guest for Grabby {
    fn earlier() -> u32 {
        0
    }

    fn check(_proposal: Proposal) -> Option<Denial> {
        // What it reads decides, so that the import is not optimised away.
        let entries = workspace_read::entries("").ok()?;
        entries.is_empty().then(|| Denial {
            rule: "empty".to_owned(),
            reason: "there is nothing to work on".to_owned(),
        })
    }
}

#[cfg(target_arch = "wasm32")]
contract::export!(Grabby with_types_in contract);
