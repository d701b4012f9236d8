//! The changed lines of an edit as they are now, with two lines around them.

use super::plan::Change;
use crate::page::MAX_LINE_CHARS;
use crate::text::{self, BOM, prefix};

/// Lines shown before and after a change.
const AROUND: usize = 2;
/// Lines shown in all; an edit of many places shows the first ones.
const MAX_LINES: usize = 80;

/// What is shown of an edit.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) text: String,
    /// Lines shown whole, as ranges.
    pub(crate) shown: Vec<(u64, u64)>,
}

/// Numbered lines around every change.
pub(crate) fn show(change: &Change) -> Region {
    let file = change.after.strip_prefix(BOM).unwrap_or(&change.after);
    let skipped = change.after.len() - file.len();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (start, end) in &change.places {
        let start = start.saturating_sub(skipped).min(file.len());
        let last = end.saturating_sub(skipped + 1).max(start);
        let (first, end) = around(file, start, last);
        match ranges.last_mut() {
            Some((_, previous)) if first <= *previous => *previous = end.max(*previous),
            _ => ranges.push((first, end)),
        }
    }

    let mut region = Region { text: String::new(), shown: Vec::new() };
    let (mut at, mut number, mut count) = (0, 1, 0);
    for (start, end) in ranges {
        if count > 0 {
            region.text.push_str("...\n");
        }
        number += text::endings(&file[at..start]);
        for line in file[start..end].split_inclusive(|byte| *byte == b'\n') {
            if count == MAX_LINES {
                region.text.push_str("[more changed lines are not shown]\n");
                return region;
            }
            region.push(number, line);
            number += 1;
            count += 1;
        }
        at = end;
    }
    if file.is_empty() {
        region.text.push_str("the file is empty now\n");
    }
    region
}

/// From the start of the second line before a place to the end of the second after another.
fn around(file: &[u8], first: usize, last: usize) -> (usize, usize) {
    let start_of_line =
        |at: usize| file[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |place| place + 1);
    let end_of_line = |at: usize| {
        file[at..].iter().position(|byte| *byte == b'\n').map_or(file.len(), |place| at + place + 1)
    };
    let (mut start, mut end) = (start_of_line(first), end_of_line(last));
    for _ in 0..AROUND {
        start = start_of_line(start.saturating_sub(1));
        end = end_of_line(end);
    }
    (start, end)
}

impl Region {
    fn push(&mut self, number: usize, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, taken) = prefix(line, MAX_LINE_CHARS, usize::MAX);
        let is_whole = taken == line.len();
        let cut = if is_whole { "" } else { " [cut]" };
        self.text.push_str(&format!("{number}\t{text}{cut}\n"));
        if is_whole {
            let number = number as u64;
            match self.shown.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.shown.push((number, number)),
            }
        }
    }
}
