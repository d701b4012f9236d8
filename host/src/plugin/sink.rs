//! The sink: the one import every role has. It takes text and gives nothing back.
//!
//! Lines go to the host's log under the plugin's name, capped in number and length; the last
//! error is kept, because a panic's message arrives here and nowhere else. What a guest with a
//! runtime prints comes here too: its lines are for debugging, and its end says why it broke.

use std::collections::VecDeque;

use tokio::sync::mpsc::UnboundedSender;

use crate::wit::log;

/// Lines one call may log; what is beyond is dropped.
const LINES: u32 = 1_000;

/// Bytes of one line.
const LINE_BYTES: usize = 4 << 10;

/// Bytes of what one store printed that are kept, the last ones.
const PRINTED_BYTES: usize = 64 << 10;

/// A line that a call shows to whoever watches the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The call.
    pub call_id: String,
    /// What it shows.
    pub message: String,
}

/// Who hears of a call's progress.
pub(super) struct Watcher {
    pub(super) call_id: String,
    pub(super) lines: UnboundedSender<Line>,
}

/// Collects what one call logs.
pub(super) struct Sink {
    plugin: String,
    lines: u32,
    last_error: Option<String>,
    /// The end of standard output and standard error, as they came.
    printed: VecDeque<u8>,
    /// What was printed since the last line's end.
    line: Vec<u8>,
    watcher: Option<Watcher>,
    /// Lines that are not told yet, when they are to be held back.
    held: Option<Vec<(log::Level, String)>>,
}

impl Sink {
    pub(super) fn new(plugin: &str, watcher: Option<Watcher>) -> Sink {
        Sink {
            plugin: plugin.to_owned(),
            lines: 0,
            last_error: None,
            printed: VecDeque::new(),
            line: Vec::new(),
            watcher,
            held: None,
        }
    }

    /// One that holds its lines back until it is dropped: what may be begun again is told once.
    pub(super) fn held(plugin: &str) -> Sink {
        let mut sink = Sink::new(plugin, None);
        sink.held = Some(Vec::new());
        sink
    }

    /// Forgets what was held back: it will be said again.
    pub(super) fn discard(&mut self) {
        self.held = None;
    }

    fn tell(&self, level: log::Level, message: &str) {
        let plugin = self.plugin.as_str();
        match level {
            log::Level::Debug => tracing::debug!(plugin, "{message}"),
            log::Level::Info => tracing::info!(plugin, "{message}"),
            log::Level::Warn => tracing::warn!(plugin, "{message}"),
            log::Level::Error => tracing::error!(plugin, "{message}"),
        }
    }

    pub(super) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// The end of what the guest printed.
    pub(super) fn printed(&self) -> String {
        let (front, back) = self.printed.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }

    /// Takes what the guest prints, on whichever of its two outputs.
    pub(super) fn print(&mut self, bytes: &[u8]) {
        self.printed.extend(&bytes[bytes.len().saturating_sub(PRINTED_BYTES)..]);
        self.printed.drain(..self.printed.len().saturating_sub(PRINTED_BYTES));
        let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
        while let Some(line) = lines.next() {
            let room = LINE_BYTES.saturating_sub(self.line.len());
            self.line.extend(&line[..line.len().min(room)]);
            if lines.peek().is_some() && !self.line.is_empty() {
                let line = std::mem::take(&mut self.line);
                self.take(log::Level::Debug, String::from_utf8_lossy(&line).into_owned());
            }
        }
    }

    /// A line for the host's log.
    fn take(&mut self, level: log::Level, message: String) {
        if !self.admits() {
            return;
        }
        match &mut self.held {
            Some(held) => held.push((level, message)),
            None => self.tell(level, &message),
        }
    }

    /// Counts a line; false when the call has logged enough.
    fn admits(&mut self) -> bool {
        self.lines = self.lines.saturating_add(1);
        self.lines <= LINES
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        for (level, message) in self.held.take().unwrap_or_default() {
            self.tell(level, &message);
        }
    }
}

impl log::Host for Sink {
    fn write(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let message = cut(message);
        self.take(level, message.clone());
        // Kept even when it is one line too many: it may be the message of a panic.
        if level == log::Level::Error {
            self.last_error = Some(message);
        }
        Ok(())
    }

    fn progress(&mut self, message: String) -> wasmtime::Result<()> {
        let message = cut(message);
        if self.admits()
            && let Some(Watcher { call_id, lines }) = &self.watcher
        {
            // Nobody listens any more when the run is over; the line is lost then, and may be.
            let _ = lines.send(Line { call_id: call_id.clone(), message });
        }
        Ok(())
    }
}

/// The line cut to its cap.
fn cut(message: String) -> String {
    if message.len() <= LINE_BYTES {
        return message;
    }
    // A copy: truncating would keep the whole allocation, up to the guest's whole memory.
    message[..message.floor_char_boundary(LINE_BYTES)].to_owned()
}
