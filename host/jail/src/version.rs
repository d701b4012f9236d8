//! The identity of a file's content: equal versions mean equal bytes.
//!
//! Up to [`HASHED_BYTES`] it is the digest of the bytes. Beyond, hashing on each access would cost
//! more than the access, so it is what the system says about the file; any write changes that.

use std::io;

use cap_std::fs::File;

use crate::handles::{self, Stat};

/// The largest file whose version is the digest of its bytes.
pub(crate) const HASHED_BYTES: u64 = 16 * 1024 * 1024;

/// The version of these bytes, or of the file `stat` describes when they are too many to hash.
pub(crate) fn of_bytes(bytes: &[u8], stat: &Stat) -> String {
    if bytes.len() as u64 > HASHED_BYTES {
        of_stat(stat)
    } else {
        format!("b3:{}", blake3::hash(bytes).to_hex())
    }
}

/// The version of a file too large to hash.
pub(crate) fn of_stat(stat: &Stat) -> String {
    format!(
        "st:{:x}.{:x}.{:x}.{:x}.{:x}.{:x}.{:x}",
        stat.device,
        stat.inode,
        stat.size_bytes,
        stat.modified.0,
        stat.modified.1,
        stat.changed.0,
        stat.changed.1
    )
}

/// Reads a file up to the largest size that is hashed. `None` when it is larger.
pub(crate) fn read_hashed(file: &File, size_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    if size_bytes > HASHED_BYTES {
        return Ok(None);
    }
    // One byte more than the limit tells a file that grew while it was read.
    let bytes = handles::read_up_to(file, HASHED_BYTES + 1, size_bytes)?;
    Ok((bytes.len() as u64 <= HASHED_BYTES).then_some(bytes))
}
