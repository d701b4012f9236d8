//! What is said between the server and the processes of a sandbox.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Limits, Posture};

/// What the init builds; its first message. Paths are canonical.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) posture: Posture,
    pub(super) network: bool,
    pub(super) workspace: PathBuf,
    /// The session's own `/tmp`.
    pub(super) tmp: PathBuf,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    pub(super) masked: Vec<PathBuf>,
    pub(super) limits: Limits,
}

/// The init's answer: the walls stand, or why not.
pub(super) type Built = Result<(), String>;

/// What one call runs; the first message on its socket.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// Exactly these variables.
    pub(crate) environment: Vec<(String, String)>,
    /// Where it starts; absolute.
    pub(crate) directory: PathBuf,
}

/// What the server says on a call's socket; one byte each. The end of the socket means
/// [`Order::Kill`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Answer with [`News::Running`].
    Count = b'c' as isize,
    /// Ask everything the call started to end.
    Terminate = b't' as isize,
    /// End everything the call started, and go on until nothing is left.
    Kill = b'k' as isize,
}

impl Order {
    pub(super) fn byte(self) -> u8 {
        self as u8
    }

    pub(super) fn of(byte: u8) -> Option<Order> {
        [Order::Count, Order::Terminate, Order::Kill].into_iter().find(|it| it.byte() == byte)
    }
}

/// What is answered on a call's socket. Its end means that nothing of the call is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum News {
    /// The program was not started; the system's number for why.
    Failed(i32),
    /// It ended with this code. `alone`: it left nothing behind.
    Exited { code: i32, alone: bool },
    /// It was ended by this signal.
    Signalled { signal: i32, alone: bool },
    /// So many processes of the call are there.
    Running(u32),
}
