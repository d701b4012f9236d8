//! All conversations of one scripted upstream, and the record of what came.
//!
//! Decides which turn answers a request. Times come from one monotonic clock, so that the time a
//! client spent between two requests can be computed from the record.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use serde::Serialize;

use super::answer::fill;
use super::body::{Head, NotARequest};
use super::script::{Check, Play, Script};
use super::thread::{Thread, first_user_text};

/// One request, as it is told by `GET /mock/requests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Which conversation, counted from 1 in the order they began; 0 when it cannot be told.
    pub conversation: u32,
    /// Which answer of that conversation it got, counted from 1; 0 when none was played.
    pub turn: u32,
    /// Microseconds from the start of the server until the whole request was there.
    pub received_us: u64,
    /// Microseconds from the start of the server until the answer was over or cut; none while it
    /// is being sent.
    pub answered_us: Option<u64>,
    /// Of the request.
    pub body_bytes: usize,
    /// Of the answer.
    pub status: u16,
    /// The rules it broke.
    pub violations: Vec<String>,
}

/// What a request gets.
#[derive(Debug)]
pub(super) enum Cue {
    Play {
        /// In the script, from 0.
        turn: usize,
        ordinal: u32,
        repetition: u32,
        stream: bool,
        stream_usage: bool,
    },
    Refuse(String),
    UsedUp(String),
}

#[derive(Debug, Default)]
struct Progress {
    number: u32,
    thread: Thread,
    /// The script's turn that comes next, and how often it was played.
    turn: usize,
    repetitions: u32,
    played: u32,
}

/// The state of a scripted upstream.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) script: Script,
    started: Instant,
    conversations: Mutex<HashMap<String, Progress>>,
    seen: Mutex<Vec<Seen>>,
    last_head: Mutex<Arc<Head>>,
}

/// Notes the end of an answer when it is dropped, however that comes about.
#[derive(Debug)]
pub(super) struct Ending {
    stage: Arc<Stage>,
    at: usize,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let now = self.stage.now_us();
        lock(&self.stage.seen)[self.at].answered_us = Some(now);
    }
}

impl Stage {
    pub(super) fn new(script: Script) -> Stage {
        Stage {
            script,
            started: Instant::now(),
            conversations: Mutex::default(),
            seen: Mutex::default(),
            last_head: Mutex::default(),
        }
    }

    pub(super) fn now_us(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    /// Checks a request, notes it and says what it gets.
    pub(super) fn receive(self: &Arc<Stage>, received_us: u64, body: Bytes) -> (Cue, Ending) {
        let mut seen = Seen {
            conversation: 0,
            turn: 0,
            received_us,
            answered_us: None,
            body_bytes: body.len(),
            status: 200,
            violations: Vec::new(),
        };
        let cue = match self.head(&body) {
            Ok((head, messages)) => self.cue(&head, messages, &mut seen),
            Err(NotARequest(what)) => {
                seen.violations.push(what.clone());
                Cue::Refuse(what)
            }
        };
        seen.status = match &cue {
            Cue::Play { turn, .. } => self.script.turns[*turn].status(),
            Cue::Refuse(_) => 400,
            Cue::UsedUp(_) => 500,
        };
        let mut all = lock(&self.seen);
        all.push(seen);
        let ending = Ending { stage: Arc::clone(self), at: all.len() - 1 };
        (cue, ending)
    }

    fn head(&self, body: &Bytes) -> Result<(Arc<Head>, Bytes), NotARequest> {
        let last = Arc::clone(&lock(&self.last_head));
        if let Some(messages) = last.messages_in(body) {
            return Ok((last, body.slice(messages)));
        }
        let (head, messages) = Head::read(body)?;
        let head = Arc::new(head);
        // A head with something wrong may be wrong because of what follows the messages.
        if head.violations.is_empty() {
            *lock(&self.last_head) = Arc::clone(&head);
        }
        Ok((head, body.slice(messages)))
    }

    fn cue(&self, head: &Head, messages: Bytes, seen: &mut Seen) -> Cue {
        let Some(key) = first_user_text(&messages) else {
            seen.violations.push("there is no user message".to_owned());
            return Cue::Refuse("there is no user message".to_owned());
        };
        let mut conversations = lock(&self.conversations);
        let number = u32::try_from(conversations.len()).unwrap_or(u32::MAX).saturating_add(1);
        let progress =
            conversations.entry(key).or_insert_with(|| Progress { number, ..Progress::default() });
        seen.conversation = progress.number;
        seen.violations.clone_from(&head.violations);
        // What is refused must leave no trace in what the next request is compared with.
        let before = progress.thread.clone();
        seen.violations.extend(progress.thread.receive(messages));
        let Some(turn) = self.script.turns.get(progress.turn) else {
            return Cue::UsedUp(format!(
                "the script is used up: {} answers were played",
                progress.played
            ));
        };
        let repetition = progress.repetitions + 1;
        if !turn.expect.is_empty() {
            let expected: Vec<String> =
                turn.expect.iter().map(|text| fill(text, repetition)).collect();
            if let Some(missing) = progress.thread.lacks(expected.iter().map(String::as_str)) {
                seen.violations
                    .push(format!("turn {}: `{missing}` does not occur", progress.turn + 1));
            }
        }
        if self.script.check == Check::Refuse && !seen.violations.is_empty() {
            progress.thread = before;
            return Cue::Refuse(seen.violations.join("; "));
        }
        if let Play::Error { .. } = turn.play {
            progress.thread = before;
        }
        progress.played += 1;
        seen.turn = progress.played;
        let cue = Cue::Play {
            turn: progress.turn,
            ordinal: progress.played,
            repetition,
            stream: head.stream,
            stream_usage: head.stream_usage,
        };
        progress.repetitions = repetition;
        if repetition == turn.repeat {
            progress.turn += 1;
            progress.repetitions = 0;
        }
        cue
    }
}

/// Nothing under these locks can be left half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
