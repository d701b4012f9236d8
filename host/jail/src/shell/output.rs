//! The cleaned output of one command: its end in memory, all of it in a file when it is long.
//!
//! Memory is bounded whatever a command prints: the head of the text is dropped as the tail grows,
//! and the file stops at a limit of its own. No file is made for output that fits.

use std::io::Write;

use cap_std::fs::File;

use super::cleaner::Cleaner;
use crate::spill::SpillDir;

/// The most bytes that a call returns: a fair share of a model's context.
pub(super) const KEPT_BYTES: usize = 30 * 1024;

/// The most bytes that are written to the file.
const MAX_SPILLED_BYTES: u64 = 64 * 1024 * 1024;

/// How far the cut may move to fall on the start of a line.
const LINE_SLACK_BYTES: usize = 4 * 1024;

/// What is left of an output.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) output: String,
    pub(super) omitted_bytes: u64,
    pub(super) spill: Option<String>,
    /// How the parts of the last pipeline ended, if that was said.
    pub(super) pipeline: Option<String>,
}

/// An output as it grows.
#[derive(Debug)]
pub(super) struct Output {
    cleaner: Cleaner,
    /// The last part of the cleaned text, at most twice what is kept.
    tail: String,
    /// Cleaned bytes since what was kept was last taken.
    total_bytes: u64,
    /// Where to write what is long.
    spill_dir: Option<SpillDir>,
    /// What files are named after.
    name_hint: String,
    spill: Spill,
}

#[derive(Debug)]
enum Spill {
    /// Nothing can be written.
    Off,
    /// Nothing had to be written yet.
    Ready,
    /// Being written.
    Open { path: String, file: File, written_bytes: u64 },
    /// At its limit, or the disk is full.
    Stopped(String),
}

impl Output {
    pub(super) fn new(spill_dir: Option<SpillDir>, name_hint: &str) -> Output {
        Output {
            cleaner: Cleaner::default(),
            tail: String::new(),
            total_bytes: 0,
            spill_dir,
            name_hint: name_hint.to_owned(),
            spill: Spill::Ready,
        }
    }

    /// Takes bytes as they come.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let mut cleaned = String::new();
        self.cleaner.push(bytes, &mut cleaned);
        self.append(&cleaned);
    }

    /// What came since it was last taken; what comes later has a file of its own.
    pub(super) fn take_new(&mut self) -> Kept {
        let mut cleaned = String::new();
        self.cleaner.flush_line(&mut cleaned);
        self.append(&cleaned);
        self.take()
    }

    /// The end of the output.
    pub(super) fn finish(mut self) -> Kept {
        let mut cleaned = String::new();
        self.cleaner.finish(&mut cleaned);
        self.append(&cleaned);
        self.take()
    }

    fn take(&mut self) -> Kept {
        let mut tail = std::mem::take(&mut self.tail);
        let output = tail.split_off(cut_to_keep(&tail));
        let omitted_bytes = std::mem::take(&mut self.total_bytes) - output.len() as u64;
        let spill = match std::mem::replace(&mut self.spill, Spill::Ready) {
            Spill::Open { path, .. } | Spill::Stopped(path) => Some(path),
            Spill::Off | Spill::Ready => None,
        };
        Kept { output, omitted_bytes, spill, pipeline: self.cleaner.take_said() }
    }

    fn append(&mut self, cleaned: &str) {
        self.total_bytes += cleaned.len() as u64;
        if self.total_bytes > KEPT_BYTES as u64 {
            self.open_spill();
        }
        self.write_spill(cleaned);
        self.tail.push_str(cleaned);
        if self.tail.len() > 2 * KEPT_BYTES {
            // More than will be returned stays, so that the last cut can fall on a line.
            let mut cut = self.tail.len() - KEPT_BYTES;
            while !self.tail.is_char_boundary(cut) {
                cut -= 1;
            }
            self.tail.drain(..cut);
        }
    }

    /// Starts the file with what came so far, all of which is still in the tail.
    fn open_spill(&mut self) {
        if !matches!(self.spill, Spill::Ready) {
            return;
        }
        let created = self.spill_dir.as_ref().map(|place| place.create(&self.name_hint));
        self.spill = match created {
            Some(Ok((path, file))) => Spill::Open { path, file, written_bytes: 0 },
            // Without a file the end of the output is still worth having.
            Some(Err(_)) | None => Spill::Off,
        };
        let tail = std::mem::take(&mut self.tail);
        self.write_spill(&tail);
        self.tail = tail;
    }

    fn write_spill(&mut self, text: &str) {
        let Spill::Open { path, file, written_bytes } = &mut self.spill else {
            return;
        };
        let left = MAX_SPILLED_BYTES.saturating_sub(*written_bytes);
        let fits = text.len() as u64 <= left;
        let end = if fits { text.len() } else { text.floor_char_boundary(left as usize) };
        let written = file.write_all(&text.as_bytes()[..end]);
        *written_bytes += end as u64;
        if fits && written.is_ok() {
            return;
        }
        // On a full disk this line fails as well, and the short file has to speak for itself.
        let _ = file.write_all(b"\n[the output went on; what follows was not kept]\n");
        self.spill = Spill::Stopped(std::mem::take(path));
    }
}

/// Where to cut so that at most [`KEPT_BYTES`] stay, on the start of a line if one is near.
fn cut_to_keep(text: &str) -> usize {
    if text.len() <= KEPT_BYTES {
        return 0;
    }
    let least = text.ceil_char_boundary(text.len() - KEPT_BYTES);
    if text.as_bytes()[least - 1] == b'\n' {
        return least;
    }
    let near =
        text.as_bytes()[least..].iter().take(LINE_SLACK_BYTES).position(|byte| *byte == b'\n');
    match near {
        Some(at) if least + at + 1 < text.len() => least + at + 1,
        _ => least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole() {
        let mut output = Output::new(None, "x");
        output.push(b"one\ntwo");
        let kept =
            Kept { output: "one\ntwo".to_owned(), omitted_bytes: 0, spill: None, pipeline: None };
        assert_eq!(output.finish(), kept);
    }

    #[test]
    fn what_was_taken_does_not_come_again() {
        let mut output = Output::new(None, "x");
        let mut check = |bytes: &[u8], expected: &str| {
            output.push(bytes);
            let kept = output.take_new();
            assert_eq!((kept.output.as_str(), kept.omitted_bytes), (expected, 0));
        };
        check(b"one\ntw", "one\ntw");
        check(b"", "");
        check(b"o\n10%\r", "o\n10%");
        check(b"20%\xC3", "20%");
        check(b"\xA9\x1B[3", "\u{E9}");
        check(b"1mred", "red");
        output.push(&[b'x'; KEPT_BYTES + 1]);
        assert_eq!(output.take_new().omitted_bytes, 1);
        output.push(b"end");
        let kept = Kept { output: "end".to_owned(), omitted_bytes: 0, spill: None, pipeline: None };
        assert_eq!(output.finish(), kept);
    }

    #[test]
    fn a_flood_is_not_held() {
        let mut output = Output::new(None, "x");
        let block = vec![b'x'; 64 * 1024];
        for _ in 0..500 {
            output.push(&block);
            assert!(output.tail.capacity() < 512 * 1024, "{}", output.tail.capacity());
        }
        assert_eq!(output.finish().output, "x".repeat(KEPT_BYTES));
    }

    #[test]
    fn the_cut_falls_on_a_line_or_a_character() {
        let mut output = Output::new(None, "x");
        for n in 0..20_000 {
            output.push(format!("line {n}\n").as_bytes());
        }
        let kept = output.finish();
        assert!(kept.output.starts_with("line ") && kept.output.ends_with("line 19999\n"));
        assert!(kept.output.len() <= KEPT_BYTES && kept.output.len() > KEPT_BYTES - 100);
        let all: usize = (0..20_000).map(|n| format!("line {n}\n").len()).sum();
        assert_eq!(kept.omitted_bytes as usize + kept.output.len(), all);

        let mut output = Output::new(None, "x");
        output.push("é".repeat(100_000).as_bytes());
        let kept = output.finish();
        assert!(kept.output.chars().all(|c| c == 'é') && kept.output.len() <= KEPT_BYTES);
    }
}
