//! Searching the workspace: names by glob, contents by grep.
//!
//! Both stand on one parallel walk over directory handles that never follows a link and never
//! leaves the root. Only ignore files inside the root count. Results come in a fixed order,
//! whatever the threads did.

mod bounded;
pub(crate) mod glob;
pub(crate) mod grep;
mod ignores;
mod matching;
mod pattern;
pub(crate) mod walk;

pub use glob::{GlobPage, GlobQuery};
pub use grep::{GrepFile, GrepLine, GrepMode, GrepPage, GrepQuery};
