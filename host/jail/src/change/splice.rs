//! Replacing byte ranges, and what that does to the lines the model knows.
//!
//! Pure functions over bytes; nothing is decoded, so every byte outside a range stays as it is.

use crate::change::Replacement;
use crate::lines::{LineSet, breaks};

/// Applies replacements to `old`. The error completes the sentence "`path`: …".
pub(super) fn splice(old: &[u8], replacements: &[Replacement]) -> Result<Vec<u8>, String> {
    let grown: usize = replacements.iter().map(|replacement| replacement.insert.len()).sum();
    let mut new = Vec::with_capacity(old.len() + grown);
    let mut next = 0;
    for replacement in replacements {
        let (start, end) = range(replacement, old.len())?;
        if start < next {
            return Err(format!(
                "the replacement at byte {start} comes before the end of the one before it, {next}"
            ));
        }
        new.extend_from_slice(&old[next..start]);
        new.extend_from_slice(&replacement.insert);
        next = end;
    }
    new.extend_from_slice(&old[next..]);
    Ok(new)
}

fn range(replacement: &Replacement, size: usize) -> Result<(usize, usize), String> {
    let Replacement { offset, remove, .. } = *replacement;
    match offset.checked_add(remove) {
        Some(end) if end <= size as u64 => Ok((offset as usize, end as usize)),
        _ => Err(format!(
            "a replacement of {remove} bytes at byte {offset} leads beyond the end, {size}"
        )),
    }
}

/// Carries the known lines of `old` over to the spliced version: untouched lines move, lines that
/// hold an inserted byte become known. The replacements must have passed [`splice`].
pub(super) fn shift(known: &LineSet, old: &[u8], replacements: &[Replacement]) -> LineSet {
    let mut new = LineSet::default();
    // Of the old version: the line at byte `at`, and the last line that an edit touched.
    let (mut at, mut line, mut touched) = (0, 1, 0);
    // New line number = old line number + added - removed, after the edits so far.
    let (mut added, mut removed) = (0, 0);
    for replacement in replacements {
        let start = replacement.offset as usize;
        let end = start + replacement.remove as usize;
        let first = line + breaks(&old[at..start]);
        let last = first + breaks(&old[start..end]);
        copy(known, &mut new, touched + 1, first.saturating_sub(1), added, removed);
        let insert = &replacement.insert;
        let new_first = first + added - removed;
        let new_last = new_first + breaks(insert);
        let is_cut_at_line_start = start == 0 || old[start - 1] == b'\n';
        if insert.is_empty() {
            // What was before the cut and what was after it now share a line.
            let before_is_known =
                is_cut_at_line_start || known.contains(first) || new.contains(new_first);
            if before_is_known && known.contains(last) {
                new.add(new_first, new_first);
            }
        } else {
            let ends_with_break = insert.last() == Some(&b'\n');
            new.add(new_first, if ends_with_break { new_last - 1 } else { new_last });
            if ends_with_break && known.contains(last) {
                new.add(new_last, new_last);
            }
        }
        added += new_last - new_first;
        removed += last - first;
        (at, line, touched) = (end, last, last);
    }
    copy(known, &mut new, touched + 1, u64::MAX / 2, added, removed);
    new
}

/// Copies the known lines from `first` to `last`, moved.
fn copy(known: &LineSet, new: &mut LineSet, first: u64, last: u64, added: u64, removed: u64) {
    for (from, to) in known.ranges() {
        let (from, to) = ((*from).max(first), (*to).min(last));
        if from <= to {
            new.add(from + added - removed, to + added - removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn replacement(offset: u64, remove: u64, insert: &str) -> Replacement {
        Replacement { offset, remove, insert: insert.as_bytes().to_vec() }
    }

    fn check(old: &str, known: &[(u64, u64)], edits: &[Replacement], expected: &[(u64, u64)]) {
        let mut set = LineSet::default();
        for (first, last) in known {
            set.add(*first, *last);
        }
        assert_eq!(shift(&set, old.as_bytes(), edits).ranges(), expected, "{old:?} {edits:?}");
    }

    #[test]
    fn known_lines_move() {
        let old = "a\nb\nc\nd\n";
        check(old, &[(1, 4)], &[], &[(1, 4)]);
        // One line becomes three.
        check(old, &[(2, 4)], &[replacement(2, 1, "x\ny\nz")], &[(2, 6)]);
        // A line put before an unknown one does not make that known.
        check(old, &[(1, 1)], &[replacement(2, 0, "x\n")], &[(1, 2)]);
        // Two whole lines go.
        check(old, &[(1, 1), (4, 4)], &[replacement(2, 4, "")], &[(1, 2)]);
        // A cut inside two lines joins them: known only when both were.
        check(old, &[(2, 2)], &[replacement(3, 1, "")], &[]);
        check(old, &[(2, 3)], &[replacement(3, 1, "")], &[(2, 2)]);
        // Two edits, of which the second moves with the first.
        let two = [replacement(0, 1, "x\ny"), replacement(6, 1, "z")];
        check(old, &[(1, 1), (3, 3)], &two, &[(1, 2), (4, 5)]);
    }

    #[test]
    fn ranges_are_checked() {
        assert!(splice(b"abc", &[replacement(2, 2, "")]).is_err());
        assert!(splice(b"abc", &[replacement(4, 0, "")]).is_err());
        assert!(splice(b"abc", &[replacement(u64::MAX, 1, "")]).is_err());
        assert!(splice(b"abc", &[replacement(1, 1, ""), replacement(1, 1, "")]).is_err());
        assert_eq!(splice(b"abc", &[replacement(3, 0, "d")]), Ok(b"abcd".to_vec()));
    }

    proptest! {
        #[test]
        fn splicing_equals_the_naive_way(
            old in "[ab\n]{0,30}",
            cuts in proptest::collection::vec((0usize..8, 0usize..5, "[xy\n]{0,4}"), 0..5),
        ) {
            let mut edits = Vec::new();
            let mut at = 0;
            for (skip, remove, insert) in cuts {
                let start = at + skip;
                if start + remove > old.len() { break; }
                edits.push(replacement(start as u64, remove as u64, &insert));
                at = start + remove;
            }
            let mut naive = old.clone();
            for edit in edits.iter().rev() {
                let range = edit.offset as usize..(edit.offset + edit.remove) as usize;
                naive.replace_range(range, std::str::from_utf8(&edit.insert).expect("ascii"));
            }
            prop_assert_eq!(splice(old.as_bytes(), &edits), Ok(naive.into_bytes()));
        }

        #[test]
        fn knowing_everything_stays_everything(
            old in "[ab\n]{0,30}",
            offset in 0usize..30,
            remove in 0usize..6,
            insert in "[xy\n]{0,4}",
        ) {
            prop_assume!(offset + remove <= old.len());
            let edits = [replacement(offset as u64, remove as u64, &insert)];
            let new = splice(old.as_bytes(), &edits).expect("in range");
            // One line more than counted: an insertion at the very end starts there.
            let whole = LineSet::through(crate::lines::count(old.as_bytes()) + 1);
            let known = shift(&whole, old.as_bytes(), &edits);
            prop_assert_eq!(known.missing(crate::lines::count(&new)), vec![]);
        }
    }
}
