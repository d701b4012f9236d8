//! What kind of bytes a file holds, and lines as the model sees them.
//!
//! Decides by the first bytes only. Bytes that are not UTF-8 are shown as U+FFFD and never
//! written back: writing works on the file's own bytes.

/// How many bytes from the start of a file decide what it is.
pub(crate) const HEAD_BYTES: usize = 8 * 1024;
/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xEF\xBB\xBF";

/// What a file holds, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// UTF-8, or bytes close enough to show.
    Text {
        /// The file starts with a byte order mark.
        bom: bool,
    },
    /// UTF-16 with a byte order mark.
    Utf16 {
        /// The low byte comes first.
        little: bool,
    },
    /// An image of a kind that models can be shown.
    Image {
        /// For people.
        name: &'static str,
        /// For the host.
        media_type: &'static str,
    },
    /// Not text; what it seems to be.
    Binary(&'static str),
}

/// Judges the first bytes of a file.
pub(crate) fn kind(head: &[u8]) -> Kind {
    const SIGNATURES: [(&[u8], &str); 13] = [
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xFF\xD8\xFF", "JPEG image"),
        (b"GIF8", "GIF image"),
        (b"RIFF", "RIFF media"),
        (b"%PDF-", "PDF document"),
        (b"PK\x03\x04", "zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xFD7zXZ\0", "xz data"),
        (b"\x28\xB5\x2F\xFD", "zstd data"),
        (b"\x7FELF", "ELF executable"),
        (b"\0asm", "WebAssembly"),
        (b"SQLite format 3\0", "SQLite database"),
    ];
    // UTF-32 starts with the mark of UTF-16 and two zeros; it is not decoded.
    if head.starts_with(b"\xFF\xFE\0\0") || head.starts_with(b"\0\0\xFE\xFF") {
        return Kind::Binary("UTF-32 text");
    }
    if head.starts_with(b"\xFF\xFE") {
        return Kind::Utf16 { little: true };
    }
    if head.starts_with(b"\xFE\xFF") {
        return Kind::Utf16 { little: false };
    }
    let head = &head[..head.len().min(HEAD_BYTES)];
    let odd = odd_bytes(head);
    // A signature that is plain ASCII can start a text as well.
    for (signature, name) in SIGNATURES {
        if head.starts_with(signature)
            && (odd > 0 || !signature.is_ascii() || *name == *"PDF document")
        {
            return match name {
                "PNG image" => Kind::Image { name, media_type: "image/png" },
                "JPEG image" => Kind::Image { name, media_type: "image/jpeg" },
                "GIF image" => Kind::Image { name, media_type: "image/gif" },
                _ if head.get(8..12) == Some(b"WEBP") => {
                    Kind::Image { name: "WebP image", media_type: "image/webp" }
                }
                _ => Kind::Binary(name),
            };
        }
    }
    if head.contains(&0) || odd * 10 > head.len() * 3 {
        return Kind::Binary("binary data");
    }
    Kind::Text { bom: head.starts_with(BOM) }
}

/// Bytes that text rarely holds: control characters, and what is not UTF-8.
fn odd_bytes(head: &[u8]) -> usize {
    head.utf8_chunks()
        .map(|chunk| {
            let control = |c: &char| c.is_control() && !"\t\n\r\x08\x0C\x1B".contains(*c);
            chunk.valid().chars().filter(control).count() + chunk.invalid().len()
        })
        .sum()
}

/// Decodes UTF-16, the mark already counted in; unpaired surrogates become U+FFFD.
pub(crate) fn decode_utf16(bytes: &[u8], little: bool) -> String {
    let units = bytes.get(2..).unwrap_or_default().chunks(2).map(|pair| match *pair {
        [low, high] if little => u16::from_le_bytes([low, high]),
        [high, low] => u16::from_be_bytes([high, low]),
        _ => 0xFFFD,
    });
    char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Encodes as UTF-16 with its mark.
pub(crate) fn encode_utf16(text: &str, little: bool) -> Vec<u8> {
    "\u{FEFF}"
        .encode_utf16()
        .chain(text.encode_utf16())
        .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
        .collect()
}

/// The start of `bytes` as text, at most so many characters and bytes, and how many bytes that
/// took. Never splits a character, and always takes at least one if there is one.
pub(crate) fn prefix(bytes: &[u8], max_chars: usize, max_bytes: usize) -> (String, usize) {
    let mut text = String::new();
    let mut taken = 0;
    let mut chars = 0;
    for chunk in bytes.utf8_chunks() {
        let invalid = Some((char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
        let valid = chunk.valid().chars().map(|c| (c, c.len_utf8()));
        for (c, len) in valid.chain(invalid.filter(|(_, len)| *len > 0)) {
            if chars == max_chars || (taken > 0 && taken + len > max_bytes) {
                return (text, taken);
            }
            text.push(c);
            taken += len;
            chars += 1;
        }
    }
    (text, taken)
}

/// How many lines `bytes` hold; a last line without an ending counts.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    endings(bytes) + usize::from(bytes.last().is_some_and(|byte| *byte != b'\n'))
}

/// How many lines end in `bytes`.
pub(crate) fn endings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let check = |bytes: &[u8], expected: Kind| assert_eq!(kind(bytes), expected, "{bytes:?}");
        check(b"", Kind::Text { bom: false });
        check(b"\xEF\xBB\xBFhello", Kind::Text { bom: true });
        check(b"x=1 # caf\xE9\n y=2\n", Kind::Text { bom: false });
        check(b"\x1b[31mred\x1b[0m\tok\r\n", Kind::Text { bom: false });
        check(b"\xFF\xFEa\0", Kind::Utf16 { little: true });
        check(b"\xFE\xFF\0a", Kind::Utf16 { little: false });
        check(b"\xFF\xFE\0\0a\0\0\0", Kind::Binary("UTF-32 text"));
        let image = |name, media_type| Kind::Image { name, media_type };
        check(b"\xFF\xD8\xFF\xE0\0\x10JFIF", image("JPEG image", "image/jpeg"));
        check(b"RIFF\x10\0\0\0WEBPVP8 ", image("WebP image", "image/webp"));
        check(b"RIFF\x10\0\0\0WAVEfmt ", Kind::Binary("RIFF media"));
        check(b"GIF8 is how such a file starts\n", Kind::Text { bom: false });
        check(b"GIF89a\x01\0", image("GIF image", "image/gif"));
        check(b"a\0b", Kind::Binary("binary data"));
        let noise: Vec<u8> = (0..2_000_u32).map(|i| (i * 7_919 % 251 + 3) as u8).collect();
        check(&noise, Kind::Binary("binary data"));
    }

    #[test]
    fn utf16_goes_there_and_back() {
        for little in [true, false] {
            let bytes = encode_utf16("añ😀\n", little);
            assert_eq!(kind(&bytes), Kind::Utf16 { little });
            assert_eq!(decode_utf16(&bytes, little), "añ😀\n");
        }
        assert_eq!(decode_utf16(b"\xFF\xFEa\0b", true), "a\u{FFFD}");
    }

    #[test]
    fn a_prefix_never_splits_a_character() {
        assert_eq!(prefix("ééé".as_bytes(), 2, 100), ("éé".to_owned(), 4));
        assert_eq!(prefix("ééé".as_bytes(), 9, 3), ("é".to_owned(), 2));
        assert_eq!(prefix("é".as_bytes(), 9, 1), ("é".to_owned(), 2));
        assert_eq!(prefix(b"a\xFFb", 9, 9), ("a\u{FFFD}b".to_owned(), 3));
    }

    #[test]
    fn lines_are_counted() {
        for (bytes, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count_lines(bytes.as_bytes()), lines, "{bytes:?}");
        }
    }
}
