//! Redaction of a whole event: every text of every variant, ids and names included.
//!
//! Nothing is spelled with `..` here, so that a new variant or field does not compile until it is
//! covered. The same text always becomes the same text: references between events still hold.

use super::Redactor;
use crate::event::{CallEnding, Event};
use crate::message::{Call, CallOutcome, Message};

impl Redactor {
    /// `event` with every secret in it replaced.
    pub fn redact_event(&self, event: Event) -> Event {
        let text = |text: String| self.redact_owned(text);
        match event {
            Event::Started { session, workspace, model, profile, conversation } => Event::Started {
                session: text(session),
                workspace: text(workspace),
                model: text(model),
                profile: text(profile),
                conversation: conversation
                    .into_iter()
                    .map(|one| self.redact_message(one))
                    .collect(),
            },
            Event::TurnStarted { turn, closing } => Event::TurnStarted { turn, closing },
            Event::Asked { turn, bytes } => Event::Asked { turn, bytes },
            Event::Retried { turn, reason, wait_ms } => {
                Event::Retried { turn, reason: text(reason), wait_ms }
            }
            Event::Replied { turn, text: said, reasoning, calls, finish, usage, elapsed_ms } => {
                Event::Replied {
                    turn,
                    text: text(said),
                    reasoning: text(reasoning),
                    calls: self.redact_calls(calls),
                    finish,
                    usage,
                    elapsed_ms,
                }
            }
            Event::CallStarted { turn, call_id, tool, input, mended } => Event::CallStarted {
                turn,
                call_id: text(call_id),
                tool: text(tool),
                input: text(input),
                mended: mended.into_iter().map(text).collect(),
            },
            Event::Progress { call_id, message } => {
                Event::Progress { call_id: text(call_id), message: text(message) }
            }
            Event::CallEnded {
                turn,
                call_id,
                tool,
                ending,
                text: shown,
                images,
                summary,
                data,
                exit_code,
                elapsed_us,
            } => Event::CallEnded {
                turn,
                call_id: text(call_id),
                tool: text(tool),
                ending: self.redact_ending(ending),
                text: text(shown),
                // Pixels are no text: what they show cannot be looked through.
                images,
                summary: text(summary),
                data: data.map(text),
                exit_code,
                elapsed_us,
            },
            Event::Note { text: note } => Event::Note { text: text(note) },
            Event::Ended {
                reason,
                finish,
                answer,
                error,
                usage,
                turns,
                tool_calls,
                elapsed_ms,
                in_flight,
            } => Event::Ended {
                reason,
                finish,
                answer: text(answer),
                error: error.map(text),
                usage,
                turns,
                tool_calls,
                elapsed_ms,
                in_flight: in_flight.into_iter().map(text).collect(),
            },
        }
    }

    /// `message` with every secret in it replaced.
    pub fn redact_message(&self, message: Message) -> Message {
        let text = |text: String| self.redact_owned(text);
        match message {
            Message::System { text: said } => Message::System { text: text(said) },
            Message::User { text: said } => Message::User { text: text(said) },
            Message::Assistant { text: said, calls } => {
                Message::Assistant { text: text(said), calls: self.redact_calls(calls) }
            }
            Message::Outcomes { outcomes } => Message::Outcomes {
                outcomes: outcomes
                    .into_iter()
                    .map(|CallOutcome { call_id, text: shown, images }| CallOutcome {
                        call_id: text(call_id),
                        text: text(shown),
                        images,
                    })
                    .collect(),
            },
        }
    }

    fn redact_calls(&self, calls: Vec<Call>) -> Vec<Call> {
        let text = |text: String| self.redact_owned(text);
        calls
            .into_iter()
            .map(|Call { id, tool, arguments }| Call {
                id: text(id),
                tool: text(tool),
                arguments: text(arguments),
            })
            .collect()
    }

    fn redact_ending(&self, ending: CallEnding) -> CallEnding {
        let text = |text: String| self.redact_owned(text);
        match ending {
            CallEnding::Succeeded => CallEnding::Succeeded,
            CallEnding::Failed { fault } => CallEnding::Failed { fault: text(fault) },
            CallEnding::Denied { guard, rule } => {
                CallEnding::Denied { guard: text(guard), rule: text(rule) }
            }
            CallEnding::Invalid => CallEnding::Invalid,
            CallEnding::NotRun => CallEnding::NotRun,
            CallEnding::Broken { plugin, cause } => {
                CallEnding::Broken { plugin: text(plugin), cause: text(cause) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Reason;
    use crate::message::{Finish, Usage};

    const SECRET: &str = "sk-abcdefgh";

    /// Every variant with the secret in every text, and the number of texts.
    fn samples() -> Vec<(Event, usize)> {
        let leak = || format!("<{SECRET}>");
        let call = || Call { id: leak(), tool: leak(), arguments: leak() };
        let ended = |ending| Event::CallEnded {
            turn: 1,
            call_id: leak(),
            tool: leak(),
            ending,
            text: leak(),
            images: Vec::new(),
            summary: leak(),
            data: Some(leak()),
            exit_code: Some(1),
            elapsed_us: 1,
        };
        let conversation = vec![
            Message::System { text: leak() },
            Message::User { text: leak() },
            Message::Assistant { text: leak(), calls: vec![call()] },
            Message::Outcomes {
                outcomes: vec![CallOutcome { call_id: leak(), text: leak(), images: vec![] }],
            },
        ];
        vec![
            (
                Event::Started {
                    session: leak(),
                    workspace: leak(),
                    model: leak(),
                    profile: leak(),
                    conversation,
                },
                12,
            ),
            (Event::TurnStarted { turn: 1, closing: true }, 0),
            (Event::Asked { turn: 1, bytes: 2 }, 0),
            (Event::Retried { turn: 1, reason: leak(), wait_ms: 2 }, 1),
            (
                Event::Replied {
                    turn: 1,
                    text: leak(),
                    reasoning: leak(),
                    calls: vec![call(), call()],
                    finish: Finish::ToolCalls,
                    usage: None,
                    elapsed_ms: 1,
                },
                8,
            ),
            (
                Event::CallStarted {
                    turn: 1,
                    call_id: leak(),
                    tool: leak(),
                    input: leak(),
                    mended: vec![leak(), leak()],
                },
                5,
            ),
            (Event::Progress { call_id: leak(), message: leak() }, 2),
            (ended(CallEnding::Succeeded), 5),
            (ended(CallEnding::Failed { fault: leak() }), 6),
            (ended(CallEnding::Denied { guard: leak(), rule: leak() }), 7),
            (ended(CallEnding::Broken { plugin: leak(), cause: leak() }), 7),
            (ended(CallEnding::Invalid), 5),
            (ended(CallEnding::NotRun), 5),
            (Event::Note { text: leak() }, 1),
            (
                Event::Ended {
                    reason: Reason::Internal,
                    finish: Finish::Stop,
                    answer: leak(),
                    error: Some(leak()),
                    usage: Usage::default(),
                    turns: 1,
                    tool_calls: 1,
                    elapsed_ms: 1,
                    in_flight: vec![leak(), leak()],
                },
                4,
            ),
        ]
    }

    #[test]
    fn every_text_of_every_event_is_covered_and_nothing_else_changes() {
        let redactor = Redactor::new([SECRET.to_owned()].into_iter());
        for (event, texts) in samples() {
            let before = serde_json::to_string(&event).unwrap();
            assert_eq!(before.matches(SECRET).count(), texts, "{before}");
            let after = serde_json::to_string(&redactor.redact_event(event)).unwrap();
            assert_eq!(after, before.replace(SECRET, "[redacted]"));
        }
    }
}
