//! The answer, as the client asked for it: in its form, and within its length.
//!
//! Which reply is the answer is known only once it is there, so what belongs to the answer alone
//! cannot go with every turn: it would cut or bend tool calls. A form is asked for in one more turn;
//! a length is cut. Where no tools are offered every reply is the answer, and both went with it.

use super::{Ending, Stop, Task, Turn, ask, spent};
use crate::event::Reason;
use crate::message::{Finish, Message, Usage};
use crate::prompt;
use crate::record::Record;
use crate::upstream::ToolChoice;

/// Bytes of a token, where the provider does not count.
const TOKEN_BYTES: u64 = 4;

/// Ends the run with `text`, the model's last reply.
pub(super) async fn give(
    task: &mut Task<'_>,
    record: &mut Record,
    text: String,
    finish: Finish,
    usage: Option<Usage>,
) -> Result<Ending, Stop> {
    let reason = Reason::Completed;
    if task.offers.is_empty() {
        return Ok(Ending { reason, finish, answer: text });
    }
    if task.answer_extra.is_some()
        && let Some((answer, finish)) = in_form(task, record, &text).await?
    {
        return Ok(Ending { reason, finish, answer });
    }
    let length = cut_length(&text, usage, task.answer_limit);
    let finish = if length < text.len() { Finish::Length } else { finish };
    Ok(Ending { reason, finish, answer: text[..length].to_owned() })
}

/// The answer once more, in the form the client wants; None when there is no time or no reply for
/// that, which is noted.
async fn in_form(
    task: &mut Task<'_>,
    record: &mut Record,
    text: &str,
) -> Result<Option<(String, Finish)>, Stop> {
    if spent(task, record).is_some() {
        record.note("the run's limits left no turn for `response_format`");
        return Ok(None);
    }
    task.conversation.push(Message::Assistant { text: text.to_owned(), calls: Vec::new() });
    task.conversation.push(Message::User { text: prompt::FORM.to_owned() });
    match ask(task, record, ToolChoice::None, Turn::Answering).await {
        Ok(reply) if !reply.text.trim().is_empty() => Ok(Some((reply.text, reply.finish))),
        Ok(_) => {
            record.note("the model gave no answer in `response_format`; this is the one before");
            Ok(None)
        }
        Err(stop @ (Stop::Ledger(_) | Stop::Audit(_))) => Err(stop),
        Err(err) => {
            record.note(format!("no answer in `response_format`, this is the one before: {err}"));
            Ok(None)
        }
    }
}

/// How many bytes of `text` are within `limit` tokens, by the provider's own count of the whole.
fn cut_length(text: &str, usage: Option<Usage>, limit: Option<u64>) -> usize {
    let Some(limit) = limit else { return text.len() };
    let length = text.len() as u64;
    let counted = usage.map(|usage| usage.completion_tokens.saturating_sub(usage.reasoning_tokens));
    let tokens = counted.filter(|tokens| *tokens > 0).unwrap_or(length.div_ceil(TOKEN_BYTES));
    if tokens <= limit {
        return text.len();
    }
    let kept = u128::from(length) * u128::from(limit) / u128::from(tokens);
    text.floor_char_boundary(usize::try_from(kept).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let counted = |completion_tokens, reasoning_tokens| {
            Some(Usage { completion_tokens, reasoning_tokens, ..Usage::default() })
        };
        for (text, usage, limit, kept) in [
            ("0123456789", None, None, 10),
            ("0123456789", counted(10, 0), Some(10), 10),
            ("0123456789", counted(10, 0), Some(5), 5),
            ("0123456789", counted(20, 15), Some(5), 10),
            ("0123456789", counted(0, 0), Some(1), 3),
            ("0123456789", None, Some(2), 6),
            ("\u{e9}\u{e9}\u{e9}\u{e9}", counted(8, 0), Some(3), 2),
            ("0123456789", counted(u64::MAX, 0), Some(u64::MAX - 1), 9),
        ] {
            assert_eq!(cut_length(text, usage, limit), kept, "{text} {usage:?} {limit:?}");
        }
    }
}
