//! Guard `deadline`, without objections yet.

use harness_sdk::{Denial, Guard, Proposal, export_guard};

/// The component.
pub struct Deadline;

export_guard!(Deadline);

impl Guard for Deadline {
    const NAME: &'static str = "deadline";

    fn check(_proposal: Proposal) -> Option<Denial> {
        None
    }
}
