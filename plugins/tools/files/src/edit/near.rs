//! Where an edit's text nearly occurs, and what differs there.
//!
//! Only words come out of this: nothing near is ever taken for a match. Lines are compared by
//! the pairs of characters they hold, which costs little and forgives small differences; the
//! first character that differs is then looked for exactly.

use super::flat::Flat;
use crate::text::prefix;

mod difference;
mod fold;

/// Regions offered.
const MOST: usize = 3;
/// Lines of the file that are looked at: what memory and a fraction of a second allow.
const MAX_FILE_LINES: usize = 100_000;
/// Lines of the text that are looked at; more do not make the place clearer.
const MAX_OLD_LINES: usize = 40;
/// Characters of a line that are looked at.
const MAX_CHARS: usize = 1_000;
/// How much of the text must be there, of 1,000.
const THRESHOLD: u32 = 600;

/// The nearest regions, best first, each with its line numbers, its first differing line, a
/// caret under the difference, and what differs.
pub(crate) fn regions(flat: &Flat, old: &str) -> Vec<String> {
    let old = super::flat::flatten(old.as_bytes());
    let is_ended = old.ends_with(b"\n");
    let old: Vec<&[u8]> = lines(&old).take(MAX_OLD_LINES).collect();
    let wanted: Vec<Pairs> = old.iter().map(|line| Pairs::of(line)).collect();
    let file: Vec<Pairs> = lines(&flat.bytes).take(MAX_FILE_LINES).map(Pairs::of).collect();

    let scores: Vec<u32> = (0..file.len()).map(|at| score(&wanted, &file[at..])).collect();
    // A few picks instead of a sort, which costs thousands of bytes in a component.
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < MOST {
        let is_apart = |at: &usize| chosen.iter().all(|other| at.abs_diff(*other) >= old.len());
        let best = (0..scores.len())
            .rev()
            .filter(|at| scores[*at] >= THRESHOLD && is_apart(at))
            .max_by_key(|at| scores[*at]);
        let Some(best) = best else { break };
        chosen.push(best);
    }
    chosen.into_iter().map(|at| describe(flat, &old, is_ended, at)).collect()
}

/// Says so if the text is a copy of what `read` showed, its line numbers included.
pub(crate) fn line_numbers(flat: &Flat, old: &str) -> Option<&'static str> {
    let mut bare = Vec::new();
    for line in old.lines() {
        let (number, text) = line.split_once('\t')?;
        number.trim_start().parse::<u64>().ok()?;
        bare.push(text);
    }
    let found = !flat.find(bare.join("\n").as_bytes()).is_empty();
    found.then_some("it holds the line numbers that `read` puts before each line")
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\n").unwrap_or(line))
}

/// How much of the wanted lines the file's lines hold, of 1,000.
fn score(wanted: &[Pairs], file: &[Pairs]) -> u32 {
    let (mut held, mut all) = (0, 0);
    for (nth, pairs) in wanted.iter().enumerate() {
        all += pairs.count();
        held += file.get(nth).map_or(0, |line| pairs.shared(line));
    }
    (held * 1_000).checked_div(all).unwrap_or(0)
}

/// The pairs of characters of a line, hashed into 512 bits.
struct Pairs([u64; 8]);

impl Pairs {
    fn of(line: &[u8]) -> Pairs {
        let (text, _) = prefix(line, MAX_CHARS, usize::MAX);
        let mut bits = [0; 8];
        let mut previous: Option<u32> = None;
        for c in text.chars().filter_map(fold::plain) {
            // The first character makes no pair: a text may start within a line.
            if let Some(previous) = previous.replace(u32::from(c)) {
                let pair = previous.wrapping_mul(31) ^ u32::from(c);
                let hash = pair.wrapping_mul(0x9E37_79B1) >> 23;
                bits[hash as usize / 64] |= 1 << (hash % 64);
            }
        }
        Pairs(bits)
    }

    fn count(&self) -> u32 {
        self.0.iter().map(|bits| bits.count_ones()).sum()
    }

    fn shared(&self, other: &Pairs) -> u32 {
        self.0.iter().zip(other.0).map(|(a, b)| (a & b).count_ones()).sum()
    }
}

/// One region: where it is, its first differing line, and what differs.
fn describe(flat: &Flat, old: &[&[u8]], is_ended: bool, at: usize) -> String {
    let (first, last) = (at + 1, at + old.len());
    let place =
        if first == last { format!("line {first}") } else { format!("lines {first}-{last}") };
    let mut file = lines(&flat.bytes).skip(at);
    for (nth, wanted) in old.iter().enumerate() {
        let Some(line) = file.next() else {
            return format!("{place}: the file ends after line {}", at + nth);
        };
        let is_last = nth + 1 == old.len() && !is_ended;
        let found = difference::first(line, wanted, nth == 0, is_last);
        if let Some(found) = found {
            return found.shown(at + nth + 1, &place);
        }
    }
    // Every line is as wanted, so the text goes on where the file does not.
    format!("{place}: `old` ends with a line ending that is not in the file")
}
