//! Reads a file through the host, piece by piece or whole.
//!
//! The host answers at most 8 MiB at once and names the version of the whole file each time; a
//! file that changes between two pieces is a conflict, never a mixture.

use harness_sdk::{Fault, fault, workspace_read};

/// The largest file that is held whole, to edit it or to decode UTF-16. A guest's memory holds
/// it about four times over at the worst moment.
pub(crate) const MAX_WHOLE_BYTES: u64 = 8 * 1024 * 1024;

/// A file's bytes, and the version they belong to.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) bytes: Vec<u8>,
    pub(crate) version: String,
}

/// The next piece of a file, from a byte on; `None` at its end.
pub(crate) struct Pieces<'a> {
    path: &'a str,
    at: u64,
    size: Option<u64>,
    pub(crate) version: String,
}

impl<'a> Pieces<'a> {
    pub(crate) fn of(path: &'a str) -> Pieces<'a> {
        Pieces { path, at: 0, size: None, version: String::new() }
    }

    /// The size of the file, known after the first piece.
    pub(crate) fn size(&self) -> u64 {
        self.size.unwrap_or(0)
    }

    /// True when this first piece is all of the file.
    pub(crate) fn is_whole(&self, first: &[u8]) -> bool {
        first.len() as u64 == self.size() && self.size() <= MAX_WHOLE_BYTES
    }

    pub(crate) fn next(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        if self.size.is_some_and(|size| self.at >= size) {
            return Ok(None);
        }
        let content = workspace_read::read(self.path, self.at, 0)?;
        if self.size.is_some() && self.version != content.version {
            return Err(fault::conflict(format!("file `{}` changed while it was read", self.path))
                .hint("read it again"));
        }
        self.size = Some(content.size_bytes);
        self.version = content.version;
        self.at += content.bytes.len() as u64;
        Ok(if content.bytes.is_empty() { None } else { Some(content.bytes) })
    }
}

/// All of a file, if it is not over the limit.
pub(crate) fn whole(path: &str) -> Result<Whole, Fault> {
    let mut pieces = Pieces::of(path);
    let mut bytes = pieces.next()?.unwrap_or_default();
    if pieces.size() > MAX_WHOLE_BYTES {
        return Err(fault::too_large(format!(
            "file `{path}` has {} bytes, over the limit of {MAX_WHOLE_BYTES} for this",
            pieces.size()
        ))
        .hint("change it with a command: call `bash` with sed or a script"));
    }
    while let Some(more) = pieces.next()? {
        bytes.extend_from_slice(&more);
    }
    Ok(Whole { bytes, version: pieces.version })
}
