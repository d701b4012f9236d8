//! The bytes of one answer to one reply, whatever framing they have.
//!
//! Looks at the first byte, not at the content type: gateways label streams as JSON and answer
//! stream requests with one whole completion. No socket and no timer: `attempt` has those.

use std::collections::HashSet;

use super::assemble::{Assembler, MAX_REPLY_BYTES};
use super::error::UpstreamError;
use super::sse::{self, Event, EventTooLong};
use crate::message::Reply;

#[derive(Debug)]
enum Framing {
    /// Nothing but white space so far.
    Unknown,
    Events(sse::Parser),
    /// One JSON object; its bytes.
    Whole(Vec<u8>),
}

/// An answer that is being read.
#[derive(Debug)]
pub(super) struct Reading {
    framing: Framing,
    assembler: Assembler,
    is_done: bool,
}

impl From<EventTooLong> for UpstreamError {
    fn from(_: EventTooLong) -> UpstreamError {
        UpstreamError::TooLarge { limit_bytes: sse::MAX_EVENT_BYTES }
    }
}

impl Reading {
    pub(super) fn new() -> Reading {
        Reading { framing: Framing::Unknown, assembler: Assembler::default(), is_done: false }
    }

    /// Reads on; true when the model got further, which a comment or a ping does not show.
    pub(super) fn feed(&mut self, mut bytes: &[u8]) -> Result<bool, UpstreamError> {
        if let Framing::Unknown = self.framing {
            bytes = bytes.trim_ascii_start();
            match bytes.first() {
                None => return Ok(false),
                Some(b'{') => self.framing = Framing::Whole(Vec::new()),
                // A base URL that is a little wrong often leads to somebody's home page.
                Some(b'<') => {
                    return Err(UpstreamError::Broken {
                        what: "it is a web page and not an API's answer; is the base URL right?",
                    });
                }
                Some(_) => self.framing = Framing::Events(sse::Parser::default()),
            }
        }
        let Reading { framing, assembler, is_done } = self;
        let mut went_on = false;
        match framing {
            Framing::Unknown => {}
            Framing::Events(parser) => {
                parser.push(bytes, |event| event_into(event, assembler, is_done, &mut went_on))?;
            }
            Framing::Whole(whole) => {
                whole.extend_from_slice(bytes);
                if whole.len() > MAX_REPLY_BYTES {
                    return Err(UpstreamError::TooLarge { limit_bytes: MAX_REPLY_BYTES });
                }
                went_on = true;
            }
        }
        Ok(went_on)
    }

    /// True after `[DONE]`: nothing of interest follows.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// True when the reply has its finish reason, and lacks at most its usage.
    pub(super) fn has_finished(&self) -> bool {
        self.assembler.has_finished()
    }

    /// The bytes are at their end. Arguments as in [`Assembler::into_reply`].
    pub(super) fn end(
        mut self,
        taken: &HashSet<String>,
        ordinal: usize,
    ) -> Result<Reply, UpstreamError> {
        let Reading { framing, assembler, is_done } = &mut self;
        match framing {
            Framing::Unknown => return Err(UpstreamError::Broken { what: "it was empty" }),
            Framing::Events(parser) => {
                parser.end(|event| event_into(event, assembler, is_done, &mut false))?;
            }
            Framing::Whole(whole) => assembler.event("", whole)?,
        }
        self.assembler.into_reply(taken, ordinal)
    }
}

fn event_into(
    event: Event<'_>,
    assembler: &mut Assembler,
    is_done: &mut bool,
    went_on: &mut bool,
) -> Result<(), UpstreamError> {
    match event {
        Event::Done => *is_done = true,
        // What follows the end is not read: one gateway sends its own trailer there.
        Event::Data { .. } if *is_done => {}
        Event::Data { name: "ping", .. } => {}
        Event::Data { name, data } => {
            *went_on = true;
            assembler.event(name, data)?;
        }
    }
    Ok(())
}
