//! Messages between the server and the processes of a sandbox: a length, then JSON.
//!
//! Both ends are ours, but one runs where commands do: a length is believed only up to a limit.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message, in bytes: a command line of 128 KiB, its environment, and JSON's escapes.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of the length.
pub(super) const HEAD_BYTES: usize = 4;

/// A message as it is sent.
pub(super) fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// The length of the body that follows.
pub(super) fn body_length(head: [u8; HEAD_BYTES]) -> io::Result<usize> {
    let length = u32::from_le_bytes(head) as usize;
    if length > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"));
    }
    Ok(length)
}

/// Sends one message.
pub(super) fn write(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(message)?)
}

/// Waits for one message.
pub(super) fn read<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut head = [0; HEAD_BYTES];
    from.read_exact(&mut head)?;
    let mut body = vec![0; body_length(head)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, &("a\nb", 7)).expect("memory takes it");
        assert_eq!(read::<(String, u32)>(bytes.as_slice()).expect("whole"), ("a\nb".into(), 7));
        assert!(read::<(String, u32)>(&bytes[..bytes.len() - 1]).is_err());
        assert!(read::<(String, u32)>([255; 8].as_slice()).is_err());
    }
}
