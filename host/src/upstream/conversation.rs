//! A conversation that only grows, and its bytes on the wire.
//!
//! Every message is encoded once, when it is pushed, and its bytes are kept: a request's body is
//! the previous one plus a suffix, so that a provider's prompt cache holds and the cost of a turn
//! does not grow with the history. Nothing is ever taken out or changed, but for images that the
//! provider refuses: those alone become words, so that the conversation can go on.

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
    /// How often the provider refused images.
    refusals: u32,
}

/// After so many refusals no more images are tried.
const REFUSALS: u32 = 3;

/// Stands behind the text of an outcome whose images were refused.
const REFUSED: &str = "\n[not shown after all: the model's provider refused it]";

impl Conversation {
    /// An empty one.
    pub fn new(quirks: Arc<Quirks>) -> Conversation {
        Conversation {
            messages: Vec::new(),
            encoded: Growing::default(),
            call_ids: HashSet::new(),
            quirks,
            refusals: 0,
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

    /// True when the provider refused images so often that there is no point in sending another.
    pub fn is_refused_images(&self) -> bool {
        self.refusals >= REFUSALS
    }

    /// Replaces the images that the provider never accepted by words; all of them, where it accepted
    /// every one before and refuses them now. False when there is none.
    ///
    /// What was accepted stays as it is, so that a prompt cache holds up to there.
    pub fn drop_images(&mut self) -> bool {
        let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
        let newest = self.messages.iter().rposition(is_reply).unwrap_or(0);
        let is_dropped =
            drop_images(&mut self.messages[newest..]) || drop_images(&mut self.messages[..newest]);
        if is_dropped {
            self.refusals += 1;
            self.encoded = Growing::default();
            for message in &self.messages {
                encode::message(message, &self.quirks, &mut self.encoded);
            }
        }
        is_dropped
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

/// True when there was one.
fn drop_images(messages: &mut [Message]) -> bool {
    let mut is_dropped = false;
    for message in messages {
        let Message::Outcomes { outcomes } = message else { continue };
        for outcome in outcomes.iter_mut().filter(|outcome| !outcome.images.is_empty()) {
            outcome.images.clear();
            outcome.text.push_str(REFUSED);
            is_dropped = true;
        }
    }
    is_dropped
}
