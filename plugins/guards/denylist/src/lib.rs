//! Guard `denylist`, without objections yet.

use harness_sdk::{Denial, Guard, Proposal, export_guard};

/// The component.
pub struct Denylist;

export_guard!(Denylist);

impl Guard for Denylist {
    const NAME: &'static str = "denylist";

    fn check(_proposal: Proposal) -> Option<Denial> {
        None
    }
}
