//! What runs in the processes of a sandbox, never in the server.
//!
//! These processes have one thread and hold nothing of the server but the sockets they were given,
//! so forking them is cheap and safe, and whoever takes them over from within has gained nothing.

mod attend;
mod filter;
mod init;
mod landlock;
mod limits;
mod namespaces;
mod processes;
mod view;

pub use init::sandbox_init;

/// A step of building the walls that failed, named for the operator.
fn step<T, E: std::fmt::Display>(what: &str, done: Result<T, E>) -> Result<T, String> {
    done.map_err(|err| format!("{what}: {err}"))
}
