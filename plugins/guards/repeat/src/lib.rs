//! Guard `repeat`, without objections yet.

use harness_sdk::{Denial, Guard, Proposal, export_guard};

/// The component.
pub struct Repeat;

export_guard!(Repeat);

impl Guard for Repeat {
    const NAME: &'static str = "repeat";

    fn check(_proposal: Proposal) -> Option<Denial> {
        None
    }
}
