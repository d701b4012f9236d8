//! Which images the model is shown, decided before anything is sent.
//!
//! One gallery a run. An image that does not fit what the provider takes is told in words, with
//! what would fit; one that was shown before is not shown again. Every image is kept for the record
//! once, shown or not, as long as there is room. Changes no conversation.

use std::collections::HashMap;

use crate::image::Image;
use crate::quirks::Quirks;

/// Bytes of all images that a run shows: in base64 a request of this size is what providers take.
const SHOWN_BYTES: u64 = 16 << 20;

/// Bytes of all images that a run keeps on record.
const KEPT_BYTES: u64 = 32 << 20;

/// The images of a run so far.
#[derive(Default)]
pub(super) struct Gallery {
    /// By digest, with the number it was shown under.
    seen: HashMap<blake3::Hash, Option<u32>>,
    shown: u32,
    shown_bytes: u64,
    kept_bytes: u64,
}

/// What is done with the images of one outcome.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Hung {
    /// One for each image, for the model.
    pub(super) lines: Vec<String>,
    /// Those it is shown.
    pub(super) shown: Vec<Image>,
    /// Those that go on record.
    pub(super) kept: Vec<Image>,
}

impl Gallery {
    /// Takes the images of an outcome; `is_refused` when the provider took none of this run's.
    pub(super) fn hang(&mut self, images: Vec<Image>, quirks: &Quirks, is_refused: bool) -> Hung {
        let mut hung = Hung::default();
        for image in images {
            let digest = blake3::hash(image.data.as_bytes());
            let before = self.seen.get(&digest).copied();
            if let (Some(Some(number)), false) = (before, is_refused) {
                hung.lines.push(format!("[{image}: the same as image {number} above]"));
                continue;
            }
            let against = self.against(&image, quirks, is_refused);
            let number = against.is_none().then_some(self.shown + 1);
            hung.lines.push(match against {
                Some(why) => format!("[{image}; not shown: {why}]"),
                None => format!("[image {}: {image}; shown below]", self.shown + 1),
            });
            if before.is_none() && self.kept_bytes + image.bytes <= KEPT_BYTES {
                self.kept_bytes += image.bytes;
                hung.kept.push(image.clone());
            }
            if number.is_some() {
                self.shown += 1;
                self.shown_bytes += image.bytes;
                hung.shown.push(image);
            }
            self.seen.insert(digest, number);
        }
        hung
    }

    /// Why an image is not shown.
    fn against(&self, image: &Image, quirks: &Quirks, is_refused: bool) -> Option<String> {
        let Quirks { max_image_bytes, max_image_side, max_images, .. } = quirks;
        let smaller = "make a smaller copy with a command and read that";
        match () {
            () if !quirks.images => Some("this model takes no images".to_owned()),
            () if is_refused => {
                Some("the model's provider refuses the images of this run".to_owned())
            }
            () if image.width.max(image.height) > *max_image_side => {
                Some(format!("over the limit of {max_image_side} pixels a side; {smaller}"))
            }
            () if image.bytes > *max_image_bytes => {
                Some(format!("over the limit of {max_image_bytes} bytes; {smaller}"))
            }
            () if self.shown >= *max_images => {
                Some(format!("{max_images} images were shown in this run, and no more can be"))
            }
            () if self.shown_bytes + image.bytes > SHOWN_BYTES => Some(format!(
                "with it the images of this run are over {SHOWN_BYTES} bytes; {smaller}"
            )),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gif(width: u8, height: u8, more: usize) -> Image {
        let head = [b'G', b'I', b'F', b'8', b'9', b'a', width, 0, height, 0];
        Image::read(&[&head[..], &vec![0; more]].concat()).unwrap()
    }

    /// What becomes of one image after another: shown, kept, and the words.
    fn check(quirks: &Quirks, is_refused: bool, rows: &[(Image, bool, bool, &str)]) {
        let mut gallery = Gallery::default();
        for (image, is_shown, is_kept, words) in rows {
            let hung = gallery.hang(vec![image.clone()], quirks, is_refused);
            assert_eq!(hung.shown.len(), usize::from(*is_shown), "{hung:?}");
            assert_eq!(hung.kept.len(), usize::from(*is_kept), "{hung:?}");
            assert_eq!(hung.lines, [*words]);
        }
    }

    #[test]
    fn what_does_not_fit_is_told_and_kept_once() {
        let quirks = Quirks {
            images: true,
            max_image_bytes: 100,
            max_image_side: 50,
            max_images: 2,
            ..Quirks::default()
        };
        let wide = "[GIF image, 51\u{d7}1 pixels, 10 bytes; not shown: over the limit of 50 pixels a \
                    side; make a smaller copy with a command and read that]";
        let large = "[GIF image, 1\u{d7}1 pixels, 110 bytes; not shown: over the limit of 100 bytes; \
                     make a smaller copy with a command and read that]";
        let rows = [
            (gif(51, 1, 0), false, true, wide),
            (gif(51, 1, 0), false, false, wide),
            (gif(1, 1, 100), false, true, large),
            (
                gif(50, 1, 0),
                true,
                true,
                "[image 1: GIF image, 50\u{d7}1 pixels, 10 bytes; shown below]",
            ),
            (
                gif(50, 1, 0),
                false,
                false,
                "[GIF image, 50\u{d7}1 pixels, 10 bytes: the same as image 1 above]",
            ),
            (
                gif(2, 2, 90),
                true,
                true,
                "[image 2: GIF image, 2\u{d7}2 pixels, 100 bytes; shown below]",
            ),
            (
                gif(3, 3, 0),
                false,
                true,
                "[GIF image, 3\u{d7}3 pixels, 10 bytes; not shown: 2 images were shown in this run, \
                 and no more can be]",
            ),
        ];
        check(&quirks, false, &rows);
        let refused = "[GIF image, 1\u{d7}1 pixels, 10 bytes; not shown: the model's provider \
                       refuses the images of this run]";
        check(&quirks, true, &[(gif(1, 1, 0), false, true, refused)]);
        let none = "[GIF image, 1\u{d7}1 pixels, 10 bytes; not shown: this model takes no images]";
        check(&Quirks::default(), false, &[(gif(1, 1, 0), false, true, none)]);
    }

    #[test]
    fn all_images_together_have_a_size() {
        let quirks = Quirks { images: true, max_image_bytes: 8 << 20, ..Quirks::default() };
        let mut gallery = Gallery::default();
        let images: Vec<Image> = (1..=5).map(|side| gif(side, 1, 7 << 20)).collect();
        let hung = gallery.hang(images, &quirks, false);
        assert_eq!((hung.shown.len(), hung.kept.len()), (2, 4));
        assert!(hung.lines[2].contains("over 16777216 bytes"), "{:?}", hung.lines);
    }
}
