//! One reply's calls: validated, judged, run, answered, in that order and each exactly once.
//!
//! A call that does not run is answered like one that does: the model reads why, and the loop
//! lives. Calls that only read run side by side; anything else runs alone and in its place. A call
//! is on record before it runs.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use super::past::{Ended, Past};
use super::{Stop, Task};
use crate::deadline::{Deadline, Stopwatch};
use crate::event::{CallEnding, Event};
use crate::message::{Call, CallOutcome, Finish};
use crate::nearest::nearest;
use crate::plugin::{End, Input, Line, Ran, Tool, Workspace};
use crate::record::Record;
use crate::session::Session;
use crate::wit::{self, Fault, FaultKind, Proposal};

/// What came of a reply's calls.
pub(super) struct Acted {
    /// One for each call, in order.
    pub(super) outcomes: Vec<CallOutcome>,
    /// The last refusal's text, when every call was refused.
    pub(super) last_refusal: Option<String>,
}

/// A call that passed its checks.
struct Ready {
    tool: Tool,
    input: Input,
    call: wit::Call,
    /// The same call as the one before: what it changes is worth a look.
    is_repeat: bool,
}

/// What is told of a call once it is over.
struct Told {
    ending: CallEnding,
    text: String,
    summary: String,
    data: Option<String>,
    exit_code: Option<i32>,
}

/// Takes every call of a reply to its outcome.
pub(super) async fn act(
    task: &Task<'_>,
    record: &mut Record,
    past: &mut Past,
    calls: &[Call],
    finish: Finish,
) -> Result<Acted, Stop> {
    let turn = record.tally().turns;
    let mut acted = Vec::with_capacity(calls.len());
    let mut rest = calls;
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch_length(task, rest));
        rest = later;
        let mut reviewed = Vec::with_capacity(batch.len());
        for call in batch {
            let watch = Stopwatch::start();
            let verdict = match finish {
                Finish::Length => Err(cut_off()),
                _ => review(task, past, call, turn).await,
            };
            reviewed.push((call, watch, verdict));
        }
        run_batch(task, record, past, turn, reviewed, &mut acted).await?;
    }
    let all_refused = acted.iter().all(|(_, refused)| *refused);
    let outcomes: Vec<CallOutcome> = acted.into_iter().map(|(outcome, _)| outcome).collect();
    let last_refusal = outcomes.last().filter(|_| all_refused).map(|last| last.text.clone());
    Ok(Acted { outcomes, last_refusal })
}

/// How many of the next calls may run side by side: reads, up to the limit; else one.
fn batch_length(task: &Task<'_>, calls: &[Call]) -> usize {
    let only_reads = |call: &&Call| task.plugins.tool(&call.tool).is_some_and(Tool::only_reads);
    calls.iter().take(task.parallel_reads).take_while(only_reads).count().max(1)
}

/// Validation, then the guards; the first refusal wins.
async fn review(task: &Task<'_>, past: &Past, call: &Call, turn: u32) -> Result<Ready, Told> {
    if task.offers.is_empty() {
        return Err(invalid("no tools are offered in this run, nothing was done".to_owned()));
    }
    let Some(tool) = task.plugins.tool(&call.tool) else {
        return Err(invalid(unknown_tool(task, &call.tool)));
    };
    let input = tool.check(&call.arguments).map_err(invalid)?;
    let is_repeat = past.is_repeat(&call.tool, &input.digest);
    if is_repeat && !tool.only_reads() {
        task.session.changes.look_before(&task.session.workspace);
    }
    let call = wit::Call {
        id: call.id.clone(),
        tool: call.tool.clone(),
        input: input.text.clone(),
        turn,
        remaining_ms: task.limits.work.left_ms(),
    };
    let mut proposal = Proposal {
        call: call.clone(),
        input_digest: input.digest.clone(),
        effects: tool.spec().effects,
        timeout_ms: input.timeout_ms,
        earlier: past.told(task.session.changes.count()),
        config: String::new(),
        extra: None,
    };
    for guard in task.plugins.guards() {
        if let Some(refused) = guard.check(&mut proposal).await {
            return Err(Told {
                text: format!(
                    "refused by guard `{}` (rule `{}`), nothing was done: {}",
                    refused.guard, refused.rule, refused.reason
                ),
                summary: format!("refused by {}: {}", refused.guard, refused.rule),
                ending: CallEnding::Denied { guard: refused.guard, rule: refused.rule },
                data: None,
                exit_code: None,
            });
        }
    }
    Ok(Ready { tool: tool.clone(), input, call, is_repeat })
}

/// Runs what is ready, side by side, and answers every call of the batch in order.
async fn run_batch(
    task: &Task<'_>,
    record: &mut Record,
    past: &mut Past,
    turn: u32,
    reviewed: Vec<(&Call, Stopwatch, Result<Ready, Told>)>,
    acted: &mut Vec<(CallOutcome, bool)>,
) -> Result<(), Stop> {
    for (_, _, verdict) in &reviewed {
        if let Ok(ready) = verdict {
            record.ride(Event::CallStarted {
                turn,
                call_id: ready.call.id.clone(),
                tool: ready.call.tool.clone(),
                input: ready.call.input.clone(),
            });
            for mended in &ready.input.mended {
                let tool = &ready.call.tool;
                record.ride(Event::Progress {
                    call_id: ready.call.id.clone(),
                    message: format!("arguments of `{tool}`: {mended}"),
                });
            }
        }
    }
    if reviewed.iter().any(|(_, _, verdict)| verdict.is_ok()) {
        record.flush().await?;
    }
    let (lines, mut progress) = unbounded_channel();
    let mut running: FuturesOrdered<_> = reviewed
        .into_iter()
        .map(|(call, watch, verdict)| {
            let lines = lines.clone();
            async move {
                let (told, digest, input) = match verdict {
                    Err(told) => (told, blake3_hex(&call.arguments), call.arguments.clone()),
                    Ok(ready) => {
                        let told = run_one(task, &ready, lines).await;
                        (told, ready.input.digest, ready.input.text)
                    }
                };
                (call, watch.elapsed_us(), told, digest, input)
            }
        })
        .collect();
    drop(lines);
    while let Some((call, elapsed_us, told, digest, input)) =
        next_ended(&mut running, &mut progress, record).await?
    {
        let text = record.redact(&told.text);
        let refused = told.ending.is_refusal();
        let ended = Ended {
            tool: &call.tool,
            input: &input,
            digest: &digest,
            refused,
            succeeded: told.ending == CallEnding::Succeeded,
            exit_code: told.exit_code,
            text: &text,
        };
        past.push(&ended, task.session.changes.count());
        record.ride(Event::CallEnded {
            turn,
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            ending: told.ending,
            text: text.clone(),
            summary: told.summary,
            data: told.data,
            exit_code: told.exit_code,
            elapsed_us,
        });
        acted.push((CallOutcome { call_id: call.id.clone(), text }, refused));
    }
    Ok(())
}

/// The next call that is over, in order; meanwhile what tools show is put on record.
async fn next_ended<F: Future>(
    running: &mut FuturesOrdered<F>,
    progress: &mut UnboundedReceiver<Line>,
    record: &mut Record,
) -> Result<Option<F::Output>, Stop> {
    loop {
        tokio::select! {
            biased;
            Some(line) = progress.recv() => {
                record.ride(shown(line));
                record.flush().await?;
            }
            ended = running.next() => {
                // Calls run in tasks of their own: the last lines may have come since they were
                // looked for, and belong before the end.
                while let Ok(line) = progress.try_recv() {
                    record.ride(shown(line));
                }
                return Ok(ended);
            }
        }
    }
}

fn shown(Line { call_id, message }: Line) -> Event {
    Event::Progress { call_id, message }
}

/// One call, run; what it changed is counted.
async fn run_one(task: &Task<'_>, ready: &Ready, lines: UnboundedSender<Line>) -> Told {
    let Session { workspace, changes, .. } = task.session;
    let ran = run_tool(ready, workspace, task.limits.work, lines).await;
    match (ran.executed, ready.is_repeat) {
        (true, true) => changes.look(workspace),
        (true, false) => changes.changed(),
        (false, _) if ran.altered => changes.changed(),
        (false, _) => {}
    }
    match ran.end {
        End::Outcome(told) => Told {
            ending: CallEnding::Succeeded,
            text: told.text,
            summary: told.summary,
            data: told.data,
            exit_code: told.exit_code,
        },
        End::Fault(fault) => Told {
            ending: CallEnding::Failed { fault: word(fault.kind).to_owned() },
            summary: format!("{}: {}", word(fault.kind), first_line(&fault.message)),
            text: fault_text(&fault),
            data: None,
            exit_code: None,
        },
        End::Broken(breakage) => Told {
            text: breakage.for_model(),
            summary: breakage.to_string(),
            ending: CallEnding::Broken { plugin: breakage.plugin.clone(), cause: breakage.what() },
            data: None,
            exit_code: None,
        },
    }
}

/// In a task of its own, so that reads really run side by side and a panic of an import ends the
/// call and not the run. Dropped with its call.
async fn run_tool(
    ready: &Ready,
    workspace: &Arc<Workspace>,
    deadline: Deadline,
    lines: UnboundedSender<Line>,
) -> Ran {
    let (tool, call, workspace) = (ready.tool.clone(), ready.call.clone(), workspace.clone());
    let running = tokio::spawn(async move { tool.run(&call, &workspace, deadline, lines).await });
    match AbortOnDropHandle::new(running).await {
        Ok(ran) => ran,
        Err(err) => Ran::panicked(ready.tool.plugin(), &err.to_string()),
    }
}

fn invalid(text: String) -> Told {
    Told {
        ending: CallEnding::Invalid,
        summary: first_line(&text).to_owned(),
        text,
        data: None,
        exit_code: None,
    }
}

fn cut_off() -> Told {
    Told {
        ending: CallEnding::NotRun,
        text: "not executed: the reply reached the output limit in the middle of its calls, so \
               none of them was run.\n\
               hint: do it in smaller parts, for example several shorter edits"
            .to_owned(),
        summary: "cut off by the output limit, not executed".to_owned(),
        data: None,
        exit_code: None,
    }
}

fn unknown_tool(task: &Task<'_>, name: &str) -> String {
    let names = || task.plugins.tools().iter().map(|tool| tool.spec().name.as_str());
    // A blank name comes from a model that copies call syntax it saw somewhere; a list of all
    // tools only feeds that.
    if name.trim().is_empty() {
        return "the call has no tool name, nothing was done".to_owned();
    }
    let shown: String = name.chars().take(64).collect();
    let meant = nearest(&shown, names());
    let meant = meant.map(|meant| format!(", did you mean `{meant}`?")).unwrap_or_default();
    let all: Vec<&str> = names().collect();
    format!(
        "there is no tool `{shown}`, nothing was done{meant}\nhint: the tools are `{}`",
        all.join("`, `")
    )
}

fn fault_text(fault: &Fault) -> String {
    match &fault.hint {
        Some(hint) => format!("error: {}\nhint: {hint}", fault.message),
        None => format!("error: {}", fault.message),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn blake3_hex(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// The contract's word for a kind of fault.
fn word(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::InvalidInput => "invalid-input",
        FaultKind::NotFound => "not-found",
        FaultKind::Denied => "denied",
        FaultKind::Conflict => "conflict",
        FaultKind::TooLarge => "too-large",
        FaultKind::TimedOut => "timed-out",
        FaultKind::Cancelled => "cancelled",
        FaultKind::Unavailable => "unavailable",
        FaultKind::Unsupported => "unsupported",
        FaultKind::Failed => "failed",
    }
}
