//! The contract's types, generated from `wit/`, used as the host's own.
//!
//! Three worlds, one module each, sharing one set of types. Nothing is written by hand here but
//! names; the powers behind the imports are in `plugin::imports`. The only file outside `plugin`
//! that names wasmtime.

#![allow(missing_docs, unreachable_pub, reason = "generated; the documentation stands in wit/")]

pub(crate) mod tool_world {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "tool-plugin",
        imports: {
            "harness:plugin/log": trappable,
            "harness:plugin/ambient": trappable,
            default: async | trappable,
        },
        exports: { default: async },
        additional_derives: [PartialEq],
    });
}

pub(crate) mod guard_world {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "guard-plugin",
        imports: { default: trappable },
        with: { "harness:plugin": crate::wit::tool_world::harness::plugin },
    });
}

pub(crate) mod profile_world {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "profile-plugin",
        imports: { default: trappable },
        with: { "harness:plugin": crate::wit::tool_world::harness::plugin },
    });
}

pub use guard_world::exports::harness::plugin::guard::{Denial, NamedPath, PastCall, Proposal};
pub use profile_world::exports::harness::plugin::provider_profile::Description;
pub use tool_world::exports::harness::plugin::tool::{Image, Outcome, Part, Spec};
pub use tool_world::harness::plugin::fetch;
pub use tool_world::harness::plugin::types::{Call, Effects, Fault, FaultKind};
pub(crate) use tool_world::harness::plugin::{
    ambient, log, process, state, types, workspace_read, workspace_write,
};

/// The contract's words for effects.
pub const EFFECTS: [(&str, Effects); 4] = [
    ("read", Effects::READ),
    ("write", Effects::WRITE),
    ("execute", Effects::EXECUTE),
    ("network", Effects::NETWORK),
];
