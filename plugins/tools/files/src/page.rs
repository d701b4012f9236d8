//! One page of a file: numbered lines, cut to what a model can take, and how to go on.
//!
//! Takes the file in pieces and keeps only what it shows, so that a file of any size can be
//! paged. Following what a page says always advances: a page holds at least one line, and a
//! piece of a line at least one character.

use crate::text::{counted, prefix};

/// Lines in a page, unless asked otherwise.
pub(crate) const DEFAULT_LINES: u64 = 2_000;
/// Characters of a line; longer ones are cut and say how to go on.
pub(crate) const MAX_LINE_CHARS: usize = 2_000;
/// Bytes in a page: what a model can read at once without losing the rest of its context.
pub(crate) const MAX_PAGE_BYTES: usize = 50 * 1024;
/// Bytes kept of a line: the characters above at their longest, and the start of one more.
const KEPT_LINE_BYTES: usize = MAX_LINE_CHARS * 4 + 4;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Window {
    /// Lines from `first` on.
    Lines { first: u64, limit: u64 },
    /// A piece of one line, from a byte of it.
    Piece { line: u64, byte: u64 },
}

/// Builds a page from a file's bytes as they come.
#[derive(Debug)]
pub(crate) struct Pager {
    window: Window,
    /// Of the line being read, counted from 1.
    number: u64,
    /// Bytes of it so far, its ending included.
    length: u64,
    kept: Vec<u8>,
    /// The line's last byte so far was a carriage return.
    after_return: bool,
    text: String,
    shown: Vec<(u64, u64)>,
    /// The first line that did not fit or lies past the limit.
    next: Option<u64>,
    piece: Option<Piece>,
    invalid: bool,
}

#[derive(Debug)]
struct Piece {
    end: u64,
    length: u64,
}

/// What became of the window.
#[derive(Debug)]
pub(crate) struct Page {
    /// For the model, with the way to go on.
    pub(crate) text: String,
    /// Lines shown whole, as ranges.
    pub(crate) shown: Vec<(u64, u64)>,
}

/// Nothing to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Past {
    /// The first line lies past the end of the file, which has so many.
    Lines(u64),
    /// The byte lies past the end of the line.
    Bytes {
        /// Bytes of the line.
        length: u64,
        /// It is the last line of the file.
        is_last: bool,
    },
}

impl Pager {
    pub(crate) fn new(window: Window) -> Pager {
        Pager {
            window,
            number: 1,
            length: 0,
            kept: Vec::new(),
            after_return: false,
            text: String::new(),
            shown: Vec::new(),
            next: None,
            piece: None,
            invalid: false,
        }
    }

    /// The page can't grow any more; what follows only serves to count the lines.
    pub(crate) fn is_full(&self) -> bool {
        self.next.is_some() || self.piece.is_some()
    }

    /// The next bytes of the file.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (body, is_ended) = match part {
                [body @ .., b'\n'] => (body, true),
                body => (body, false),
            };
            self.keep(body);
            self.length += body.len() as u64;
            if let Some(last) = body.last() {
                self.after_return = *last == b'\r';
            }
            if is_ended {
                self.end_line(self.after_return);
            }
        }
    }

    /// Keeps the bytes of the line that may be shown.
    fn keep(&mut self, body: &[u8]) {
        let (from, most) = match self.window {
            Window::Lines { first, .. } if self.number >= first && self.next.is_none() => {
                (0, KEPT_LINE_BYTES)
            }
            Window::Piece { line, byte } if self.number == line => (byte, MAX_PAGE_BYTES + 4),
            _ => return,
        };
        let skip = usize::try_from(from.saturating_sub(self.length)).unwrap_or(usize::MAX);
        let body = body.get(skip..).unwrap_or_default();
        let room = most - self.kept.len().min(most);
        self.kept.extend_from_slice(&body[..body.len().min(room)]);
    }

    fn end_line(&mut self, has_return: bool) {
        let length = self.length - u64::from(has_return);
        match self.window {
            Window::Lines { first, limit } => {
                if self.number >= first && self.next.is_none() {
                    if self.number - first < limit {
                        self.show_line(length);
                    } else {
                        self.next = Some(self.number);
                    }
                }
            }
            Window::Piece { line, byte } if line == self.number => self.show_piece(byte, length),
            Window::Piece { .. } => {}
        }
        self.number += 1;
        self.length = 0;
        self.kept.clear();
        self.after_return = false;
    }

    fn show_line(&mut self, length: u64) {
        let number = self.number;
        let whole = usize::try_from(length).unwrap_or(usize::MAX).min(self.kept.len());
        let (text, taken) = prefix(&self.kept[..whole], MAX_LINE_CHARS, usize::MAX);
        let is_whole = taken as u64 == length;
        let mut line = format!("{number}\t{text}");
        if !is_whole {
            line.push_str(&format!(
                " [cut: the line has {length} bytes; for the rest use offset {number}, byte {taken}]"
            ));
        }
        line.push('\n');
        if !self.text.is_empty() && self.text.len() + line.len() > MAX_PAGE_BYTES {
            self.next = Some(number);
            return;
        }
        self.invalid |= text.contains(char::REPLACEMENT_CHARACTER);
        self.text.push_str(&line);
        if is_whole {
            match self.shown.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.shown.push((number, number)),
            }
        }
    }

    fn show_piece(&mut self, byte: u64, length: u64) {
        let rest = usize::try_from(length.saturating_sub(byte)).unwrap_or(usize::MAX);
        let kept = &self.kept[..rest.min(self.kept.len())];
        let (text, taken) = prefix(kept, usize::MAX, MAX_PAGE_BYTES);
        self.invalid |= text.contains(char::REPLACEMENT_CHARACTER);
        self.text.push_str(&text);
        self.text.push('\n');
        let end = byte + taken as u64;
        if byte == 0 && end == length {
            self.shown.push((self.number, self.number));
        }
        self.piece = Some(Piece { end, length });
    }

    /// The page, once the file has ended or enough of it was counted.
    pub(crate) fn finish(mut self, is_at_end: bool) -> Result<Page, Past> {
        if self.length > 0 {
            // The last line of the file has no ending, and a return before it is text.
            self.end_line(false);
        }
        let total = self.number - 1;
        let footer = match self.window {
            Window::Lines { first, .. } if total < first => return Err(Past::Lines(total)),
            Window::Lines { first, .. } => match self.next {
                Some(next) if is_at_end => {
                    Some(format!("lines {first}-{} of {total}; go on with offset {next}", next - 1))
                }
                Some(next) => Some(format!(
                    "lines {first}-{}, and the file goes on; go on with offset {next}",
                    next - 1
                )),
                None if first > 1 => Some(format!("end of file; {total} lines")),
                None => None,
            },
            Window::Piece { line, byte } => match self.piece {
                None => return Err(Past::Lines(total)),
                Some(Piece { length, .. }) if byte >= length => {
                    return Err(Past::Bytes { length, is_last: is_at_end && line == total });
                }
                Some(Piece { end, length }) if end < length => Some(format!(
                    "line {line}, bytes {byte}-{end} of {length}; go on with offset {line}, byte {end}"
                )),
                Some(_) if line < total || !is_at_end => {
                    Some(format!("end of line {line}; go on with offset {}", line + 1))
                }
                Some(_) => Some(format!("end of line {line}, the last one")),
            },
        };
        if let Some(footer) = footer {
            self.text.push_str(&format!("[{footer}]\n"));
        }
        if self.invalid {
            self.text.push_str(
                "[\u{FFFD} stands for bytes that are not UTF-8, Latin-1 perhaps; `edit` leaves them alone]\n",
            );
        }
        Ok(Page { text: self.text, shown: self.shown })
    }
}

/// One line for people who watch.
pub(crate) fn summary(path: &str, page: &Page) -> String {
    let lines = page.shown.iter().map(|(first, last)| last - first + 1).sum::<u64>();
    format!("read `{path}`, {}", counted(usize::try_from(lines).unwrap_or(usize::MAX), "line"))
}

#[cfg(test)]
mod tests;
