//! The changed lines of an edit as they are now, with two lines around them.

use super::plan::Change;
use crate::page::MAX_LINE_CHARS;
use crate::text::{BOM, prefix};

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
    let mut region = Region { text: String::new(), shown: Vec::new() };
    // Where the current line starts, and which one it is.
    let (mut at, mut number) = (0, 1);
    let lines: Vec<(usize, &[u8])> = file
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let start = at;
            at += line.len();
            (start, line)
        })
        .collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for (start, end) in &change.places {
        let line_of = |place: usize| {
            let place = place.saturating_sub(skipped);
            lines.partition_point(|(start, _)| *start <= place).saturating_sub(1)
        };
        let first = line_of(*start).saturating_sub(AROUND);
        let last =
            (line_of(end.saturating_sub(1).max(*start)) + AROUND).min(lines.len().max(1) - 1);
        match ranges.last_mut() {
            Some((_, previous)) if first <= *previous + 1 => *previous = last.max(*previous),
            _ => ranges.push((first, last)),
        }
    }
    for (nth, (first, last)) in ranges.iter().enumerate() {
        if nth > 0 {
            region.text.push_str("...\n");
        }
        for index in *first..=*last {
            let Some((_, line)) = lines.get(index) else {
                continue;
            };
            if number > MAX_LINES {
                region.text.push_str("[more changed lines are not shown]\n");
                return region;
            }
            number += 1;
            region.push(index as u64 + 1, line);
        }
    }
    if file.is_empty() {
        region.text.push_str("the file is empty now\n");
    }
    region
}

impl Region {
    fn push(&mut self, number: u64, line: &[u8]) {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let (text, taken) = prefix(line, MAX_LINE_CHARS, usize::MAX);
        let is_whole = taken == line.len();
        let cut = if is_whole { "" } else { " [cut]" };
        self.text.push_str(&format!("{number}\t{text}{cut}\n"));
        if is_whole {
            match self.shown.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.shown.push((number, number)),
            }
        }
    }
}
