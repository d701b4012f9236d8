//! The jail from outside, one module per theme.

mod change;
mod escape;
mod private;
mod process;
mod read;
mod search;
mod workspace;
