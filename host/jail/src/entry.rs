//! What can be seen of a workspace: one entry, the content of one file.
//!
//! Plain data that mirrors the contract; it never touches the disk.

use crate::path::JailPath;

/// What kind of thing an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, not followed.
    Symlink,
    /// A FIFO, a socket or a device: it can be listed, never opened.
    Other,
}

/// One thing in the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is.
    pub path: JailPath,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Last change of the content, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// Bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The bytes asked for, at most 8 MiB.
    pub bytes: Vec<u8>,
    /// Identity of the whole file these bytes came from.
    pub version: String,
    /// Size of the whole file in bytes.
    pub size_bytes: u64,
}
