//! What went wrong, told to the one who can mend it: the model that asked.
//!
//! A fault mirrors the record of the same name in the contract. Its message says what is wrong and
//! its hint the one next step; both are read by a model. It never carries a path of the host.
//! Everything else in this crate returns it; only opening a jail has an error of its own, because
//! that one is read by the client or the operator.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

use nix::errno::Errno;

/// The kinds of fault, as the contract names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The request itself is malformed: a bad path, pattern or range.
    InvalidInput,
    /// Nothing is at the path.
    NotFound,
    /// The jail or the operating system does not allow it.
    Denied,
    /// The state differs from what the request assumed.
    Conflict,
    /// A limit on size was passed.
    TooLarge,
    /// The deadline passed before there was an answer.
    TimedOut,
    /// The work was called off.
    Cancelled,
    /// Something the request needs is not on this machine, or is used up.
    Unavailable,
    /// The thing exists, but not for this kind of use.
    Unsupported,
    /// The operating system failed in a way that has no better name.
    Failed,
}

/// How much of a text from outside a message repeats, in characters.
const ECHO_CHARS: usize = 200;

/// The start of a text from outside, as much as a message repeats of it.
pub(crate) fn head(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(ECHO_CHARS) {
        Some((end, _)) => Cow::Owned(format!("{}\u{2026}", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// One refused or failed request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Which kind, for code.
    pub kind: FaultKind,
    /// What is wrong, for the model: lower case, values in backticks.
    pub message: String,
    /// The one next step, when there is one.
    pub hint: Option<String>,
}

impl Fault {
    /// A fault without a hint.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into(), hint: None }
    }

    /// The same fault with its one next step.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Fault {
        self.hint = Some(hint.into());
        self
    }

    /// Turns an error of the operating system into a fault; `doing` completes "could not …".
    pub(crate) fn from_io(doing: &str, path: &dyn fmt::Display, err: &io::Error) -> Fault {
        let name = format!("`{path}`");
        match err.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) => {
                Fault::new(FaultKind::NotFound, format!("{name} does not exist"))
            }
            Some(Errno::EACCES | Errno::EPERM) => Fault::new(
                FaultKind::Denied,
                format!("could not {doing} {name}: the file's permissions do not allow it"),
            ),
            Some(Errno::EROFS) => Fault::new(
                FaultKind::Denied,
                format!("could not {doing} {name}: it lies on a read-only file system"),
            ),
            Some(Errno::ENOTDIR) => Fault::new(
                FaultKind::NotFound,
                format!("could not {doing} {name}: a part of the path is not a directory"),
            ),
            Some(Errno::EISDIR) => {
                Fault::new(FaultKind::Unsupported, format!("{name} is a directory, not a file"))
            }
            Some(Errno::EEXIST) => {
                Fault::new(FaultKind::Conflict, format!("{name} already exists"))
            }
            Some(Errno::ENAMETOOLONG) => Fault::new(
                FaultKind::InvalidInput,
                format!("could not {doing} {name}: the name is too long for the file system"),
            ),
            Some(Errno::ELOOP) => Fault::new(
                FaultKind::Conflict,
                format!("could not {doing} {name}: it was replaced by a symbolic link meanwhile"),
            ),
            Some(Errno::ENOSPC | Errno::EDQUOT) => Fault::new(
                FaultKind::Unavailable,
                format!("could not {doing} {name}: the disk is full"),
            ),
            Some(Errno::EMFILE | Errno::ENFILE) => Fault::new(
                FaultKind::Unavailable,
                format!("could not {doing} {name}: too many files are open, try again"),
            ),
            _ => Fault::new(FaultKind::Failed, format!("could not {doing} {name}: {err}")),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl Error for Fault {}
