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
            let old = source::whole(path)?.bytes;
            refuse_binary(path, &old)?;
            refuse_lost_bytes(path, &old, content)?;
            let (bytes, note) = in_the_form_of(&old, content);
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

/// `read` shows nothing of it, so it could never be replaced.
fn refuse_binary(path: &str, old: &[u8]) -> Result<(), Fault> {
    match text::kind(old) {
        Kind::Binary(what) | Kind::Image { name: what, .. } => Err(fault::unsupported(format!(
            "`{path}` is not text but {what}; `write` replaces text"
        ))
        .hint("if it is to go, remove it with `bash` first")),
        Kind::Text { .. } | Kind::Utf16 { .. } => Ok(()),
    }
}

/// What `read` could not show stands in the content as U+FFFD, and would be written so.
fn refuse_lost_bytes(path: &str, old: &[u8], content: &str) -> Result<(), Fault> {
    if content.contains(char::REPLACEMENT_CHARACTER) && has_hidden_bytes(old) {
        return Err(fault::invalid(format!(
            "`content` holds U+FFFD, which `read` shows for bytes of `{path}` that it cannot decode; \
             they would be lost"
        ))
        .hint("change the file with `edit`, which keeps every byte around the change"));
    }
    Ok(())
}

/// Whether some bytes of a file are in no encoding that is shown.
fn has_hidden_bytes(old: &[u8]) -> bool {
    match text::kind(old) {
        Kind::Utf16 { little } => {
            text::decode_utf16(old, little).contains(char::REPLACEMENT_CHARACTER)
        }
        Kind::Text { .. } | Kind::Image { .. } | Kind::Binary(_) => {
            std::str::from_utf8(old).is_err()
        }
    }
}

/// The content, written the way the file is that it replaces, and what was kept of that.
fn in_the_form_of(old: &[u8], content: &str) -> (Vec<u8>, Option<String>) {
    let kind = text::kind(old);
    let mut kept = Vec::new();
    let (content, is_crlf) = match kind {
        Kind::Utf16 { little } => {
            kept.push("UTF-16");
            (without_mark(content), has_only_crlf(text::decode_utf16(old, little).as_bytes()))
        }
        Kind::Text { bom: true } => {
            kept.push("byte order mark");
            (without_mark(content), has_only_crlf(old))
        }
        Kind::Text { bom: false } | Kind::Image { .. } | Kind::Binary(_) => {
            (content, has_only_crlf(old))
        }
    };
    let mut content = content.to_owned();
    if is_crlf && !content.contains('\r') {
        kept.push("CRLF line endings");
        content = content.replace('\n', "\r\n");
    }
    let bytes = match kind {
        Kind::Utf16 { little } => text::encode_utf16(&content, little),
        Kind::Text { bom: true } => [BOM, content.as_bytes()].concat(),
        Kind::Text { bom: false } | Kind::Image { .. } | Kind::Binary(_) => content.into_bytes(),
    };
    let note = match kept.is_empty() {
        false => Some(format!("kept the file's {}", kept.join(" and "))),
        true => has_hidden_bytes(old).then(|| "the file was not UTF-8, and is now".to_owned()),
    };
    (bytes, note)
}

/// The mark is not shown, so a content that has it all the same means no second one.
fn without_mark(content: &str) -> &str {
    content.strip_prefix('\u{FEFF}').unwrap_or(content)
}

fn has_only_crlf(bytes: &[u8]) -> bool {
    let crlf = bytes.windows(2).filter(|pair| *pair == b"\r\n").count();
    crlf > 0 && crlf == bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn answer(path: &str, lines: usize, note: Option<String>, receipt: Receipt) -> Outcome {
    let verb = if receipt.created { "created" } else { "replaced" };
    let size = format!("{} bytes, {}", receipt.size_bytes, counted(lines, "line"));
    let mut text = format!("{verb} `{path}` ({size})\n");
    for note in note.iter().chain(&receipt.note) {
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
        check(b"a\n", "\u{FEFF}b\n", b"\xEF\xBB\xBFb\n");
        check(b"\xFF\xFEa\0", "b", b"\xFF\xFEb\0");
        check(b"\xFF\xFEa\0\r\0\n\0", "b\n", b"\xFF\xFEb\0\r\0\n\0");
        check(b"\xFE\xFF\0a\0\n", "b\n", b"\xFE\xFF\0b\0\n");
        check(b"", "x\n", b"x\n");
    }

    #[test]
    fn what_was_kept_is_said() {
        let check = |old: &[u8], expected: Option<&str>| {
            assert_eq!(in_the_form_of(old, "x\n").1.as_deref(), expected, "{old:?}");
        };
        check(b"a\n", None);
        check(b"a\r\n", Some("kept the file's CRLF line endings"));
        let both = "kept the file's byte order mark and CRLF line endings";
        check(b"\xEF\xBB\xBFa\r\n", Some(both));
        check(b"\xFF\xFEa\0", Some("kept the file's UTF-16"));
        check(b"caf\xE9\n", Some("the file was not UTF-8, and is now"));
    }

    #[test]
    fn bytes_that_were_never_shown_are_not_overwritten_by_their_stand_in() {
        let is_refused = |old: &[u8], content: &str| refuse_lost_bytes("f", old, content).is_err();
        assert!(is_refused(b"caf\xE9\n", "caf\u{FFFD}\n"));
        assert!(is_refused(b"\xFF\xFE\0\xD8a\0", "\u{FFFD}b"));
        assert!(!is_refused(b"caf\xE9\n", "cafe\n"));
        assert!(!is_refused("caf\u{FFFD}\n".as_bytes(), "caf\u{FFFD}\n"));
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
        let replaced = answer("a", 2, Some("kept it".into()), receipt(false, "-z\n+x\n"));
        assert_eq!(text(replaced), "replaced `a` (4 bytes, 2 lines)\n[kept it]\n-z\n+x\n");
    }
}
