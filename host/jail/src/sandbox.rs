//! Walls around the commands of a session.
//!
//! A session's commands share one set of walls, held by a small process, its init: what one command
//! starts the next one reaches, and the end of the session ends all of it. The server starts the
//! init as a fresh process of its own program and speaks to it over one socket; everything under
//! `inside` runs there and never in the server.
//!
//! The walls are as high as the machine allows, and which they are is said, not hidden: see
//! [`Posture`]. They bound programs, not the kernel: a hole in the kernel is a hole in them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

mod call;
mod cgroup;
mod frame;
mod git_config;
mod inside;
mod plan;
mod probe;
mod refusals;
mod secrets;
mod session;

pub use inside::sandbox_init;
pub use probe::{Refusal, probe};
pub use secrets::secret_places;

pub(crate) use call::{Call, Ended};
pub(crate) use git_config::GitConfig;
pub(crate) use plan::Start;
pub(crate) use refusals::refusals;
pub(crate) use session::Session;

/// How much of the walls there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Posture {
    /// No walls. Commands are only watched, so that they end.
    None,
    /// Landlock and a filter of system calls: no file outside is read or written that should not
    /// be, and without `network` there are no inet sockets. Metadata outside can be changed, unix
    /// sockets outside be reached, `.git/hooks` be written.
    Partial,
    /// Namespaces with a view of the disk of their own, and Landlock within.
    Full,
}

impl Posture {
    /// As it is configured and shown.
    pub fn name(self) -> &'static str {
        match self {
            Posture::None => "none",
            Posture::Partial => "partial",
            Posture::Full => "full",
        }
    }
}

/// What the commands of every session may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// Which walls stand.
    pub posture: Posture,
    /// Whether commands have the network of the server. Without walls they have it anyway.
    pub network: bool,
    /// What commands may read although it lies in a masked place; absolute.
    pub read: Vec<PathBuf>,
    /// What commands may write besides the workspace and their own `/tmp`; absolute.
    pub write: Vec<PathBuf>,
    /// What commands do not see; absolute. See [`secret_places`].
    pub masked: Vec<PathBuf>,
    /// How much they may use.
    pub limits: Limits,
    /// The program, and its arguments, that calls [`sandbox_init`] first of all.
    pub init: Vec<String>,
}

impl Sandbox {
    /// One in which nothing can be started.
    pub fn none() -> Sandbox {
        Sandbox {
            posture: Posture::None,
            network: false,
            read: Vec::new(),
            write: Vec::new(),
            masked: Vec::new(),
            limits: Limits::default(),
            init: Vec::new(),
        }
    }
}

/// How much the commands of one session may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory of all processes together; holds where a control group can be made.
    pub memory_bytes: u64,
    /// Processes and threads at one time; holds where a control group can be made.
    pub processes: u32,
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
    /// Bytes of the largest file that is written.
    pub file_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { memory_bytes: 4 << 30, processes: 1024, cpu_seconds: 3600, file_bytes: 4 << 30 }
    }
}
