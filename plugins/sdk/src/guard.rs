//! The role of a guard: it looks at a proposed call and may refuse it.
//!
//! There is no way to allow: `None` only means that this guard has no objection. A guard sees
//! nothing but the proposal, so the same proposal gets the same answer.

use crate::{Denial, Proposal};

/// Implemented by a plugin that refuses; made visible by [`export_guard!`](crate::export_guard).
pub trait Guard {
    /// How many of the run's last calls it wants to see, at most 64. Each costs time in every check.
    const EARLIER: u32 = 0;

    /// The objection to this call, if there is one.
    fn check(proposal: Proposal) -> Option<Denial>;
}

impl Denial {
    /// A refusal under the rule's name; the reason tells the model what to do instead.
    pub fn new(rule: impl Into<String>, reason: impl Into<String>) -> Denial {
        Denial { rule: rule.into(), reason: reason.into() }
    }
}

/// Exports a type that implements [`Guard`]. Once in a crate; nothing happens on native targets.
#[macro_export]
macro_rules! export_guard {
    ($guard:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::ExportedGuard<$guard>;
            $crate::guard_contract::export_guard_world!(Exported with_types_in $crate::guard_contract);
        };
    };
}
