//! What guards are told of the calls before: digests, not contents.
//!
//! Bounded to the last 64 calls of the run, so that the cost of a check does not grow with it.

use std::collections::VecDeque;

use crate::wit::PastCall;

/// Calls that guards see.
const CALLS: usize = 64;

/// Bytes of an input that guards see of a past call.
const HEAD_BYTES: usize = 256;

/// The calls of a run so far.
#[derive(Default)]
pub(super) struct Past(VecDeque<Entry>);

struct Entry {
    call: PastCall,
    /// Changes of the workspace when this call had ended.
    changes: u64,
}

/// How a past call ended, as far as guards care.
pub(super) struct Ended<'a> {
    pub(super) tool: &'a str,
    /// Canonical, or as it came when it never fitted.
    pub(super) input: &'a str,
    pub(super) digest: &'a str,
    pub(super) refused: bool,
    pub(super) succeeded: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) text: &'a str,
}

impl Past {
    pub(super) fn push(&mut self, ended: &Ended<'_>, changes: u64) {
        if self.0.len() == CALLS {
            self.0.pop_front();
        }
        let head = &ended.input[..ended.input.floor_char_boundary(HEAD_BYTES)];
        self.0.push_back(Entry {
            call: PastCall {
                tool: ended.tool.to_owned(),
                input_head: head.to_owned(),
                input_digest: ended.digest.to_owned(),
                refused: ended.refused,
                succeeded: ended.succeeded,
                exit_code: ended.exit_code,
                outcome_digest: blake3::hash(ended.text.as_bytes()).to_hex().to_string(),
                workspace_changed_since: false,
            },
            changes,
        });
    }

    /// Whether the call before, refused ones passed over, was the same tool with the same input.
    pub(super) fn is_repeat(&self, tool: &str, digest: &str) -> bool {
        let ran = self.0.iter().rev().find(|entry| !entry.call.refused);
        ran.is_some_and(|entry| entry.call.tool == tool && entry.call.input_digest == digest)
    }

    /// For a guard, oldest first.
    pub(super) fn told(&self, changes: u64) -> Vec<PastCall> {
        let told = self.0.iter().map(|entry| PastCall {
            workspace_changed_since: entry.changes != changes,
            ..entry.call.clone()
        });
        told.collect()
    }
}
