//! From raw terminal output to text worth reading, in a stream.
//!
//! Escape sequences go, a line that was redrawn with carriage returns keeps its last state, control
//! characters go, bytes that are not UTF-8 become U+FFFD. Where a chunk ends makes no difference:
//! every unfinished character, sequence and line is carried over.

use std::str::from_utf8;

use super::startup::SEQUENCE;

/// The longest line that a carriage return can still take back, in bytes; what is longer is given
/// out as it comes.
const MAX_LINE_BYTES: usize = 16 * 1024;

/// The longest escape sequence with text, in characters: a terminal title, a link. What is longer
/// is an opening that was never meant as one.
const MAX_STRING_CHARS: usize = 4096;

/// The most characters of such a string that are looked at.
const MAX_SAID_CHARS: usize = 1024;

/// A stream of output being cleaned.
#[derive(Debug, Default)]
pub(super) struct Cleaner {
    /// Bytes of a character that is not complete yet; at most three.
    partial: Vec<u8>,
    state: State,
    /// The current line, as far as it can still change.
    line: String,
    /// A carriage return came, and what follows decides what it means.
    has_return: bool,
    /// The beginning of the string that is under way.
    string: String,
    /// What the last string with [`SEQUENCE`] said after it.
    said: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate byte: one more character follows.
    Intermediate,
    /// In a control sequence, up to its final character.
    Control,
    /// In a string (title, link, device control) of so many characters, up to BEL or ST.
    String(usize),
    /// In a string, after ESC.
    StringEscape(usize),
}

impl Cleaner {
    /// Takes bytes and appends what is settled to `out`.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut String) {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            joined = [&std::mem::take(&mut self.partial)[..], bytes].concat();
            rest = &joined;
        }
        while !rest.is_empty() {
            match from_utf8(rest) {
                Ok(text) => {
                    self.text(text, out);
                    return;
                }
                Err(err) => {
                    let (valid, bad) = rest.split_at(err.valid_up_to());
                    // Cannot fail: the decoder just named this part valid.
                    self.text(from_utf8(valid).unwrap_or_default(), out);
                    let Some(len) = err.error_len() else {
                        self.partial = bad.to_vec();
                        return;
                    };
                    self.char(char::REPLACEMENT_CHARACTER, out);
                    rest = &bad[len..];
                }
            }
        }
    }

    /// Gives out the unfinished line, and goes on: only a character or a sequence that is not
    /// complete is still held back.
    pub(super) fn flush_line(&mut self, out: &mut String) {
        out.push_str(&std::mem::take(&mut self.line));
    }

    /// The end: gives out what was held back.
    pub(super) fn finish(&mut self, out: &mut String) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.char(char::REPLACEMENT_CHARACTER, out);
        }
        out.push_str(&std::mem::take(&mut self.line));
        *self = Cleaner { said: self.said.take(), ..Cleaner::default() };
    }

    /// Runs of plain text are taken whole: almost all output is that.
    fn text(&mut self, mut text: &str, out: &mut String) {
        while !text.is_empty() {
            if self.state == State::Text {
                // All of U+0080 to U+009F starts with this byte, and little else does.
                let is_special = |byte: &u8| *byte < b' ' || *byte == 0x7F || *byte == 0xC2;
                let plain = text.as_bytes().iter().position(is_special).unwrap_or(text.len());
                if plain > 0 {
                    self.plain(&text[..plain], out);
                    text = &text[plain..];
                    continue;
                }
            }
            let mut chars = text.chars();
            if let Some(c) = chars.next() {
                self.char(c, out);
            }
            text = chars.as_str();
        }
    }

    fn char(&mut self, c: char, out: &mut String) {
        match self.state {
            State::Text => self.text_char(c, out),
            State::Escape => match c {
                '[' => self.state = State::Control,
                ']' | 'P' | 'X' | '^' | '_' => self.state = State::String(0),
                ' '..='/' => self.state = State::Intermediate,
                '0'..='~' => self.state = State::Text,
                _ => self.resume(c, out),
            },
            State::Intermediate => match c {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                _ => self.resume(c, out),
            },
            State::Control => match c {
                ' '..='?' => {}
                '@'..='~' => self.state = State::Text,
                _ => self.resume(c, out),
            },
            State::String(len) => match c {
                '\x07' | '\u{9C}' => self.end_string(),
                '\x1B' => self.state = State::StringEscape(len),
                '\n' | '\r' => self.resume(c, out),
                _ if len >= MAX_STRING_CHARS => self.resume(c, out),
                _ => {
                    if len == 0 {
                        self.string.clear();
                    }
                    if len < MAX_SAID_CHARS {
                        self.string.push(c);
                    }
                    self.state = State::String(len + 1);
                }
            },
            State::StringEscape(_) if c == '\\' => self.end_string(),
            // Not the end of the string after all, but a sequence of its own.
            State::StringEscape(_) => {
                self.state = State::Escape;
                self.char(c, out);
            }
        }
    }

    fn end_string(&mut self) {
        self.state = State::Text;
        if let Some(said) = self.string.strip_prefix(SEQUENCE) {
            self.said = Some(said.to_owned());
        }
        self.string.clear();
    }

    /// What the last string with [`SEQUENCE`] said; once.
    pub(super) fn take_said(&mut self) -> Option<String> {
        self.said.take()
    }

    /// The sequence was none: `c` counts as text.
    fn resume(&mut self, c: char, out: &mut String) {
        self.state = State::Text;
        self.text_char(c, out);
    }

    fn text_char(&mut self, c: char, out: &mut String) {
        match c {
            '\n' => {
                self.has_return = false;
                self.line.push('\n');
                out.push_str(&self.line);
                self.line.clear();
            }
            '\r' => self.has_return = true,
            '\t' => self.plain("\t", out),
            '\x08' => {
                self.line.pop();
            }
            '\x1B' => self.state = State::Escape,
            '\u{9B}' => self.state = State::Control,
            '\u{90}' | '\u{98}' | '\u{9D}'..='\u{9F}' => self.state = State::String(0),
            c if c.is_control() => {}
            c => self.plain(c.encode_utf8(&mut [0; 4]), out),
        }
    }

    /// Adds text without control characters to the line.
    fn plain(&mut self, mut text: &str, out: &mut String) {
        if std::mem::take(&mut self.has_return) {
            self.line.clear();
        }
        // In steps of a fixed size, so that the chunks the text came in leave no trace.
        while self.line.len() + text.len() >= MAX_LINE_BYTES {
            let take = text.ceil_char_boundary(MAX_LINE_BYTES.saturating_sub(self.line.len()));
            out.push_str(&self.line);
            out.push_str(&text[..take]);
            self.line.clear();
            text = &text[take..];
        }
        self.line.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clean<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> String {
        let (mut cleaner, mut out) = (Cleaner::default(), String::new());
        for chunk in chunks {
            cleaner.push(chunk, &mut out);
        }
        cleaner.finish(&mut out);
        out
    }

    fn check(raw: &[u8], expected: &str) {
        assert_eq!(clean([raw]), expected, "{raw:?}");
        assert_eq!(clean(raw.chunks(1)), expected, "{raw:?} byte by byte");
    }

    #[test]
    fn cleaned() {
        check(b"plain\ttext\n", "plain\ttext\n");
        check(b"\x1b[1;31mred\x1b[0m\x1b[K\n", "red\n");
        check(b"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "alink\n");
        check(b"\x1b(Ba\x1bMb\x1b7c", "abc");
        check(b"\r0%\r50%\r100%", "100%");
        check(b"\r0%\r100%\r\ndone\r\n", "100%\ndone\n");
        check(b"a\r\r\nb\r", "a\nb");
        check(b"a\0b\xff\n", "ab\u{FFFD}\n");
        check(b"ab\x08c\x7f\x01\n", "ac\n");
        check("é\u{9b}31mx\u{85}y\n".as_bytes(), "éxy\n");
        check(b"caf\xc3", "caf\u{FFFD}");
        check(b"\xf0\x9f\x92", "\u{FFFD}");
        check(b"\x1b]never closed\nnext\n", "\nnext\n");
        check(b"\x1b[12\nx", "\nx");
        check(b"\x1b]0;t\x1b[31mx\n", "x\n");
        check(b"end\x1b[", "end");
    }

    #[test]
    fn long_lines_are_not_held() {
        let long = "x".repeat(MAX_LINE_BYTES * 3 + 5);
        check(long.as_bytes(), &long);
        let mut cleaner = Cleaner::default();
        let mut out = String::new();
        cleaner.push(long.as_bytes(), &mut out);
        assert_eq!(out.len(), MAX_LINE_BYTES * 3);
    }

    #[test]
    fn what_is_said_in_a_sequence() {
        let check = |raw: &str, expected: Option<&str>| {
            let (mut cleaner, mut out) = (Cleaner::default(), String::new());
            raw.bytes().for_each(|byte| cleaner.push(&[byte], &mut out));
            cleaner.finish(&mut out);
            assert_eq!((cleaner.take_said().as_deref(), out.as_str()), (expected, "ab"), "{raw:?}");
        };
        check("a\x1B]pipeline;1 0\x07b", Some("1 0"));
        check("a\x1B]pipeline;1 0\x1B\\b", Some("1 0"));
        check("a\x1B]0;title\x07b\x1B]pipeline;2 0\x07", Some("2 0"));
        check("a\x1B]pipeline;1 0\x07\x1B]0;title\x07b", Some("1 0"));
        check("a\x1B]0;pipeline;1 0\x07b", None);
        check("a\x1B]\x07b", None);
        check("ab\x1B]pipeline;1 0", None);
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            raw in proptest::collection::vec(
                prop_oneof![
                    Just(b"\x1b[31m".to_vec()), Just(b"\x1b]0;t\x07".to_vec()), Just(b"\r".to_vec()),
                    Just(b"\n".to_vec()), Just("é𝄞\u{9d}".as_bytes().to_vec()), Just(b"\x1b".to_vec()),
                    Just(vec![b'y'; 9000]), Just(b"\x08".to_vec()),
                    proptest::collection::vec(any::<u8>(), 0..6),
                ],
                0..20,
            ),
            cuts in proptest::collection::vec(1usize..40, 1..40),
        ) {
            let raw = raw.concat();
            let mut chunks = Vec::new();
            let mut rest = &raw[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (chunk, after) = rest.split_at((*cut).min(rest.len()));
                chunks.push(chunk);
                rest = after;
            }
            let whole = clean([&raw[..]]);
            prop_assert_eq!(clean(chunks), whole.clone());
            let is_bad = |c: char| c.is_control() && c != '\n' && c != '\t';
            prop_assert!(!whole.contains(is_bad));
        }
    }
}
