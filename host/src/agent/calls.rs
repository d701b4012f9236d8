//! One reply's calls: validated, judged, run, answered, in that order and each exactly once.
//!
//! A call that does not run is answered like one that does: the model reads why, and the loop
//! lives. Calls that only read run side by side; anything else runs alone and in its place. A call
//! is on record before it runs.

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::task::AbortOnDropHandle;

use super::gallery::{Gallery, Hung};
use super::past::{Ended, Past};
use super::{Stop, Task};
use crate::deadline::Stopwatch;
use crate::error::{fault_text, fault_word};
use crate::event::{CallEnding, Event};
use crate::image::Image;
use crate::message::{Call, CallOutcome, Finish};
use crate::nearest::nearest;
use crate::plugin::{End, Input, Line, Ran, Refused, Tool, ends_early};
use crate::record::Record;
use crate::session::Session;
use crate::wit::{self, Proposal};

/// What came of a reply's calls.
pub(super) struct Acted {
    /// One for each call, in order.
    pub(super) outcomes: Vec<CallOutcome>,
    /// The last refusal's text, when every call was refused.
    pub(super) last_refusal: Option<String>,
    /// Every call was refused because the reply was cut inside it, or before its end.
    pub(super) was_cut: bool,
}

/// A call after its review.
struct Reviewed<'a> {
    call: &'a Call,
    running: Stopwatch,
    /// Canonical, with its digest; as it came, when it never fitted.
    input: String,
    digest: String,
    verdict: Result<Ready, Box<Settled>>,
}

/// A call that passed its checks.
struct Ready {
    tool: Tool,
    mended: Vec<String>,
    call: wit::Call,
    /// The same call as the one before: what it changes is worth a look.
    is_repeat: bool,
}

/// What is told of a call once it is over.
struct Settled {
    ending: CallEnding,
    text: String,
    images: Vec<Image>,
    summary: String,
    data: Option<String>,
    exit_code: Option<i32>,
}

/// Takes every call of a reply to its outcome.
pub(super) async fn act(
    task: &Task<'_>,
    record: &mut Record,
    past: &mut Past,
    gallery: &mut Gallery,
    calls: &[Call],
    finish: Finish,
) -> Result<Acted, Stop> {
    let turn = record.tally().turns;
    let outcomes = Vec::with_capacity(calls.len());
    let mut acted = Acted { outcomes, last_refusal: None, was_cut: false };
    let mut ran = false;
    let mut batch: Vec<Reviewed<'_>> = Vec::new();
    for call in calls {
        let running = Stopwatch::start();
        let fitted = fit(task, call, finish);
        if !may_join(&batch, &fitted, task.parallel_reads) {
            let batch = std::mem::take(&mut batch);
            ran |= run_batch(task, record, past, gallery, turn, batch, &mut acted).await?;
        }
        batch.push(judge(task, past, call, running, fitted, turn).await);
    }
    ran |= run_batch(task, record, past, gallery, turn, batch, &mut acted).await?;
    let last = acted.outcomes.last().filter(|_| !ran);
    acted.last_refusal = last.map(|last| last.text.clone());
    let is_cut = |call: &Call| {
        let is_told = matches!(finish, Finish::Length | Finish::ContentFilter);
        is_told || (!call.arguments.trim().is_empty() && ends_early(&call.arguments))
    };
    acted.was_cut = !ran && calls.iter().all(is_cut);
    Ok(acted)
}

/// Whether a call may run beside those of the batch: all of them only read, and none is the same,
/// since guards are told of the calls before and not of those beside.
fn may_join(
    batch: &[Reviewed<'_>],
    fitted: &Result<(Tool, Input), Box<Settled>>,
    parallel_reads: usize,
) -> bool {
    let Ok((tool, input)) = fitted else { return batch.is_empty() };
    let beside = |other: &Reviewed<'_>| {
        let is_read = other.verdict.as_ref().is_ok_and(|ready| ready.tool.only_reads());
        is_read && (other.call.tool != tool.spec().name || other.digest != input.digest)
    };
    let joins = tool.only_reads() && batch.len() < parallel_reads && batch.iter().all(beside);
    batch.is_empty() || joins
}

/// Whether a call names a tool there is, with arguments that fit.
fn fit(task: &Task<'_>, call: &Call, finish: Finish) -> Result<(Tool, Input), Box<Settled>> {
    match finish {
        Finish::Length => return Err(cut_off("reached the output limit")),
        Finish::ContentFilter => return Err(cut_off("was cut by the provider's content filter")),
        Finish::Stop | Finish::ToolCalls => {}
    }
    if task.offers.is_empty() {
        return Err(invalid("no tools are offered in this run, nothing was done".to_owned()));
    }
    let Some(tool) = task.plugins.tool(&call.tool) else {
        return Err(invalid(unknown_tool(task, &call.tool)));
    };
    let input = tool.check(&call.arguments).map_err(invalid)?;
    Ok((tool.clone(), input))
}

/// The guards' verdict on a call that fits; the first refusal wins.
async fn judge<'a>(
    task: &Task<'_>,
    past: &Past,
    call: &'a Call,
    running: Stopwatch,
    fitted: Result<(Tool, Input), Box<Settled>>,
    turn: u32,
) -> Reviewed<'a> {
    let (tool, input) = match fitted {
        Ok(fitting) => fitting,
        Err(told) => {
            let input = call.arguments.clone();
            let digest = blake3::hash(input.as_bytes()).to_hex().to_string();
            return Reviewed { call, running, input, digest, verdict: Err(told) };
        }
    };
    let Session { workspace, changes, .. } = task.session;
    let is_repeat = past.is_repeat(&call.tool, &input.digest);
    if is_repeat && !tool.only_reads() {
        changes.look_before(workspace);
    }
    let mut proposal = Proposal {
        call: wit::Call {
            id: call.id.clone(),
            tool: call.tool.clone(),
            input: input.text.clone(),
            turn,
            remaining_ms: task.limits.work.left_ms(),
        },
        input_digest: input.digest.clone(),
        effects: tool.spec().effects,
        paths: workspace.destinations(&input.paths),
        timeout_ms: input.timeout_ms,
        earlier: past.told(changes.count()),
        config: String::new(),
        extra: None,
    };
    let verdict = match crate::plugin::judge(task.plugins.guards(), &mut proposal).await {
        Some(refused) => Err(denied(refused)),
        None => Ok(Ready { tool, mended: input.mended, call: proposal.call, is_repeat }),
    };
    Reviewed { call, running, input: input.text, digest: input.digest, verdict }
}

/// Runs what passed, side by side, and answers every call of the batch in order. True when
/// anything ran.
async fn run_batch(
    task: &Task<'_>,
    record: &mut Record,
    past: &mut Past,
    gallery: &mut Gallery,
    turn: u32,
    batch: Vec<Reviewed<'_>>,
    acted: &mut Acted,
) -> Result<bool, Stop> {
    let mut ran = false;
    for ready in batch.iter().filter_map(|reviewed| reviewed.verdict.as_ref().ok()) {
        ran = true;
        let wit::Call { id, tool, input, .. } = &ready.call;
        if ready.tool.executes() {
            record.audit_command(id, tool, input).map_err(Stop::Audit)?;
        }
        record.ride(Event::CallStarted {
            turn,
            call_id: id.clone(),
            tool: tool.clone(),
            input: input.clone(),
            mended: ready.mended.clone(),
        });
    }
    if ran {
        record.flush().await?;
    }
    let (lines, mut progress) = unbounded_channel();
    let mut running: FuturesOrdered<_> = batch
        .into_iter()
        .map(|reviewed| {
            let lines = lines.clone();
            async move {
                let Reviewed { call, running, input, digest, verdict } = reviewed;
                let told = match verdict {
                    Err(told) => *told,
                    Ok(ready) => run_one(task, &ready, lines).await,
                };
                (call, running.elapsed_us(), input, digest, told)
            }
        })
        .collect();
    drop(lines);
    while let Some((call, elapsed_us, input, digest, told)) =
        next_ended(&mut running, &mut progress, record).await?
    {
        let conversation = &task.conversation;
        let Hung { lines, shown, kept } =
            gallery.hang(told.images, conversation.quirks(), conversation.is_refused_images());
        let text = [told.text].into_iter().filter(|text| !text.is_empty()).chain(lines);
        let text = record.redact(&text.collect::<Vec<_>>().join("\n"));
        let ended = Ended {
            tool: &call.tool,
            input: &input,
            digest: &digest,
            refused: told.ending.is_refusal(),
            succeeded: told.ending == CallEnding::Succeeded,
            exit_code: told.exit_code,
            text: &text,
        };
        past.push(&ended, task.session.changes.count());
        record.keep_before(task.session.workspace.take_changed());
        record.keep_observations(task.session.workspace.take_seen());
        record.ride(Event::CallEnded {
            turn,
            call_id: call.id.clone(),
            tool: call.tool.clone(),
            ending: told.ending,
            text: text.clone(),
            images: kept,
            summary: told.summary,
            data: told.data,
            exit_code: told.exit_code,
            elapsed_us,
        });
        acted.outcomes.push(CallOutcome { call_id: call.id.clone(), text, images: shown });
    }
    Ok(ran)
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
async fn run_one(task: &Task<'_>, ready: &Ready, lines: UnboundedSender<Line>) -> Settled {
    let Session { workspace, changes, .. } = task.session;
    let ran = run_tool(task, ready, lines).await;
    match (ran.executed, ready.is_repeat) {
        (true, true) => changes.look(workspace),
        (true, false) => changes.changed(),
        (false, _) if ran.altered => changes.changed(),
        (false, _) => {}
    }
    match ran.end {
        End::Outcome(told) => Settled {
            ending: CallEnding::Succeeded,
            text: told.text,
            images: told.images,
            summary: told.summary,
            data: told.data,
            exit_code: told.exit_code,
        },
        End::Fault(fault) => Settled {
            ending: CallEnding::Failed { fault: fault_word(fault.kind).to_owned() },
            summary: format!("{}: {}", fault_word(fault.kind), first_line(&fault.message)),
            text: fault_text(&fault),
            images: Vec::new(),
            data: None,
            exit_code: None,
        },
        End::Broken(breakage) => Settled {
            text: breakage.for_model(),
            images: Vec::new(),
            summary: breakage.to_string(),
            ending: CallEnding::Broken { plugin: breakage.plugin.clone(), cause: breakage.what() },
            data: None,
            exit_code: None,
        },
    }
}

/// In a task of its own, so that reads really run side by side and a panic of an import ends the
/// call and not the run. Dropped with its call; the run waits for what cannot be dropped at once.
async fn run_tool(task: &Task<'_>, ready: &Ready, lines: UnboundedSender<Line>) -> Ran {
    let (tool, call) = (ready.tool.clone(), ready.call.clone());
    let (workspace, deadline) = (task.session.workspace.clone(), task.limits.work);
    let running =
        task.running.spawn(async move { tool.run(&call, &workspace, deadline, lines).await });
    match AbortOnDropHandle::new(running).await {
        Ok(ran) => ran,
        Err(err) => Ran::panicked(ready.tool.plugin(), &err.to_string()),
    }
}

fn invalid(text: String) -> Box<Settled> {
    Box::new(Settled {
        ending: CallEnding::Invalid,
        summary: first_line(&text).to_owned(),
        text,
        images: Vec::new(),
        data: None,
        exit_code: None,
    })
}

fn denied(refused: Refused) -> Box<Settled> {
    let Refused { guard, rule, reason } = refused;
    Box::new(Settled {
        text: format!("refused by guard `{guard}` (rule `{rule}`), nothing was done: {reason}"),
        images: Vec::new(),
        summary: format!("refused by {guard}: {rule}"),
        ending: CallEnding::Denied { guard, rule },
        data: None,
        exit_code: None,
    })
}

fn cut_off(how: &str) -> Box<Settled> {
    Box::new(Settled {
        ending: CallEnding::NotRun,
        text: format!(
            "not executed: the reply {how} in the middle of its calls, so none of them was run.\n\
             hint: do it in smaller parts, for example several shorter edits"
        ),
        images: Vec::new(),
        summary: format!("not executed: the reply {how}"),
        data: None,
        exit_code: None,
    })
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

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
