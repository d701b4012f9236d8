//! Events as a person watches them: one line for each step.

use serde_json::Value;

use crate::event::{CallEnding, Event, Recorded};

/// Characters of a summary that fit the line.
const SUMMARY_CHARS: usize = 62;

/// The line for an event; most have none.
pub(super) fn step(recorded: &Recorded) -> Option<String> {
    match &recorded.event {
        Event::Replied { turn, text, elapsed_ms, .. } => {
            let said = shorten(text);
            Some(format!("turn {turn:<2} model  {said:<66} {elapsed_ms:>5} ms"))
        }
        Event::CallEnded { tool, ending, summary, exit_code, elapsed_us, .. } => {
            let mark = match (ending, exit_code) {
                (CallEnding::Succeeded, None | Some(0)) => "+",
                (CallEnding::Succeeded, Some(_)) => "-",
                (CallEnding::Denied { .. } | CallEnding::Invalid, _) => "x",
                _ => "!",
            };
            let ms = std::time::Duration::from_micros(*elapsed_us).as_secs_f64() * 1000.0;
            Some(format!("      {mark} {tool:<9} {:<63} {ms:>6.1} ms", shorten(summary)))
        }
        Event::Retried { reason, wait_ms, .. } => {
            Some(format!("      ! upstream  {reason}; again in {wait_ms} ms"))
        }
        Event::Note { text } => Some(format!("      note      {text}")),
        _ => None,
    }
}

/// Tokens in one line.
pub(super) fn usage(usage: &Value) -> String {
    format!(
        "{} prompt tokens, {} completion tokens, {} in all",
        usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]
    )
}

fn shorten(text: &str) -> String {
    let text = text.lines().next().unwrap_or_default();
    match text.char_indices().nth(SUMMARY_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
