//! The jail from outside, one module per theme.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests stand outside the jail, look at what it did, and say what they skip"
)]

mod attack;
mod bounds;
mod change;
mod escape;
mod faults;
mod git_keys;
mod jobs;
mod operations;
mod private;
mod process;
mod random;
mod read;
mod room;
mod sandbox;
mod scope;
mod search;
mod workspace;
