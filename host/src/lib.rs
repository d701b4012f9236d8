//! `harness`: a server that speaks the OpenAI API and runs the whole agent loop behind it.
//!
//! The map is `docs/architecture.md`. Five floors, and arrows go down only (`tests/it/tidy.rs`
//! checks).

// Doors: translate, call, render.
pub mod cli;
mod demo;
pub mod mock;
pub mod server;

// Loop: decides what happens next.
pub mod agent;
pub mod harness;
mod prompt;
pub mod record;
pub mod session;

// Guests: the only code that calls wasmtime.
pub mod plugin;

// Powers: one each. Disk and processes are the jail crate's.
pub mod audit;
pub mod containment;
pub mod fetch;
pub mod ledger;
pub mod places;
pub mod upstream;

// Words: types only.
pub mod config;
pub mod deadline;
pub mod error;
pub mod event;
pub mod image;
pub mod message;
pub mod nearest;
pub mod quirks;
pub mod redact;
pub mod servers;
pub mod wire;
pub mod wit;
