//! The guests' side of the contract, generated from `wit/`: one module for each world.
//!
//! The tool's world comes first and owns what the worlds share (`types`, `log`); the other two
//! refer to it, so that a fault is one Rust type everywhere. Nothing here is written by hand.

#![allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    clippy::all,
    reason = "generated code; the contract documents itself in `wit/`"
)]

pub mod tool {
    wit_bindgen::generate!({
        world: "tool-plugin",
        path: "../../wit",
        pub_export_macro: true,
        export_macro_name: "export_tool_world",
        default_bindings_module: "harness_sdk::tool_contract",
        additional_derives: [PartialEq],
        generate_unused_types: true,
    });
}

pub mod guard {
    wit_bindgen::generate!({
        world: "guard-plugin",
        path: "../../wit",
        pub_export_macro: true,
        export_macro_name: "export_guard_world",
        default_bindings_module: "harness_sdk::guard_contract",
        additional_derives: [PartialEq],
        with: {
            "harness:plugin/types@0.1.0": crate::contract::tool::harness::plugin::types,
            "harness:plugin/log@0.1.0": crate::contract::tool::harness::plugin::log,
        },
    });
}

pub mod profile {
    wit_bindgen::generate!({
        world: "profile-plugin",
        path: "../../wit",
        pub_export_macro: true,
        export_macro_name: "export_profile_world",
        default_bindings_module: "harness_sdk::profile_contract",
        additional_derives: [PartialEq],
        with: {
            "harness:plugin/types@0.1.0": crate::contract::tool::harness::plugin::types,
            "harness:plugin/log@0.1.0": crate::contract::tool::harness::plugin::log,
        },
    });
}
