//! A run's events as they happen, for somebody who reads at their own pace.
//!
//! Reads the ledger. A follower sleeps on a value that the ledger sets and nobody waits for, so a
//! client that reads slowly, or not at all, never stalls a run.

use std::sync::Arc;

use serde_json::Value;

use super::Door;
use crate::event::{Event, Recorded};
use crate::ledger::LedgerError;

/// Events read, and held, at one time for one follower.
const PAGE: usize = 128;

/// The longest text of an event in a stream of chunks: some clients cannot read lines over 64 KiB.
const SHOWN_CHARS: usize = 2_000;

/// Somebody who reads a run's events.
pub(super) struct Follower {
    door: Arc<Door>,
    id: String,
    /// The last event that was given.
    after: u64,
    is_over: bool,
}

impl Follower {
    /// Follows the run `id` from the event after `after`.
    pub(super) fn new(door: Arc<Door>, id: String, after: u64) -> Follower {
        Follower { door, id, after, is_over: false }
    }

    /// The next events, at least one; None after the run's end. Dropping the future loses none.
    pub(super) async fn page(&mut self) -> Result<Option<Vec<Recorded>>, LedgerError> {
        if self.is_over {
            return Ok(None);
        }
        let ledger = self.door.harness.ledger();
        let mut progress = ledger.watch(&self.id);
        let mut is_last_look = false;
        loop {
            // Before reading: what is stored in between wakes us again.
            let has_ended = progress.borrow_and_update().ended || is_last_look;
            let page = ledger.events(&self.id, self.after, PAGE).await?;
            if let Some(last) = page.last() {
                self.after = last.seq;
                self.is_over = matches!(last.event, Event::Ended { .. });
                return Ok(Some(page));
            }
            if has_ended {
                self.is_over = true;
                return Ok(None);
            }
            // When nobody tells any more, what is stored by now is all there will be.
            is_last_look = progress.changed().await.is_err();
        }
    }
}

/// An event, short enough for a chunk: the conversation is left out, long texts are cut. The whole
/// is at `/v1/runs/{id}/events`.
pub(super) fn brief(recorded: &Recorded) -> Value {
    let mut value = serde_json::to_value(recorded).unwrap_or_default();
    if let Value::Object(keys) = &mut value {
        keys.remove("conversation");
    }
    cut(&mut value);
    value
}

fn cut(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(SHOWN_CHARS) {
                text.truncate(end);
                text.push('…');
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(cut),
        Value::Object(keys) => keys.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
