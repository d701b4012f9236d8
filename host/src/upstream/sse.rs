//! Bytes to server-sent events, one byte at a time if need be.
//!
//! Line ends may be LF, CRLF or CR and may be cut anywhere; nothing is decoded before its line is
//! whole, so a character cut in two is no trouble. Comments are dropped: they show that the
//! connection lives, not that the model does. Knows nothing of JSON.

/// Largest event that is read, in bytes.
pub(super) const MAX_EVENT_BYTES: usize = 16 << 20;

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// Something with data.
    Data {
        /// `event:`, or empty.
        name: &'a str,
        /// The `data:` lines, joined by LF.
        data: &'a [u8],
    },
    /// `[DONE]`.
    Done,
}

/// An event is over [`MAX_EVENT_BYTES`].
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventTooLong;

/// What is left of the bytes so far.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    /// At least one line was seen, so no byte order mark may follow.
    has_begun: bool,
}

impl Parser {
    /// Reads on, and hands every event that is now whole to `on_event`.
    pub(super) fn push<E: From<EventTooLong>>(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.after_cr && !bytes.is_empty() {
            self.after_cr = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(at) = bytes.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
            let (line, rest) = bytes.split_at(at);
            if self.line.is_empty() {
                self.end_line(line, &mut on_event)?;
            } else {
                self.line.extend_from_slice(line);
                let whole = std::mem::take(&mut self.line);
                self.end_line(&whole, &mut on_event)?;
                self.line = whole;
                self.line.clear();
            }
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                _ => &rest[1..],
            };
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() + self.data.len() > MAX_EVENT_BYTES {
            return Err(EventTooLong.into());
        }
        Ok(())
    }

    /// The stream ended: a last line and a last event need no line end to count.
    pub(super) fn end<E: From<EventTooLong>>(
        &mut self,
        mut on_event: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.end_line(&line, &mut on_event)?;
        }
        self.end_line(b"", &mut on_event)
    }

    fn end_line<E: From<EventTooLong>>(
        &mut self,
        line: &[u8],
        on_event: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line = match self.has_begun {
            true => line,
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        };
        self.has_begun = true;
        if line.is_empty() {
            return self.dispatch(on_event);
        }
        let (field, value) = match line.iter().position(|&byte| byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
                if self.data.len() > MAX_EVENT_BYTES {
                    return Err(EventTooLong.into());
                }
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // `id`, `retry`, comments (an empty field) and whatever else.
            _ => {}
        }
        Ok(())
    }

    fn dispatch<E>(
        &mut self,
        on_event: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let result = match self.data.trim_ascii() {
            b"" => Ok(()),
            b"[DONE]" => on_event(Event::Done),
            // A comment that a gateway wrapped into an event.
            [b':', ..] => Ok(()),
            data => on_event(Event::Data { name: &self.name, data }),
        };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}
