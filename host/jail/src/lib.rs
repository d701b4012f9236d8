//! The workspace jail: the only code that touches disk and processes.
//!
//! Everything a model asks for arrives here as text and is parsed into a [`JailPath`]; a [`Jail`]
//! opens it beneath its directory handle, a [`Shell`] runs commands in it, behind the walls of a
//! [`Sandbox`]. What the model was shown is in [`Observations`], and no change is made to bytes that
//! nobody looked at. [`PrivateDir`] and [`AppendFile`] are for the server's own files,
//! [`make_project`] and [`run_program`] for a plugin author's.
//!
//! It knows nothing of the contract's generated types, of sessions, or of the network; its names
//! mirror the interfaces workspace-read, workspace-write and process, and its faults are written
//! for a model to read. Reading order: path, resolve, jail, read, change, search, shell,
//! sandbox.

mod append;
mod change;
mod entry;
mod fault;
mod fingerprint;
mod handles;
mod jail;
mod lines;
mod look;
mod nearest;
mod observations;
mod path;
mod private;
mod project;
mod read;
mod resolve;
mod sandbox;
mod scope;
mod search;
mod shell;
mod spill;
mod toolchain;
mod touched;
mod unfinished;
mod version;

pub use append::AppendFile;
pub use change::{Basis, Receipt, Replacement, quoted, unified_diff};
pub use entry::{Content, Entry, EntryKind};
pub use fault::{Fault, FaultKind};
pub use fingerprint::Fingerprint;
pub use jail::{Jail, OpenError};
pub use look::{Look, Stamp, files_in, find_program, look_at_directory, real_path};
pub use observations::Observations;
pub use path::JailPath;
pub use private::{
    PrivateDir, RollingFile, directories_in, ensure_directory, read_capped, remove_directory,
};
pub use project::{make_project, put_built};
pub use read::MAX_READ_BYTES;
pub use sandbox::{Limits, Posture, Refusal, Sandbox, probe, sandbox_init, secret_places};
pub use scope::{Globs, Scope};
pub use search::{GlobPage, GlobQuery, GrepFile, GrepLine, GrepMode, GrepPage, GrepQuery};
pub use shell::{Ask, Command, Completion, Ending, Job, Request, Shell, allowed_environment};
pub use toolchain::{ask_program, run_program};
