//! A conversation that only grows, and its bytes on the wire.
//!
//! Every message is encoded once, when it is pushed, and its bytes are kept: a request's body is
//! the previous one plus a suffix, so that a provider's prompt cache holds and the cost of a turn
//! does not grow with the history. Nothing is ever taken out or changed.

use std::collections::HashSet;
use std::sync::Arc;

use super::encode;
use super::growing::Growing;
use crate::message::Message;
use crate::quirks::Quirks;

/// Messages in the order the model reads them, encoded for one provider.
#[derive(Clone, Debug)]
pub struct Conversation {
    messages: Vec<Message>,
    /// The messages as JSON objects, without the array's brackets.
    encoded: Growing,
    /// Ids of all calls so far: some providers use one again in every turn, others refuse that.
    call_ids: HashSet<String>,
    quirks: Arc<Quirks>,
}

impl Conversation {
    /// An empty one.
    pub fn new(quirks: Arc<Quirks>) -> Conversation {
        Conversation {
            messages: Vec::new(),
            encoded: Growing::default(),
            call_ids: HashSet::new(),
            quirks,
        }
    }

    /// Appends a message. The caller keeps the order that providers insist on: the system message
    /// first, and the outcomes of every call directly after the message that proposed it.
    pub fn push(&mut self, message: Message) {
        encode::message(&message, &self.quirks, &mut self.encoded);
        if let Message::Assistant { calls, .. } = &message {
            self.call_ids.extend(calls.iter().map(|call| call.id.clone()));
        }
        self.messages.push(message);
    }

    /// All messages.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The provider's differences it is encoded for.
    pub fn quirks(&self) -> &Arc<Quirks> {
        &self.quirks
    }

    /// Size of all messages on the wire, without what stands before and after them.
    pub fn len_bytes(&self) -> usize {
        self.encoded.len()
    }

    pub(super) fn encoded(&self) -> &Growing {
        &self.encoded
    }

    pub(super) fn call_ids(&self) -> &HashSet<String> {
        &self.call_ids
    }
}
