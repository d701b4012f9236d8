//! A file with every CRLF made LF, and the way back to the file's own bytes.
//!
//! Only used to find places: what is written is cut from the file itself. Works on bytes, so a
//! file in any encoding that keeps ASCII can be searched.

use crate::text::{BOM, endings};

/// The flattened bytes, without a byte order mark.
#[derive(Debug)]
pub(crate) struct Flat {
    pub(crate) bytes: Vec<u8>,
    /// Places of the line feeds that have a carriage return in the file, rising.
    returns: Vec<usize>,
    /// Length of the byte order mark in the file.
    pub(crate) skipped: usize,
}

/// What ends a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Lf,
    CrLf,
}

impl Ending {
    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Ending::Lf => b"\n",
            Ending::CrLf => b"\r\n",
        }
    }
}

impl Flat {
    pub(crate) fn of(file: &[u8]) -> Flat {
        let skipped = if file.starts_with(BOM) { BOM.len() } else { 0 };
        let mut bytes = Vec::with_capacity(file.len());
        let mut returns = Vec::new();
        for part in file[skipped..].split_inclusive(|byte| *byte == b'\n') {
            if let Some(line) = part.strip_suffix(b"\r\n") {
                bytes.extend_from_slice(line);
                returns.push(bytes.len());
                bytes.push(b'\n');
            } else {
                bytes.extend_from_slice(part);
            }
        }
        Flat { bytes, returns, skipped }
    }

    /// Where a flat place is in the file. The place of a line feed is that of its whole ending.
    pub(crate) fn in_file(&self, at: usize) -> usize {
        self.skipped + at + self.returns.partition_point(|place| *place < at)
    }

    /// The ending whose line feed is at this flat place.
    pub(crate) fn ending(&self, at: usize) -> Ending {
        if self.returns.binary_search(&at).is_ok() { Ending::CrLf } else { Ending::Lf }
    }

    /// The ending of the line that holds this flat place, else of the line before; `None` when
    /// the file has no line ending at all.
    pub(crate) fn ending_near(&self, at: usize) -> Option<Ending> {
        let is_feed = |byte: &u8| *byte == b'\n';
        let after = self.bytes[at..].iter().position(is_feed).map(|place| at + place);
        let place = after.or_else(|| self.bytes[..at].iter().rposition(is_feed))?;
        Some(self.ending(place))
    }

    /// The line that holds this flat place, counted from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        1 + endings(&self.bytes[..at])
    }

    /// Every place of `needle`, from left to right, none within another.
    pub(crate) fn find(&self, needle: &[u8]) -> Vec<usize> {
        // Horspool's search: skips by the byte under the needle's end.
        let Some(end) = needle.len().checked_sub(1) else {
            return Vec::new();
        };
        let mut skip = [needle.len(); 256];
        for (place, byte) in needle[..end].iter().enumerate() {
            skip[usize::from(*byte)] = end - place;
        }
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(window) = self.bytes.get(at..at + needle.len()) {
            if window == needle {
                found.push(at);
                at += needle.len();
            } else {
                at += skip[usize::from(window[end])];
            }
        }
        found
    }
}

/// The same text with every CRLF made LF.
pub(crate) fn flatten(text: &[u8]) -> Vec<u8> {
    let flat = Flat::of(text);
    // A mark is part of a text, though not of a file's first line.
    [&text[..flat.skipped], &flat.bytes].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lead_back_to_the_file() {
        let file = b"\xEF\xBB\xBFa\r\nb\nc\r\n";
        let flat = Flat::of(file);
        assert_eq!(flat.bytes, b"a\nb\nc\n");
        let places: Vec<usize> = (0..=6).map(|at| flat.in_file(at)).collect();
        assert_eq!(places, [3, 4, 6, 7, 8, 9, 11]);
        assert_eq!(flat.ending(1), Ending::CrLf);
        assert_eq!(flat.ending(3), Ending::Lf);
        assert_eq!(flat.line(4), 3);
    }

    #[test]
    fn matches_are_counted_from_left_to_right() {
        let check = |file: &str, needle: &str, expected: &[usize]| {
            assert_eq!(Flat::of(file.as_bytes()).find(needle.as_bytes()), expected, "{needle:?}");
        };
        check("aaaa", "aa", &[0, 2]);
        check("aaa", "aa", &[0]);
        check("abcabcabd", "abcabd", &[3]);
        check("abc", "abcd", &[]);
        check("x", "x", &[0]);
        check("", "x", &[]);
    }
}
