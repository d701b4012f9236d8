//! `read`: a page of a text file, the cells of a notebook, an image, or a directory's names.
//!
//! Each thing that is not a page of text has an answer of its own: missing, a directory,
//! binary, empty, past the end. Marks as shown exactly the lines that were shown whole; cells show
//! enough of their file to change a part of it, and never all of it.

mod listing;
mod notebook;

use harness_sdk::workspace_read::{self, EntryKind};
use harness_sdk::{Fault, Image, Input, Outcome, Part, fault, outcome};

use crate::page::{self, DEFAULT_LINES, Page, Pager, Past, Window};
use crate::source::{self, MAX_WHOLE_BYTES, Pieces};
use crate::text::{self, BOM, Kind};

use notebook::Cells;

/// A file up to this size is read to its end, so that a page can tell how many lines there are.
const COUNTED_BYTES: u64 = 32 * 1024 * 1024;

pub(crate) fn run(input: &Input) -> Result<Outcome, Fault> {
    let path = input.text("path")?;
    let first = input.number("offset")?.unwrap_or(1).max(1);
    let limit = input.number("limit")?.unwrap_or(DEFAULT_LINES).max(1);
    let window = match input.number("byte")? {
        Some(byte) => Window::Piece { line: first, byte },
        None => Window::Lines { first, limit },
    };
    // What is missing is answered by the host, with the nearest names.
    let entry = workspace_read::stat(path)?;
    match entry.kind {
        EntryKind::Directory => {
            let entries = workspace_read::entries(path)?;
            listing::page(path, &entries, first, limit)
        }
        EntryKind::Other => Err(fault::unsupported(format!(
            "`{path}` is a pipe, a socket or a device; only files and directories can be read"
        ))),
        EntryKind::File | EntryKind::Symlink => read_file(path, window),
    }
}

fn read_file(path: &str, window: Window) -> Result<Outcome, Fault> {
    let mut pieces = Pieces::of(path);
    let head = pieces.next()?.unwrap_or_default();
    let mut pager = Pager::new(window);
    let mut is_at_end = true;
    let mut note = String::new();
    match text::kind(&head) {
        Kind::Binary(what) => {
            return Err(fault::unsupported(format!(
                "file `{path}` is not text: {what}, {} bytes",
                pieces.size()
            ))
            .hint("inspect it with a command, if you need to: call `bash`"));
        }
        Kind::Image { name, media_type } if pieces.is_whole(&head) => {
            return Ok(Outcome {
                // Whether the model is shown it, and what it reads otherwise, is the host's to say.
                parts: vec![Part::Image(Image { media_type: media_type.to_owned(), bytes: head })],
                ..outcome("", format!("read `{path}`, {name}"))
            });
        }
        Kind::Image { name, .. } => {
            let size = pieces.size();
            let told = format!(
                "[{name}, {size} bytes; not shown: over the limit of {MAX_WHOLE_BYTES} bytes; make a \
                 smaller copy with a command and read that]\n"
            );
            return Ok(outcome(told, format!("read `{path}`, {name}")));
        }
        Kind::Utf16 { little } => {
            let whole = source::whole(path)?;
            pager.feed(text::decode_utf16(&whole.bytes, little).as_bytes());
            pieces.version = whole.version;
            note.push_str("[decoded from UTF-16]\n");
        }
        Kind::Text { bom } => {
            let text = &head[if bom { BOM.len() } else { 0 }..];
            if let Some((first, limit)) = window.of_notebook(path) {
                let parsed = match pieces.is_whole(&head) {
                    true => notebook::parse(text),
                    false => Err(format!("it has over {MAX_WHOLE_BYTES} bytes")),
                };
                match parsed {
                    Ok(notebook) => {
                        let cells = notebook.page(path, first, limit)?;
                        return read_cells(path, &pieces.version, cells);
                    }
                    Err(why) => {
                        note = format!("[shown as text, not as the cells of a notebook: {why}]\n")
                    }
                }
            }
            pager.feed(text);
            drop(head);
            loop {
                if pager.is_full() && pieces.size() > COUNTED_BYTES {
                    is_at_end = false;
                    break;
                }
                let Some(piece) = pieces.next()? else { break };
                pager.feed(&piece);
            }
        }
    }
    let mut page = match pager.finish(is_at_end) {
        Ok(page) => page,
        Err(Past::Lines(0)) => {
            // Nothing to show is shown whole.
            mark_seen(path, &pieces.version)?;
            let text = format!("file `{path}` is empty ({} bytes)\n", pieces.size());
            return Ok(outcome(text, format!("read `{path}`, empty")));
        }
        Err(past) => return Err(past_the_end(path, window, &past)),
    };
    page.text.push_str(&note);
    mark(path, &pieces.version, &page)?;
    let summary = page::summary(path, &page);
    Ok(outcome(page.text, summary))
}

impl Window {
    /// The first cell and how many, where the file is one that is shown as cells. A piece of a line is
    /// always of the file itself.
    fn of_notebook(self, path: &str) -> Option<(u64, u64)> {
        let Window::Lines { first, limit } = self else { return None };
        let is_notebook = path.to_ascii_lowercase().ends_with(".ipynb");
        (is_notebook && path.len() > ".ipynb".len()).then_some((first, limit))
    }
}

/// Cells stand for their file: the model knows what is in this version, so it may change a part of
/// it; what the cells leave out it has not seen, so it may not replace the whole.
fn read_cells(path: &str, version: &str, cells: Cells) -> Result<Outcome, Fault> {
    let Cells { mut text, count } = cells;
    mark_seen(path, version)?;
    text.push_str(
        "[these are the cells; `edit` works on the file's own lines, JSON, which `grep` shows]\n",
    );
    Ok(outcome(text, format!("read `{path}`, {}", text::counted(count, "cell"))))
}

/// Tells the host that the model has seen something of this version, no line of it whole.
fn mark_seen(path: &str, version: &str) -> Result<(), Fault> {
    // The range ends before it starts.
    workspace_read::mark_shown(path, version, 1, 0)
}

/// Tells the host what was shown, and which lines of it whole.
fn mark(path: &str, version: &str, page: &Page) -> Result<(), Fault> {
    if page.shown.is_empty() {
        mark_seen(path, version)?;
    }
    for (first, last) in &page.shown {
        workspace_read::mark_shown(path, version, *first, *last)?;
    }
    Ok(())
}

fn past_the_end(path: &str, window: Window, past: &Past) -> Fault {
    let (Window::Lines { first: line, .. } | Window::Piece { line, .. }) = window;
    match past {
        Past::Lines(total) => {
            let lines = text::counted(usize::try_from(*total).unwrap_or(usize::MAX), "line");
            fault::invalid(format!("file `{path}` has {lines}; offset {line} is past its end"))
                .hint(format!("use an offset from 1 to {total}"))
        }
        Past::Bytes { length, is_last } => {
            let message = format!("line {line} of `{path}` ends at byte {length}");
            if *is_last {
                return fault::invalid(format!("{message}, and it is the last line"))
                    .hint("all of the file was there to read; use a smaller byte");
            }
            fault::invalid(message).hint(format!("go on with offset {}", line + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn past_the_end_names_what_there_is() {
        let fault = past_the_end("a", Window::Lines { first: 9, limit: 1 }, &Past::Lines(1));
        assert_eq!(fault.message, "file `a` has 1 line; offset 9 is past its end");
        assert_eq!(fault.hint.as_deref(), Some("use an offset from 1 to 1"));
        let fault = past_the_end(
            "a",
            Window::Piece { line: 2, byte: 9 },
            &Past::Bytes { length: 4, is_last: false },
        );
        assert_eq!(fault.message, "line 2 of `a` ends at byte 4");
        assert_eq!(fault.hint.as_deref(), Some("go on with offset 3"));
        let past = Past::Bytes { length: 4, is_last: true };
        let fault = past_the_end("a", Window::Piece { line: 2, byte: 9 }, &past);
        assert_eq!(fault.message, "line 2 of `a` ends at byte 4, and it is the last line");
    }
}
