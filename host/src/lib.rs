//! `harness`: a server that speaks the OpenAI API and runs the whole agent loop behind it.
//!
//! The map is `docs/architecture.md`. Floors, and arrows go down only (`tests/it/tidy.rs` checks):
//! doors (`cli`, `server`, `mock`, `demo`), loop (`harness`, `session`, `agent`, `record`),
//! guests (`plugin`), powers (the jail crate, `upstream`, `ledger`), words (the rest).

// Words.
pub mod config;
pub mod deadline;
pub mod error;
pub mod event;
pub mod message;
pub mod nearest;
pub mod quirks;

// Powers.
pub mod upstream;

// Doors.
pub mod mock;
