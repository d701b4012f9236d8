//! What a plugin author needs in Rust: the contract's types, and one trait and one export macro
//! for each role.
//!
//! A tool implements [`Tool`] and calls [`export_tool!`], a guard [`Guard`] and
//! [`export_guard!`], a profile [`Profile`] and [`export_profile!`]. The macros do nothing on
//! native targets, so that a plugin's logic is tested without WebAssembly; the functions of the
//! powers below can't be called there. This crate never decides anything: it carries words from
//! and to the host, and a panic's message to the log.

mod contract;
mod export;
pub mod fault;
mod guard;
mod input;
mod profile;
mod tool;

#[doc(hidden)]
pub use contract::{guard as guard_contract, profile as profile_contract, tool as tool_contract};
#[doc(hidden)]
pub use export::{ExportedGuard, ExportedProfile, ExportedTool};

pub use contract::guard::exports::harness::plugin::guard::{Denial, NamedPath, PastCall, Proposal};
pub use contract::profile::exports::harness::plugin::provider_profile::{
    CallPiece, CallStart, Delta, Description, Failure, FailureKind, Finish, Frame, Rescued,
    RescuedCall, StreamEvent, Usage,
};
pub use contract::tool::exports::harness::plugin::tool::{Image, Outcome, Part, Spec};
pub use contract::tool::harness::plugin::types::{Call, Effects, Fault, FaultKind};
/// The powers, one module each. What a tool calls here is what it must be granted.
pub use contract::tool::harness::plugin::{
    ambient, fetch, log, process, state, workspace_read, workspace_write,
};
pub use guard::Guard;
pub use input::Input;
pub use profile::{Decode, Profile};
pub use tool::{Tool, outcome, quoted, spec};
