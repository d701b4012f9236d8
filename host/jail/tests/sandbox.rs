//! Behind the walls: what does not get out, what is bounded, and that ordinary work gets done.

#![allow(clippy::print_stdout, reason = "what was held is shown, and why something was skipped")]

mod bounds;
mod escapes;
mod view;
mod work;
mod world;
