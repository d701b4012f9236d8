//! The integration tests: one binary, a module for each theme.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests stand outside: they read the repository and start the real thing"
)]

mod rig;

mod answer;
mod args;
mod cancel;
mod cli;
mod commands;
mod config;
mod fetch;
mod kill;
mod limits;
mod line;
mod observations;
mod offers;
mod plugin_commands;
mod plugins;
mod runs;
mod safety;
mod sandbox;
mod secrets;
mod sessions;
mod starters;
mod tidy;
mod tools;
mod twice;
mod upstream;
