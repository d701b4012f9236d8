//! Everything that can happen in a run: one closed list, and the states it leads through.
//!
//! The ledger stores these, listeners read them, and [`State::after`] alone says which may follow
//! which. Nothing here decides anything. Every text in an event was redacted before it got here.

use serde::{Deserialize, Serialize};

use crate::image::Image;
use crate::message::{Call, Finish, Message, Usage};

/// One thing that happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The run exists; nothing was asked yet.
    Started {
        /// The session it belongs to.
        session: String,
        /// The workspace's directory on this machine.
        workspace: String,
        /// The model that is asked, as the upstream knows it.
        model: String,
        /// The profile that speaks to it.
        profile: String,
        /// The conversation as it stood, system prompt included.
        conversation: Vec<Message>,
    },
    /// A turn begins: one reply, and what follows from it.
    TurnStarted {
        /// Counted from 1.
        turn: u32,
        /// True for the one turn after a limit, in which no tool may be called.
        closing: bool,
    },
    /// A request is about to be sent upstream.
    Asked {
        /// The turn it belongs to.
        turn: u32,
        /// Size of the request's body.
        bytes: u64,
    },
    /// An attempt failed and another follows; nothing of its reply was used.
    Retried {
        /// The turn it belongs to.
        turn: u32,
        /// What went wrong.
        reason: String,
        /// How long until the next attempt.
        wait_ms: u64,
    },
    /// The model replied, whole.
    Replied {
        /// The turn it belongs to.
        turn: u32,
        /// What it said.
        text: String,
        /// Reasoning, where shown.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// What it asked for.
        calls: Vec<Call>,
        /// Why it stopped.
        finish: Finish,
        /// None when the provider told nothing.
        usage: Option<Usage>,
        /// From sending the request to the last byte, retries included.
        elapsed_ms: u64,
    },
    /// A call passed validation and every guard, and is about to run.
    CallStarted {
        /// The turn it belongs to.
        turn: u32,
        /// The call's id.
        call_id: String,
        /// The tool that runs.
        tool: String,
        /// Exactly the text the tool gets.
        input: String,
        /// What was changed in the model's arguments to make them fit, one sentence each; nothing
        /// of what they say was lost.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mended: Vec<String>,
    },
    /// A line a tool shows to whoever watches.
    Progress {
        /// The call's id.
        call_id: String,
        /// One line.
        message: String,
    },
    /// What became of a call, run or not. Every proposed call has exactly one.
    CallEnded {
        /// The turn it belongs to.
        turn: u32,
        /// The call's id.
        call_id: String,
        /// The tool's name as proposed.
        tool: String,
        /// How it ended.
        ending: CallEnding,
        /// What the model reads.
        text: String,
        /// The pictures that the tool gave, each once in a run, whether the model was shown them or
        /// not; `text` says which it was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<Image>,
        /// One line for people.
        summary: String,
        /// Structured result for clients, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
        /// Of the command, if one ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_code: Option<i32>,
        /// Validation, guards and the tool together.
        elapsed_us: u64,
    },
    /// Something was downgraded or ignored; the client is told too.
    Note {
        /// One sentence.
        text: String,
    },
    /// The run is over. Always the last event.
    Ended {
        /// Why, in one stable word.
        reason: Reason,
        /// How the answer ended.
        #[serde(default)]
        finish: Finish,
        /// The answer; empty when the run failed.
        answer: String,
        /// What went wrong, for the client, when the run failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Sum over every upstream call.
        usage: Usage,
        /// Turns taken.
        turns: u32,
        /// Calls proposed.
        tool_calls: u32,
        /// From start to end.
        elapsed_ms: u64,
        /// Calls that were running when the process died; known only at the next start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        in_flight: Vec<String>,
    },
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum CallEnding {
    /// The tool did what was asked.
    Succeeded,
    /// The tool ran, or was about to, and said why it could not.
    Failed {
        /// The contract's word for the kind of failure.
        fault: String,
    },
    /// A guard refused the call; it did not run.
    Denied {
        /// The guard.
        guard: String,
        /// The guard's own name for the rule.
        rule: String,
    },
    /// Unknown tool, or arguments that do not parse or do not fit; it did not run.
    Invalid,
    /// The reply was cut inside its calls, or the run ended first; it did not run.
    NotRun,
    /// The plugin trapped, ran out of fuel, memory or time.
    Broken {
        /// The plugin.
        plugin: String,
        /// What happened, for people.
        cause: String,
    },
}

impl CallEnding {
    /// True when nothing ran: a guard, the schema or the harness itself said no.
    pub fn is_refusal(&self) -> bool {
        matches!(self, CallEnding::Denied { .. } | CallEnding::Invalid | CallEnding::NotRun)
    }
}

/// An event with its place in the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The run it belongs to.
    pub run: String,
    /// Counted from 1 within the run, without gaps.
    pub seq: u64,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// Why a run ended: one stable word in responses, ledger and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The model gave its answer.
    Completed,
    /// The turns were used up; the answer is the closing turn's.
    MaxTurns,
    /// The time was used up; the answer is the closing turn's.
    MaxSeconds,
    /// The tokens were used up; the answer is the closing turn's.
    MaxTokens,
    /// Three turns in a row in which every call was refused.
    Stuck,
    /// Neither text nor call, twice.
    EmptyReply,
    /// The client went away, or somebody stopped the run.
    Cancelled,
    /// The upstream could not be reached, broke off, or kept failing.
    UpstreamFailed,
    /// The upstream said no to the request itself.
    UpstreamRefused,
    /// A fault of the harness itself.
    Internal,
    /// The process died while it ran; written at the next start.
    Interrupted,
}

impl Reason {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Completed => "completed",
            Reason::MaxTurns => "max-turns",
            Reason::MaxSeconds => "max-seconds",
            Reason::MaxTokens => "max-tokens",
            Reason::Stuck => "stuck",
            Reason::EmptyReply => "empty-reply",
            Reason::Cancelled => "cancelled",
            Reason::UpstreamFailed => "upstream-failed",
            Reason::UpstreamRefused => "upstream-refused",
            Reason::Internal => "internal",
            Reason::Interrupted => "interrupted",
        }
    }

    /// The state a run is in once it ended for this reason.
    pub fn state(self) -> State {
        match self {
            Reason::Completed => State::Completed,
            Reason::MaxTurns | Reason::MaxSeconds | Reason::MaxTokens => State::BudgetExhausted,
            Reason::Cancelled => State::Cancelled,
            Reason::Stuck
            | Reason::EmptyReply
            | Reason::UpstreamFailed
            | Reason::UpstreamRefused
            | Reason::Internal
            | Reason::Interrupted => State::Failed,
        }
    }
}

/// Where a run is. Derived from its events, never stored apart from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing was done yet.
    #[default]
    Created,
    /// A turn began; the request is being put together.
    PreparingContext,
    /// The request is with the upstream.
    WaitingForModel,
    /// Calls are validated and judged.
    ReviewingAction,
    /// A tool runs.
    ExecutingTool,
    /// It gave its answer.
    Completed,
    /// It could not go on.
    Failed,
    /// It was stopped.
    Cancelled,
    /// It came to a limit and gave what it had.
    BudgetExhausted,
}

/// An event that may not happen in that state: a fault of the harness.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event `{event}` may not follow in state {state:?}")]
pub struct IllegalTransition {
    /// Where the run was.
    pub state: State,
    /// What came.
    pub event: &'static str,
}

impl State {
    /// True once the run is over.
    pub fn is_final(self) -> bool {
        matches!(self, State::Completed | State::Failed | State::Cancelled | State::BudgetExhausted)
    }

    /// The state after `event`. The one place that knows which event may follow which.
    pub fn after(self, event: &Event) -> Result<State, IllegalTransition> {
        use State::{Created, ExecutingTool, PreparingContext, ReviewingAction, WaitingForModel};
        let next = match (self, event) {
            (state, _) if state.is_final() => None,
            (Created, Event::Started { .. }) => Some(Created),
            // From waiting: the time for work ran out before the model replied; the closing turn.
            (Created | ReviewingAction | WaitingForModel, Event::TurnStarted { .. }) => {
                Some(PreparingContext)
            }
            (PreparingContext, Event::Asked { .. }) => Some(WaitingForModel),
            (WaitingForModel, Event::Retried { .. }) => Some(WaitingForModel),
            (WaitingForModel, Event::Replied { .. }) => Some(ReviewingAction),
            (ReviewingAction | ExecutingTool, Event::CallStarted { .. }) => Some(ExecutingTool),
            (ReviewingAction | ExecutingTool, Event::CallEnded { .. }) => Some(ReviewingAction),
            (state, Event::Progress { .. } | Event::Note { .. }) => Some(state),
            (_, Event::Ended { reason, .. }) => Some(reason.state()),
            _ => None,
        };
        next.ok_or(IllegalTransition { state: self, event: event.name() })
    }
}

impl Event {
    /// The event's name, as in its JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            Event::Started { .. } => "started",
            Event::TurnStarted { .. } => "turn-started",
            Event::Asked { .. } => "asked",
            Event::Retried { .. } => "retried",
            Event::Replied { .. } => "replied",
            Event::CallStarted { .. } => "call-started",
            Event::Progress { .. } => "progress",
            Event::CallEnded { .. } => "call-ended",
            Event::Note { .. } => "note",
            Event::Ended { .. } => "ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [State; 9] = [
        State::Created,
        State::PreparingContext,
        State::WaitingForModel,
        State::ReviewingAction,
        State::ExecutingTool,
        State::Completed,
        State::Failed,
        State::Cancelled,
        State::BudgetExhausted,
    ];

    const REASONS: [(Reason, State); 11] = [
        (Reason::Completed, State::Completed),
        (Reason::MaxTurns, State::BudgetExhausted),
        (Reason::MaxSeconds, State::BudgetExhausted),
        (Reason::MaxTokens, State::BudgetExhausted),
        (Reason::Stuck, State::Failed),
        (Reason::EmptyReply, State::Failed),
        (Reason::Cancelled, State::Cancelled),
        (Reason::UpstreamFailed, State::Failed),
        (Reason::UpstreamRefused, State::Failed),
        (Reason::Internal, State::Failed),
        (Reason::Interrupted, State::Failed),
    ];

    /// One event of every name, in the order of the list above.
    fn one_of_each() -> Vec<Event> {
        let word = || "x".to_owned();
        vec![
            Event::Started {
                session: word(),
                workspace: word(),
                model: word(),
                profile: word(),
                conversation: Vec::new(),
            },
            Event::TurnStarted { turn: 1, closing: false },
            Event::Asked { turn: 1, bytes: 1 },
            Event::Retried { turn: 1, reason: word(), wait_ms: 1 },
            Event::Replied {
                turn: 1,
                text: word(),
                reasoning: String::new(),
                calls: Vec::new(),
                finish: Finish::Stop,
                usage: None,
                elapsed_ms: 1,
            },
            Event::CallStarted {
                turn: 1,
                call_id: word(),
                tool: word(),
                input: word(),
                mended: Vec::new(),
            },
            Event::Progress { call_id: word(), message: word() },
            Event::CallEnded {
                turn: 1,
                call_id: word(),
                tool: word(),
                ending: CallEnding::Denied { guard: word(), rule: word() },
                text: word(),
                images: Vec::new(),
                summary: word(),
                data: None,
                exit_code: None,
                elapsed_us: 1,
            },
            Event::Note { text: word() },
            ended(Reason::Completed),
        ]
    }

    fn ended(reason: Reason) -> Event {
        Event::Ended {
            reason,
            finish: Finish::Stop,
            answer: String::new(),
            error: None,
            usage: Usage::default(),
            turns: 1,
            tool_calls: 0,
            elapsed_ms: 1,
            in_flight: Vec::new(),
        }
    }

    #[test]
    fn every_event_in_every_state() {
        // One row for each state, one letter for each event of `one_of_each`: where it leads, as
        // the first letter of the state, or a dot where it may not happen.
        let expected = [
            "CP....C.CF",
            "..W...P.PF",
            ".P.WR.W.WF",
            ".P...ERRRF",
            ".....EEREF",
            "..........",
            "..........",
            "..........",
            "..........",
        ];
        let letter = |state| match state {
            State::Created => 'C',
            State::PreparingContext => 'P',
            State::WaitingForModel => 'W',
            State::ReviewingAction => 'R',
            State::ExecutingTool => 'E',
            State::Completed => 'F',
            other => panic!("no event here leads to {other:?}"),
        };
        for (state, expected) in STATES.into_iter().zip(expected) {
            let row: String =
                one_of_each().iter().map(|event| state.after(event).map_or('.', letter)).collect();
            assert_eq!(row, expected, "{state:?}");
        }
    }

    #[test]
    fn every_reason_leads_to_its_state_and_nothing_follows() {
        for (reason, state) in REASONS {
            assert!(state.is_final());
            assert_eq!(State::WaitingForModel.after(&ended(reason)), Ok(state));
            for event in one_of_each() {
                let refused = IllegalTransition { state, event: event.name() };
                assert_eq!(state.after(&event), Err(refused));
            }
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }

    #[test]
    fn a_whole_run_is_legal() {
        let mut walk = one_of_each();
        let (call_started, call_ended) = (walk[5].clone(), walk[7].clone());
        // A second call in the same turn that was refused, and two at the same time.
        let more = [&call_ended, &call_started, &call_started, &call_ended, &call_ended];
        let turn: Vec<Event> = [walk[1].clone(), walk[2].clone(), walk[4].clone()].into();
        walk.splice(8..8, more.into_iter().cloned().chain(turn));
        let end = walk.iter().try_fold(State::default(), |state, event| state.after(event));
        assert_eq!(end, Ok(State::Completed));
    }

    #[test]
    fn an_event_survives_its_json_and_is_named_alike() {
        for event in one_of_each() {
            let recorded = Recorded { run: "r".to_owned(), seq: 3, at_ms: 4, event };
            let json = serde_json::to_value(&recorded).unwrap();
            assert_eq!(json["event"], recorded.event.name());
            assert_eq!(serde_json::from_value::<Recorded>(json).unwrap(), recorded);
        }
    }
}
