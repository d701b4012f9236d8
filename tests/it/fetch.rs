//! The power `fetch`, through the real server: a guest that sends what it is told to, and servers
//! on loopback that note who asked them.
//!
//! `attack` tries the host's side of it with addresses that mean something else than they seem to;
//! `docs` is the example that people may use.

mod attack;
mod docs;
mod reaches;
mod stage;

use harness_guests::{Guest, guest};

pub(crate) use docs::GUEST as DOCS;

/// Sends what it is told to.
pub(crate) const GUEST: Guest = guest("fetching-tool");
