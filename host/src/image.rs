//! A picture that a tool shows: what it is, how large, and its bytes as they go over a wire.
//!
//! Reads the head of a file and no more: type and dimensions of PNG, JPEG, GIF and WebP. Never
//! decodes a pixel, so a picture that is broken further on passes; the provider finds that out.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// A picture whose head could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// By its bytes, whatever anybody says.
    pub media_type: MediaType,
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Size of the file.
    pub bytes: u64,
    /// The file in base64.
    pub data: String,
}

/// The types that providers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MediaType {
    /// PNG.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF; models see its first frame.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl MediaType {
    /// As in a data URL.
    pub fn as_str(self) -> &'static str {
        match self {
            MediaType::Png => "image/png",
            MediaType::Jpeg => "image/jpeg",
            MediaType::Gif => "image/gif",
            MediaType::Webp => "image/webp",
        }
    }
}

impl fmt::Display for Image {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.media_type {
            MediaType::Png => "PNG",
            MediaType::Jpeg => "JPEG",
            MediaType::Gif => "GIF",
            MediaType::Webp => "WebP",
        };
        let Image { width, height, bytes, .. } = self;
        write!(out, "{name} image, {width}\u{d7}{height} pixels, {bytes} bytes")
    }
}

impl Image {
    /// Takes a file; None when its head is none of a picture.
    pub fn read(file: &[u8]) -> Option<Image> {
        let (media_type, (width, height)) = match file {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => (MediaType::Png, png(file)?),
            [0xFF, 0xD8, ..] => (MediaType::Jpeg, jpeg(file)?),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => {
                (MediaType::Gif, (little(file.get(6..8)?), little(file.get(8..10)?)))
            }
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
                (MediaType::Webp, webp(file)?)
            }
            _ => return None,
        };
        let bytes = file.len() as u64;
        let is_picture = width > 0 && height > 0;
        is_picture.then(|| Image { media_type, width, height, bytes, data: STANDARD.encode(file) })
    }
}

type Dimensions = (u32, u32);

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// The first chunk is always the one with the dimensions.
fn png(file: &[u8]) -> Option<Dimensions> {
    let is_header = file.get(12..16)? == b"IHDR";
    let dimensions = (big(file.get(16..20)?), big(file.get(20..24)?));
    is_header.then_some(dimensions)
}

/// Segment by segment to the frame's; what comes before may be as long as a thumbnail.
fn jpeg(file: &[u8]) -> Option<Dimensions> {
    let mut at = 2;
    loop {
        if *file.get(at)? != 0xFF {
            return None;
        }
        match *file.get(at + 1)? {
            // Any number of these may stand before a marker.
            0xFF => at += 1,
            0x01 | 0xD0..=0xD7 => at += 2,
            // The end, or pixels without a frame before them.
            0xD9 | 0xDA => return None,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some((big(file.get(at + 7..at + 9)?), big(file.get(at + 5..at + 7)?)));
            }
            _ => at += 2 + big(file.get(at + 2..at + 4)?) as usize,
        }
    }
}

/// Of the three kinds: lossy, lossless, extended.
fn webp(file: &[u8]) -> Option<Dimensions> {
    match file.get(12..16)? {
        b"VP8 " if file.get(23..26)? == [0x9D, 0x01, 0x2A] => {
            Some((little(file.get(26..28)?) & 0x3FFF, little(file.get(28..30)?) & 0x3FFF))
        }
        b"VP8L" if *file.get(20)? == 0x2F => {
            let bits = little(file.get(21..25)?);
            Some(((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little(file.get(24..27)?) + 1, little(file.get(27..30)?) + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_tell_type_and_dimensions() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x02\0\0\0";
        let jpeg = b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xFF\xC2\0\x11\x08\x01\xE0\x02\x80\x03";
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9D\x01\x2A\x80\x02\xE0\x01";
        // 639 and 479 in fourteen bits each.
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2F\x7F\xC2\x77\0";
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7F\x02\0\xDF\x01\0";
        let rows: [(&[u8], MediaType); 6] = [
            (png, MediaType::Png),
            (jpeg, MediaType::Jpeg),
            (b"GIF89a\x80\x02\xE0\x01", MediaType::Gif),
            (lossy, MediaType::Webp),
            (lossless, MediaType::Webp),
            (extended, MediaType::Webp),
        ];
        for (file, media_type) in rows {
            let image = Image::read(file).unwrap_or_else(|| panic!("{media_type:?}"));
            assert_eq!((image.media_type, image.width, image.height), (media_type, 640, 480));
            for end in 0..file.len() {
                // Cut anywhere it is told as what it is, or as none, and never a panic.
                assert!(Image::read(&file[..end]).is_none_or(|cut| cut.width == 640));
            }
        }
        for none in [&b""[..], b"not a picture", b"\xFF\xD8\xFF\xD9", b"GIF89a\0\0\0\0"] {
            assert_eq!(Image::read(none), None, "{none:?}");
        }
    }
}
