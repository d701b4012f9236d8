//! The jail from outside, one module per theme.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests stand outside the jail and look at what it did"
)]

mod change;
mod escape;
mod git_keys;
mod jobs;
mod private;
mod process;
mod read;
mod sandbox;
mod search;
mod workspace;
