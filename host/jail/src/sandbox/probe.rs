//! Which walls this machine lets us build, found out by building them.

use std::path::Path;

use super::cgroup::{Group, sweep};
use super::session::Session;
use super::{Posture, Sandbox};

/// Why higher walls than the ones that stand could not be built, and what has no bound; for the
/// operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What could not be had.
    pub posture: Posture,
    /// Which step of it failed, and how.
    pub cause: String,
}

/// The highest of `postures`, each tried in `directory` and in turn, with why the others failed.
/// Also removes the control groups of a server that was killed. Takes some milliseconds.
pub fn probe(
    sandbox: &Sandbox,
    postures: &[Posture],
    directory: &Path,
) -> (Option<Posture>, Vec<Refusal>) {
    sweep();
    let mut refusals = Vec::new();
    for posture in postures.iter().copied() {
        let tried = Sandbox { posture, ..sandbox.clone() };
        let name = format!("probe-{}", std::process::id());
        match Session::start(&tried, directory, directory, &name) {
            Ok(_) => return (Some(posture), refusals),
            Err(cause) => refusals.push(Refusal { posture, cause }),
        }
    }
    (None, refusals)
}

impl Sandbox {
    /// Whether memory and the number of processes are bounded on this machine.
    pub fn is_bounded(&self) -> bool {
        let name = format!("probe-{}", std::process::id());
        Group::make(&name, &self.limits).map(Group::remove).is_some()
    }
}
