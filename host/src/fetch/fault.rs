//! Faults of a request. A tool may show them to the model as they are.

use crate::wit::{Fault, FaultKind};

pub(super) fn invalid(message: impl Into<String>) -> Fault {
    of(FaultKind::InvalidInput, message)
}

pub(super) fn denied(message: impl Into<String>) -> Fault {
    of(FaultKind::Denied, message)
}

pub(super) fn too_large(message: impl Into<String>) -> Fault {
    of(FaultKind::TooLarge, message)
}

pub(super) fn unavailable(message: impl Into<String>) -> Fault {
    of(FaultKind::Unavailable, message)
}

pub(super) fn failed(message: impl Into<String>) -> Fault {
    of(FaultKind::Failed, message)
}

/// The same fault with the one next step.
pub(super) fn with_hint(fault: Fault, hint: impl Into<String>) -> Fault {
    Fault { hint: Some(hint.into()), ..fault }
}

fn of(kind: FaultKind, message: impl Into<String>) -> Fault {
    Fault { kind, message: message.into(), hint: None }
}
