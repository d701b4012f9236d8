//! `write`: a new file, or all of one that the model has read whole.
//!
//! The host refuses to replace what was not shown. What the model can't see in a file it read
//! stays: the byte order mark, UTF-16, and CRLF where every line has it.

use harness_sdk::workspace_read::{self, EntryKind};
use harness_sdk::workspace_write::{self, Basis, Receipt};
use harness_sdk::{Fault, FaultKind, Input, Outcome, fault, outcome, quoted};

use crate::source;
use crate::text::{self, BOM, Kind, counted};

pub(crate) fn run(input: &Input) -> Result<Outcome, Fault> {
    let path = input.text("path")?;
    let content = input.text("content")?;
    let (bytes, note, basis) = match workspace_read::stat(path) {
        Ok(entry) if entry.kind == EntryKind::Directory => {
            return Err(fault::invalid(format!("`{path}` is a directory"))
                .hint("give the path of a file in it"));
        }
        Ok(entry) if entry.size_bytes > source::MAX_WHOLE_BYTES => {
            (content.as_bytes().to_vec(), None, Basis::ShownWhole)
        }
        Ok(_) => {
            let (bytes, note) = in_the_form_of(&source::whole(path)?.bytes, content);
            (bytes, note, Basis::ShownWhole)
        }
        Err(fault) if fault.kind == FaultKind::NotFound => {
            (content.as_bytes().to_vec(), None, Basis::Absent)
        }
        Err(fault) => return Err(fault),
    };
    let receipt = workspace_write::write(path, &bytes, &basis)?;
    let lines = text::count_lines(content.as_bytes());
    Ok(answer(path, lines, note, receipt))
}

/// The content, written the way the file is that it replaces, and what was kept of that.
fn in_the_form_of(old: &[u8], content: &str) -> (Vec<u8>, Option<&'static str>) {
    let content = content.strip_prefix('\u{FEFF}').unwrap_or(content);
    let (content, crlf) = if has_only_crlf(old) && !content.contains('\r') {
        (content.replace('\n', "\r\n"), true)
    } else {
        (content.to_owned(), false)
    };
    match text::kind(old) {
        Kind::Utf16 { little } => {
            (text::encode_utf16(&content, little), Some("kept the file's UTF-16"))
        }
        Kind::Text { bom: true } => {
            let note = if crlf {
                "kept the file's byte order mark and CRLF line endings"
            } else {
                "kept the file's byte order mark"
            };
            ([BOM, content.as_bytes()].concat(), Some(note))
        }
        _ => (content.into_bytes(), crlf.then_some("kept the file's CRLF line endings")),
    }
}

fn has_only_crlf(bytes: &[u8]) -> bool {
    let crlf = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    crlf > 0 && crlf == bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn answer(path: &str, lines: usize, note: Option<&str>, receipt: Receipt) -> Outcome {
    let verb = if receipt.created { "created" } else { "replaced" };
    let size = format!("{} bytes, {}", receipt.size_bytes, counted(lines, "line"));
    let mut text = format!("{verb} `{path}` ({size})\n");
    for note in note.into_iter().chain(receipt.note.as_deref()) {
        text.push_str(&format!("[{note}]\n"));
    }
    // The diff of a new file would only repeat what the model has just written.
    if !receipt.created {
        text.push_str(if receipt.diff.is_empty() { "nothing changed\n" } else { &receipt.diff });
    }
    let mut outcome = outcome(text, format!("{verb} `{path}`, {size}"));
    outcome.data = Some(data(path, &receipt));
    outcome
}

/// For clients: the path and what changed.
pub(crate) fn data(path: &str, receipt: &Receipt) -> String {
    format!(r#"{{"path":{},"diff":{}}}"#, quoted(path), quoted(&receipt.diff))
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness_sdk::Part;

    #[test]
    fn the_form_of_the_old_file_is_kept() {
        let check = |old: &[u8], content: &str, expected: &[u8]| {
            assert_eq!(in_the_form_of(old, content).0, expected, "{old:?}");
        };
        check(b"a\n", "x\ny\n", b"x\ny\n");
        check(b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n");
        check(b"a\r\nb\n", "x\ny\n", b"x\ny\n");
        check(b"a\r\nb\r\n", "x\r\ny", b"x\r\ny");
        check(b"\xEF\xBB\xBFhello\n", "hello2\n", b"\xEF\xBB\xBFhello2\n");
        check(b"\xEF\xBB\xBFhello\n", "\u{FEFF}hello2\n", b"\xEF\xBB\xBFhello2\n");
        check(b"\xFF\xFEa\0", "b", b"\xFF\xFEb\0");
        check(b"", "x\n", b"x\n");
    }

    #[test]
    fn the_answer_says_what_happened() {
        let receipt = |created, diff: &str| Receipt {
            version: "v".into(),
            size_bytes: 4,
            created,
            diff: diff.into(),
            note: None,
        };
        let text = |outcome: Outcome| match outcome.parts.into_iter().next() {
            Some(Part::Text(text)) => text,
            _ => String::new(),
        };
        let created = answer("a", 2, None, receipt(true, "+x\n+y\n"));
        assert_eq!(created.data.as_deref(), Some(r#"{"path":"a","diff":"+x\n+y\n"}"#));
        assert_eq!(text(created), "created `a` (4 bytes, 2 lines)\n");
        let replaced = answer("a", 2, Some("kept it"), receipt(false, "-z\n+x\n"));
        assert_eq!(text(replaced), "replaced `a` (4 bytes, 2 lines)\n[kept it]\n-z\n+x\n");
    }
}
