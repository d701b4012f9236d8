//! From the two texts of an edit to the replacements in the file's own bytes.
//!
//! What both texts share at their start and end is left alone, so that bytes nobody meant to
//! change (a mixed line ending, say) are not even rewritten. What is put in takes the file's
//! line endings, not the model's.

use harness_sdk::workspace_write::Replacement;

use super::flat::{Flat, flatten};

/// An edit, ready to be made.
#[derive(Debug)]
pub(crate) struct Change {
    /// In rising order, as the host wants them.
    pub(crate) replacements: Vec<Replacement>,
    /// The file as it will be.
    pub(crate) after: Vec<u8>,
    /// Where each match's new text is in it.
    pub(crate) places: Vec<(usize, usize)>,
}

/// Why there is nothing to replace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// Apart from the byte order mark, which stays, both texts are the same.
    NoChange,
    Nowhere,
    /// How many matches, and the lines of the first ones.
    Several {
        count: usize,
        lines: Vec<usize>,
    },
}

/// The byte order mark, as a model may have it in a text.
const MARK: char = '\u{FEFF}';

/// Lines that are named when there are several matches. Each is counted from the file's start.
const NAMED_LINES: usize = 20;

/// Finds `old` and says what to put there.
pub(crate) fn change(file: &[u8], old: &str, new: &str, is_all: bool) -> Result<Change, Miss> {
    let flat = Flat::of(file);
    // The mark is not shown, so a text that has it all the same means the start of the file.
    let marked = old.strip_prefix(MARK).filter(|_| flat.skipped > 0);
    let new = if flat.skipped > 0 { new.strip_prefix(MARK).unwrap_or(new) } else { new };
    let old = flatten(marked.unwrap_or(old).as_bytes());
    if old == flatten(new.as_bytes()) {
        return Err(Miss::NoChange);
    }
    let mut places = flat.find(&old);
    if marked.is_some() {
        places.retain(|at| *at == 0);
    }
    match places.len() {
        0 => return Err(Miss::Nowhere),
        1 => {}
        _ if is_all => {}
        _ => {
            let lines = places.iter().take(NAMED_LINES).map(|at| flat.line(*at)).collect();
            return Err(Miss::Several { count: places.len(), lines });
        }
    }
    let has_endings = flat.ending_near(0).is_some();
    // A file without any line ending has none of its own: then the model's are taken.
    let new = if has_endings { flatten(new.as_bytes()) } else { new.as_bytes().to_vec() };
    let (same_start, same_end) = shared(&old, &new);
    let inserted = &new[same_start..new.len() - same_end];

    let replacements = places.iter().map(|at| {
        let (start, end) = (at + same_start, at + old.len() - same_end);
        let offset = flat.in_file(start);
        Replacement {
            offset: offset as u64,
            remove: (flat.in_file(end) - offset) as u64,
            insert: if has_endings {
                with_endings(&flat, start, end, inserted)
            } else {
                inserted.to_vec()
            },
        }
    });
    Ok(apply(file, replacements.collect(), same_start, same_end))
}

/// How many bytes two texts share at their start and, apart from those, at their end.
fn shared(old: &[u8], new: &[u8]) -> (usize, usize) {
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[start..], &new[start..]);
    (start, old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count())
}

/// Gives inserted lines the endings of the lines they replace, one by one if there are as many,
/// else that of the place.
fn with_endings(flat: &Flat, start: usize, end: usize, inserted: &[u8]) -> Vec<u8> {
    let removed: Vec<usize> = (start..end).filter(|at| flat.bytes[*at] == b'\n').collect();
    let feeds = inserted.iter().filter(|byte| **byte == b'\n').count();
    let local = flat.ending_near(start);
    let mut bytes = Vec::with_capacity(inserted.len() + feeds);
    let mut nth = 0;
    for part in inserted.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = part.strip_suffix(b"\n") else {
            bytes.extend_from_slice(part);
            continue;
        };
        let own = removed.get(nth).filter(|_| removed.len() == feeds);
        let ending = own.map(|at| flat.ending(*at)).or(local);
        bytes.extend_from_slice(line);
        bytes.extend_from_slice(ending.map_or(b"\n", |ending| ending.bytes()));
        nth += 1;
    }
    bytes
}

fn apply(
    file: &[u8],
    replacements: Vec<Replacement>,
    same_start: usize,
    same_end: usize,
) -> Change {
    let mut after = Vec::with_capacity(file.len());
    let mut places = Vec::with_capacity(replacements.len());
    let mut kept = 0;
    for Replacement { offset, remove, insert } in &replacements {
        // Both come from places in `file`, which is in memory.
        let (offset, remove) = (*offset as usize, *remove as usize);
        after.extend_from_slice(&file[kept..offset]);
        let start = after.len().saturating_sub(same_start);
        after.extend_from_slice(insert);
        places.push((start, after.len() + same_end));
        kept = offset + remove;
    }
    after.extend_from_slice(&file[kept..]);
    let most = after.len();
    for (_, end) in &mut places {
        *end = (*end).min(most);
    }
    Change { replacements, after, places }
}
