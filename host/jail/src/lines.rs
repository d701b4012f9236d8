//! Lines, counted the way the model is shown them, and sets of line numbers.
//!
//! Pure arithmetic. A line ends with `\n`; what follows the last one is a line only if it is not
//! empty. In UTF-16 with a byte order mark, units are counted, not bytes.

use std::fmt;
use std::str::FromStr;

/// Ranges of one set. Of more, the one farthest from what is added is dropped: an honest "not shown"
/// for a file that was read in hundreds of places.
const MAX_RANGES: usize = 200;

/// How many lines `bytes` has.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    let (breaks, ends_with_break) = match bytes {
        [0xFF, 0xFE, rest @ ..] => wide(rest, [b'\n', 0]),
        [0xFE, 0xFF, rest @ ..] => wide(rest, [0, b'\n']),
        _ => (breaks(bytes), bytes.last().is_none_or(|byte| *byte == b'\n')),
    };
    if ends_with_break { breaks } else { breaks + 1 }
}

/// How many line breaks are in `bytes`.
pub(crate) fn breaks(bytes: &[u8]) -> u64 {
    // Counted in single bytes, many at a time, for as long as those cannot overflow.
    let blocks = bytes.chunks(usize::from(u8::MAX));
    blocks
        .map(|block| u64::from(block.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>()))
        .sum()
}

fn wide(units: &[u8], line_break: [u8; 2]) -> (u64, bool) {
    let breaks = units.chunks_exact(2).filter(|unit| *unit == line_break).count() as u64;
    (breaks, units.is_empty() || units.ends_with(&line_break))
}

/// A set of line numbers, kept as sorted ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineSet(Vec<(u64, u64)>);

impl LineSet {
    /// The lines 1 to `last`.
    pub(crate) fn through(last: u64) -> LineSet {
        let mut set = LineSet::default();
        set.add(1, last);
        set
    }

    /// Adds the lines `first` to `last`; nothing when `last` comes before `first`.
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        let (mut first, mut last) = (first.max(1), last);
        if last < first {
            return;
        }
        let from = self.0.partition_point(|range| range.1.saturating_add(1) < first);
        let mut to = from;
        while let Some(range) = self.0.get(to).filter(|range| range.0 <= last.saturating_add(1)) {
            first = first.min(range.0);
            last = last.max(range.1);
            to += 1;
        }
        self.0.splice(from..to, [(first, last)]);
        if self.0.len() > MAX_RANGES {
            let farthest = if from > MAX_RANGES / 2 { 0 } else { MAX_RANGES };
            self.0.remove(farthest);
        }
    }

    pub(crate) fn contains(&self, line: u64) -> bool {
        let at = self.0.partition_point(|range| range.1 < line);
        self.0.get(at).is_some_and(|range| range.0 <= line)
    }

    pub(crate) fn ranges(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// The lines of 1 to `last` that are not in the set, as ranges.
    pub(crate) fn missing(&self, last: u64) -> Vec<(u64, u64)> {
        let mut missing = Vec::new();
        let mut next = 1;
        for (first, end) in &self.0 {
            if *first > last {
                break;
            }
            if *first > next {
                missing.push((next, first - 1));
            }
            next = end.saturating_add(1);
        }
        if next <= last {
            missing.push((next, last));
        }
        missing
    }

    /// Drops what lies beyond `last`.
    pub(crate) fn clip(&mut self, last: u64) {
        self.0.retain_mut(|range| {
            range.1 = range.1.min(last);
            range.0 <= range.1
        });
    }
}

/// `1-40,90`.
impl fmt::Display for LineSet {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, (first, last)) in self.0.iter().enumerate() {
            let comma = if nth == 0 { "" } else { "," };
            match first == last {
                true => write!(out, "{comma}{first}")?,
                false => write!(out, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for LineSet {
    type Err = ();

    /// Takes what it is written as and nothing else.
    fn from_str(text: &str) -> Result<LineSet, ()> {
        let mut set = LineSet::default();
        for range in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<u64>().map_err(|_| ());
            set.add(number(first)?, number(last)?);
        }
        if set.to_string() == text { Ok(set) } else { Err(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn counts() {
        for (bytes, expected) in [
            (&b""[..], 0),
            (b"\n", 1),
            (b"a", 1),
            (b"a\n", 1),
            (b"a\nb", 2),
            (b"a\r\nb\r\n", 2),
            (b"\xFF\xFEa\0\n\0b\0", 2),
            (b"\xFE\xFF\0a\0\n", 1),
            (b"\xFF\xFE", 0),
        ] {
            assert_eq!(count(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn a_set_is_bounded_and_keeps_what_was_added_last() {
        for order in [|n: u64| n, |n| 1_000 - n, |n| n * 377 % 1_000] {
            let mut set = LineSet::default();
            for line in (0..500).map(order).map(|n| 2 * n + 1) {
                set.add(line, line);
                assert!(set.contains(line) && set.ranges().len() <= MAX_RANGES);
            }
            assert_eq!(set.to_string().parse(), Ok(set));
        }
    }

    proptest! {
        #[test]
        fn a_set_is_a_set(ranges in proptest::collection::vec((0u64..30, 0u64..30), 0..12)) {
            let mut set = LineSet::default();
            let mut naive = BTreeSet::new();
            for (first, last) in ranges {
                set.add(first, last);
                naive.extend(first.max(1)..=last);
            }
            let missing: BTreeSet<u64> =
                set.missing(25).into_iter().flat_map(|(first, last)| first..=last).collect();
            for line in 1..=40 {
                prop_assert_eq!(set.contains(line), naive.contains(&line));
                prop_assert_eq!(missing.contains(&line), line <= 25 && !naive.contains(&line));
            }
            for pair in set.ranges().windows(2) {
                prop_assert!(pair[0].1 + 1 < pair[1].0);
            }
        }
    }
}
