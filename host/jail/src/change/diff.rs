//! What a change did, as a unified diff for people and models.
//!
//! The text is for reading only: bytes that are not UTF-8 show as replacement characters here and
//! nowhere else.

use std::time::Duration;

use similar::TextDiff;

use crate::path::JailPath;

/// The most bytes of a diff: a receipt is a part of a model's context.
const MAX_DIFF_BYTES: usize = 8 * 1024;

/// How long the search for a small diff may take; beyond, a coarser one is good enough.
const MAX_SEARCH: Duration = Duration::from_millis(300);

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;

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
    let old_text = String::from_utf8_lossy(old_bytes);
    let new_text = String::from_utf8_lossy(new_bytes);
    let diff =
        TextDiff::configure().timeout(MAX_SEARCH).diff_lines(old_text.as_ref(), new_text.as_ref());
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
    diff.unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(&name("a", old), &name("b", new))
        .to_string()
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
