//! The loop: ask, act on what was asked for, ask again, until there is an answer.
//!
//! Everything a run does is decided in [`run`], which fits on a screen; `agent/calls.rs` takes one
//! reply's calls through validation, guards and tools, `agent/answer.rs` fits the answer to what the
//! client asked of it, `agent/gallery.rs` decides which images the model is shown, `agent/past.rs` is
//! what guards are told of the calls before. Touches no socket, file, clock or environment: those are
//! below.

mod answer;
mod calls;
mod gallery;
mod past;

use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::deadline::{Deadline, Stopwatch};
use crate::event::{Event, Reason};
use crate::ledger::LedgerError;
use crate::message::{Call, Finish, Message, Reply};
use crate::plugin::Plugins;
use crate::prompt;
use crate::record::Record;
use crate::session::Session;
use crate::upstream::{
    Ask, Conversation, Offers, Passthrough, ToolChoice, Upstream, UpstreamError,
};

use gallery::Gallery;
use past::Past;

/// Turns in a row in which every call was refused, before the run ends as stuck.
const STUCK_TURNS: u32 = 3;

/// What one run works with. Everything outlives the run or belongs to it alone.
pub struct Task<'a> {
    /// Who is asked.
    pub upstream: &'a Upstream,
    /// Tools and guards.
    pub plugins: &'a Plugins,
    /// Where it works.
    pub session: &'a Session,
    /// What was said so far.
    pub conversation: Conversation,
    /// The tools, as they are offered.
    pub offers: &'a Offers,
    /// The model's name upstream.
    pub model: &'a str,
    /// The client's own keys for the upstream.
    pub extra: &'a Passthrough,
    /// The most tokens of the answer.
    pub answer_limit: Option<u64>,
    /// The client's own keys with the answer's form among them, when it wants one.
    pub answer_extra: Option<&'a Passthrough>,
    /// Of the first turn; later turns are free.
    pub first_choice: ToolChoice,
    /// What it may use.
    pub limits: Limits,
    /// Reads at one time.
    pub parallel_reads: usize,
    /// The tools that run. A call that is dropped may still be at a write: who ends the run waits
    /// for them here.
    pub running: TaskTracker,
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Turns, the closing one not counted.
    pub turns: u32,
    /// Tokens, in all.
    pub total_tokens: u64,
    /// The limit in seconds, for texts.
    pub seconds: u64,
    /// When everything is over.
    pub end: Deadline,
    /// When work is over and the closing turn begins.
    pub work: Deadline,
}

impl Limits {
    /// Of the time of a run, a fifth and at most 30 seconds is kept for the closing turn.
    pub fn new(turns: u32, total_tokens: u64, time: Duration) -> Limits {
        let end = Deadline::after(time);
        let closing = (time / 5).min(Duration::from_secs(30));
        Limits { turns, total_tokens, seconds: time.as_secs(), end, work: end.minus(closing) }
    }
}

/// How a run came to its end.
#[derive(Debug)]
pub struct Ending {
    /// Why.
    pub reason: Reason,
    /// Of the reply that ended it.
    pub finish: Finish,
    /// The answer; empty when there is none.
    pub answer: String,
}

/// What a turn is for.
#[derive(Clone, Copy)]
enum Turn {
    /// Going on with the task.
    Working,
    /// Giving the answer in the form that the client wants.
    Answering,
    /// The last word at a limit.
    Closing,
}

/// Why a run has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// Three turns in a row in which every call was refused.
    #[error("every call of {STUCK_TURNS} turns in a row was refused; the last refusal: {0}")]
    Stuck(String),
    /// The same calls twice in a row, cut in the same place.
    #[error("the reply was cut off inside the same calls twice in a row: {0}")]
    CutTwice(String),
    /// Neither text nor call, twice.
    #[error("the model gave an empty reply twice in a row")]
    EmptyReply,
    /// The upstream gave no reply.
    #[error(transparent)]
    Upstream(#[from] UpstreamError),
    /// What happened cannot be recorded, so nothing more may happen.
    #[error("the ledger does not take what happened: {0}")]
    Ledger(#[from] LedgerError),
    /// A command cannot be told to the audit log, so it may not run.
    #[error("the audit log does not take a command: {0}")]
    Audit(#[source] std::io::Error),
}

impl Stop {
    /// The termination reason.
    pub fn reason(&self) -> Reason {
        match self {
            Stop::Stuck(_) | Stop::CutTwice(_) => Reason::Stuck,
            Stop::EmptyReply => Reason::EmptyReply,
            Stop::Upstream(err) => err.reason(),
            Stop::Ledger(_) | Stop::Audit(_) => Reason::Internal,
        }
    }
}

/// Runs a task to its end. Dropping the future stops model call, guest and process.
///
/// # Errors
///
/// When there is no answer; what was done is on record all the same.
pub async fn run(task: &mut Task<'_>, record: &mut Record) -> Result<Ending, Stop> {
    let mut past = Past::default();
    let mut gallery = Gallery::default();
    let mut choice = task.first_choice;
    let mut empty_replies = 0;
    let mut refused_turns = 0;
    let mut last_cut: Option<Vec<Call>> = None;
    loop {
        if let Some(limit) = spent(task, record) {
            return close(task, record, limit).await;
        }
        let reply = match ask(task, record, choice, Turn::Working).await {
            Err(Stop::Upstream(_)) if task.limits.work.is_over() => continue,
            reply => reply?,
        };
        choice = ToolChoice::Auto;
        let Reply { text, calls, finish, .. } = reply;
        // A limit of the client's own may leave no room for a word.
        let is_cut = task.offers.is_empty() && task.answer_limit.is_some();
        let is_cut = is_cut && finish == Finish::Length;
        if calls.is_empty() && (is_cut || !text.trim().is_empty()) {
            return answer::give(task, record, text, finish, reply.usage).await;
        }
        if calls.is_empty() {
            empty_replies += 1;
            if empty_replies == 2 {
                return Err(Stop::EmptyReply);
            }
            task.conversation.push(Message::User { text: prompt::NUDGE.to_owned() });
            continue;
        }
        empty_replies = 0;
        task.conversation.push(Message::Assistant { text, calls: calls.clone() });
        let acted = calls::act(task, record, &mut past, &mut gallery, &calls, finish).await?;
        task.conversation.push(Message::Outcomes { outcomes: acted.outcomes });
        refused_turns = if acted.last_refusal.is_some() { refused_turns + 1 } else { 0 };
        let cut = acted.was_cut.then_some(calls);
        if let (Some(cut), Some(last_cut), Some(refusal)) = (&cut, &last_cut, &acted.last_refusal)
            && is_same(cut, last_cut)
        {
            return Err(Stop::CutTwice(refusal.clone()));
        }
        last_cut = cut;
        if let (STUCK_TURNS, Some(refusal)) = (refused_turns, acted.last_refusal) {
            return Err(Stop::Stuck(refusal));
        }
    }
}

/// The same calls, whatever their ids: a model that sends what was cut once more will do so again.
fn is_same(calls: &[Call], others: &[Call]) -> bool {
    let says =
        |call: &Call, other: &Call| call.tool == other.tool && call.arguments == other.arguments;
    calls.len() == others.len() && calls.iter().zip(others).all(|(call, other)| says(call, other))
}

/// The limit that is used up, if one is.
fn spent(task: &Task<'_>, record: &Record) -> Option<Reason> {
    let tally = record.tally();
    if task.limits.work.is_over() {
        Some(Reason::MaxSeconds)
    } else if tally.turns >= task.limits.turns {
        Some(Reason::MaxTurns)
    } else if tally.usage.total() >= task.limits.total_tokens {
        Some(Reason::MaxTokens)
    } else {
        None
    }
}

/// One last turn without calls: what is done, what is open.
async fn close(task: &mut Task<'_>, record: &mut Record, limit: Reason) -> Result<Ending, Stop> {
    let Limits { turns, total_tokens, seconds, .. } = task.limits;
    let named = match limit {
        Reason::MaxTurns => format!("{turns} turns"),
        Reason::MaxTokens => format!("{total_tokens} tokens"),
        _ => format!("{seconds} seconds"),
    };
    task.conversation.push(Message::User { text: prompt::closing(&named) });
    let (finish, answer) = match ask(task, record, ToolChoice::None, Turn::Closing).await {
        Ok(reply) => (reply.finish, reply.text),
        Err(stop @ (Stop::Ledger(_) | Stop::Audit(_))) => return Err(stop),
        Err(err) => {
            record.note(format!("the closing turn failed: {err}"));
            (Finish::Length, String::new())
        }
    };
    if !answer.trim().is_empty() {
        return Ok(Ending { reason: limit, finish, answer });
    }
    record.note("the closing turn gave no text; the answer is the harness's own");
    let answer = format!("The run reached its limit of {named} before the model could sum up.");
    Ok(Ending { reason: limit, finish: Finish::Length, answer })
}

/// One turn's request and its reply.
async fn ask(
    task: &mut Task<'_>,
    record: &mut Record,
    choice: ToolChoice,
    kind: Turn,
) -> Result<Reply, Stop> {
    let turn = record.tally().turns + 1;
    let (deadline, closing) = match kind {
        Turn::Working => (task.limits.work, false),
        Turn::Answering => (task.limits.end, false),
        Turn::Closing => (task.limits.end, true),
    };
    // Without tools every reply is the answer.
    let is_answer = !matches!(kind, Turn::Working) || task.offers.is_empty();
    record.ride(Event::TurnStarted { turn, closing });
    let mut is_first = true;
    let asking = Stopwatch::start();
    let mut reply = loop {
        let ask = Ask {
            model: task.model,
            conversation: &task.conversation,
            offers: task.offers,
            choice,
            extra: task.answer_extra.filter(|_| is_answer).unwrap_or(task.extra),
            output_limit: task.answer_limit.filter(|_| is_answer),
            deadline,
        };
        if std::mem::take(&mut is_first) {
            record.ride(Event::Asked { turn, bytes: ask.len_bytes() as u64 });
        }
        record.flush().await?;
        let mut retried = |reason: &str, wait: Duration| {
            let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
            record.ride(Event::Retried { turn, reason: reason.to_owned(), wait_ms });
        };
        match task.upstream.ask(ask, &mut retried).await {
            // Left as it is, every later request of the run would be refused for the same image.
            Err(err) if err.is_about_images() && task.conversation.drop_images() => {
                record.ride(Event::Retried { turn, reason: err.to_string(), wait_ms: 0 });
                record
                    .note("the upstream refused an image; the model was told so in words instead");
            }
            asked => break asked?,
        }
    };
    // A key that a tool's output carried in must not leave in the answer either.
    reply.text = record.redact(&reply.text);
    record.ride(Event::Replied {
        turn,
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        calls: reply.calls.clone(),
        finish: reply.finish,
        usage: reply.usage,
        elapsed_ms: asking.elapsed_ms(),
    });
    Ok(reply)
}
