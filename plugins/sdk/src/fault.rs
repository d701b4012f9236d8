//! Short constructors for the contract's [`Fault`].
//!
//! One function for each kind a plugin reports itself; `cancelled` and `timed-out` are the
//! host's to say. A message is lower case, its subject first, values in backticks; the hint is
//! the one next step and is left out when there are several.

use crate::{Fault, FaultKind};

/// The arguments can't be used as they are.
pub fn invalid(message: impl Into<String>) -> Fault {
    of(FaultKind::InvalidInput, message)
}

/// What was named does not exist.
pub fn not_found(message: impl Into<String>) -> Fault {
    of(FaultKind::NotFound, message)
}

/// Something changed, or was not looked at, since the caller decided.
pub fn conflict(message: impl Into<String>) -> Fault {
    of(FaultKind::Conflict, message)
}

/// More than this plugin handles at once.
pub fn too_large(message: impl Into<String>) -> Fault {
    of(FaultKind::TooLarge, message)
}

/// Nothing of this kind is offered here.
pub fn unsupported(message: impl Into<String>) -> Fault {
    of(FaultKind::Unsupported, message)
}

/// It was tried and went wrong.
pub fn failed(message: impl Into<String>) -> Fault {
    of(FaultKind::Failed, message)
}

fn of(kind: FaultKind, message: impl Into<String>) -> Fault {
    Fault { kind, message: message.into(), hint: None }
}

impl Fault {
    /// The same fault with the one next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }
}
