//! What a change did, as a unified diff for people and models.
//!
//! The text is for reading only: bytes that are not UTF-8 show as replacement characters here and
//! nowhere else.

use std::time::Duration;

use similar::udiff::UnifiedHunkHeader;
use similar::{DiffOp, DiffTag, TextDiff};

use crate::lines::breaks;
use crate::path::JailPath;

/// The most bytes of a diff: a receipt is a part of a model's context.
const MAX_DIFF_BYTES: usize = 8 * 1024;

/// How long the search for a small diff may take; beyond, a coarser one is good enough.
const MAX_SEARCH: Duration = Duration::from_millis(300);

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// What both sides share is found in steps of this size.
const BLOCK_BYTES: usize = 4 * 1024;

/// How far into a file a NUL makes it binary.
const PROBED_BYTES: usize = 8 * 1024;

/// The diff from `old` (`None`: a new file) to `new`, cut for a receipt.
pub(super) fn unified(path: &JailPath, old: Option<&[u8]>, new: &[u8]) -> String {
    capped(unified_diff(path.as_str(), old, Some(new)))
}

/// The unified diff of a file from `old` to `new`, `None` where there is no file. Binary content is
/// told by its size; searching for a small diff is bounded in time.
pub fn unified_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    let (old_bytes, new_bytes) = (old.unwrap_or_default(), new.unwrap_or_default());
    if is_binary(old_bytes) || is_binary(new_bytes) {
        return format!(
            "binary files differ: `{path}`, {} to {} bytes\n",
            old_bytes.len(),
            new_bytes.len()
        );
    }
    let name = |side: &str, there: Option<&[u8]>| match there {
        Some(_) => quoted(&format!("{side}/{path}")),
        None => "/dev/null".to_owned(),
    };
    if old_bytes.is_empty() && new_bytes.is_empty() {
        // No line changes, and yet a file comes or goes: only git's own header says so.
        let (a, b) = (name("a", Some(&[])), name("b", Some(&[])));
        return match (old, new) {
            (None, Some(_)) => format!("diff --git {a} {b}\nnew file mode 100644\n"),
            (Some(_), None) => format!("diff --git {a} {b}\ndeleted file mode 100644\n"),
            _ => String::new(),
        };
    }
    let hunks = hunks(old_bytes, new_bytes);
    if hunks.is_empty() {
        return hunks;
    }
    format!("--- {}\n+++ {}\n{hunks}", name("a", old), name("b", new))
}

/// The hunks alone. What both sides share at their start and end is neither decoded nor searched,
/// but for the lines around the change: one word of a large file costs no look at every line.
fn hunks(old: &[u8], new: &[u8]) -> String {
    let start = shared_start(old, new);
    let end = shared_end(&old[start..], &new[start..]);
    let skipped_lines = breaks(&old[..start]) as usize;
    let old_text = String::from_utf8_lossy(&old[start..old.len() - end]);
    let new_text = String::from_utf8_lossy(&new[start..new.len() - end]);
    let diff =
        TextDiff::configure().timeout(MAX_SEARCH).diff_lines(old_text.as_ref(), new_text.as_ref());
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES);
    let mut text = String::new();
    for hunk in unified.iter_hunks() {
        let ops: Vec<DiffOp> = hunk.ops().iter().map(|op| moved(op, skipped_lines)).collect();
        let hunk = hunk.to_string();
        let (_, changes) = hunk.split_once('\n').unwrap_or_default();
        text.push_str(&format!("{}\n{changes}", UnifiedHunkHeader::new(&ops)));
    }
    text
}

/// The same operation, so many lines further down.
fn moved(op: &DiffOp, lines: usize) -> DiffOp {
    let (tag, old, new) = op.as_tag_tuple();
    let (old_index, new_index) = (old.start + lines, new.start + lines);
    let (old_len, new_len) = (old.len(), new.len());
    match tag {
        DiffTag::Equal => DiffOp::Equal { old_index, new_index, len: old_len },
        DiffTag::Delete => DiffOp::Delete { old_index, old_len, new_index },
        DiffTag::Insert => DiffOp::Insert { old_index, new_index, new_len },
        DiffTag::Replace => DiffOp::Replace { old_index, old_len, new_index, new_len },
    }
}

/// How many whole lines both start with, in bytes, less the lines of context.
fn shared_start(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.chunks(BLOCK_BYTES).zip(new.chunks(BLOCK_BYTES));
    let same = blocks.take_while(|(old, new)| old == new).count() * BLOCK_BYTES;
    let same = same.min(old.len()).min(new.len());
    let mut line_ends = (0..same).rev().filter(|at| old[*at] == b'\n');
    line_ends.nth(CONTEXT_LINES).map_or(0, |at| at + 1)
}

/// The same for the lines both end with.
fn shared_end(old: &[u8], new: &[u8]) -> usize {
    let blocks = old.rchunks(BLOCK_BYTES).zip(new.rchunks(BLOCK_BYTES));
    let same = blocks.take_while(|(old, new)| old == new).count() * BLOCK_BYTES;
    let same = same.min(old.len()).min(new.len());
    let tail = &old[old.len() - same..];
    let mut line_ends = (0..same).filter(|at| tail[*at] == b'\n');
    line_ends.nth(CONTEXT_LINES).map_or(0, |at| same - at - 1)
}

/// A name as git writes it where it stands in a line: quoted, with escapes, when it could be taken
/// for something else.
pub fn quoted(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || matches!(c, '"' | '\\')) {
        return name.to_owned();
    }
    let mut text = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    text.push_str(&format!("\\{byte:03o}"));
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(PROBED_BYTES)].contains(&0)
}

/// Cuts on a line boundary and says what was cut.
fn capped(text: String) -> String {
    if text.len() <= MAX_DIFF_BYTES {
        return text;
    }
    let cut = text.as_bytes()[..MAX_DIFF_BYTES].iter().rposition(|byte| *byte == b'\n');
    let kept = cut.map_or(0, |at| at + 1);
    let lines = text[kept..].lines().count();
    format!("{}… {lines} more lines of this diff are not shown\n", &text[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path() -> JailPath {
        JailPath::trusted("a.txt".to_owned())
    }

    #[test]
    fn texts() {
        assert_eq!(
            unified(&path(), Some(b"a\nb\n"), b"a\nc\n"),
            "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        assert!(unified(&path(), None, b"x\n").starts_with("--- /dev/null\n+++ b/a.txt\n"));
        assert_eq!(
            unified(&path(), Some(b"\0"), b"x"),
            "binary files differ: `a.txt`, 1 to 1 bytes\n"
        );
    }

    /// What is left out at both ends shows nowhere in the text.
    #[test]
    fn a_change_in_a_long_file() {
        let lines: Vec<String> = (1..=3000).map(|n| format!("line {n} é")).collect();
        for (at, end) in [(0, "\n"), (2, "\n"), (1500, ""), (1500, "\n"), (2999, "\n"), (2999, "")]
        {
            let old = lines.join("\n") + end;
            for put in ["other", "two\nlines", ""] {
                let mut new = lines.clone();
                new[at] = put.to_owned();
                let new = new.join("\n") + end;
                let whole = TextDiff::from_lines(&old, &new);
                let whole = whole.unified_diff().header("a/f", "b/f").to_string();
                let ours = unified_diff("f", Some(old.as_bytes()), Some(new.as_bytes()));
                assert_eq!(ours, whole, "{put:?} in line {at}");
            }
        }
    }

    #[test]
    fn names_cannot_pass_for_lines() {
        assert_eq!(quoted("a/ä b.txt"), "a/ä b.txt");
        assert_eq!(quoted("a/x\n+++ b/y\t\"\\\u{7f}"), r#""a/x\n+++ b/y\t\"\\\177""#);
        let diff = unified_diff("x\n+++ b/y", None, Some(b"1\n"));
        assert!(diff.starts_with("--- /dev/null\n+++ \"b/x\\n+++ b/y\"\n@@"), "{diff}");
        let empty = "diff --git a/e b/e\nnew file mode 100644\n";
        assert_eq!(unified_diff("e", None, Some(b"")), empty);
        assert_eq!(unified_diff("e", Some(b""), Some(b"")), "");
    }

    #[test]
    fn long_diffs_are_cut_on_a_line() {
        let new: String = (0..5000).map(|n| format!("line {n} é\n")).collect();
        let diff = unified(&path(), None, new.as_bytes());
        assert!(diff.len() < MAX_DIFF_BYTES + 100);
        assert!(diff.ends_with("more lines of this diff are not shown\n"));
    }
}
