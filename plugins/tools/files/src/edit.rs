//! `edit`: one literal piece of text in a file for another.
//!
//! Line endings aside, nothing is folded: what is near but not equal is shown with what
//! differs, and the model decides. Bytes outside the change are never touched, whatever their
//! encoding; the host compares the file with what the model was shown.

mod flat;
mod near;
mod plan;
mod region;

use harness_sdk::workspace_write::{self, Basis};
use harness_sdk::{Fault, Input, Outcome, fault, outcome, workspace_read};

use crate::source;
use crate::text::{self, Kind, counted};
use crate::write;
use flat::Flat;

/// Replacements of one edit: each is handed to the host, and more would not fit into memory.
const MAX_REPLACEMENTS: usize = 50_000;

pub(crate) fn run(input: &Input) -> Result<Outcome, Fault> {
    let path = input.text("path")?;
    let is_all = input.is_set("all")?;
    let (old, new) = (input.text("old")?, input.text("new")?);
    refuse_no_change(old, new)?;

    let file = source::whole(path)?;
    if let Kind::Utf16 { .. } = text::kind(&file.bytes) {
        return Err(fault::unsupported(format!("file `{path}` is UTF-16; `edit` works on UTF-8"))
            .hint("replace the whole file with `write`, which keeps its encoding"));
    }
    let change = plan::change(&file.bytes, old, new, is_all)
        .map_err(|miss| explain(path, &file.bytes, old, miss))?;
    if change.replacements.len() > MAX_REPLACEMENTS {
        return Err(fault::too_large(format!(
            "`old` is in `{path}` {} times, over the limit of {MAX_REPLACEMENTS} replacements",
            change.replacements.len()
        ))
        .hint("call `bash`, with sed for example"));
    }
    // Before the change is made: nothing may fail after it.
    let region = region::show(&change);
    let receipt = workspace_write::patch(path, &change.replacements, &Basis::Shown)?;
    for (first, last) in &region.shown {
        // The lines around the change were shown as well; if the file has changed again since,
        // that is for the next edit to find.
        let _ = workspace_read::mark_shown(path, &receipt.version, *first, *last);
    }
    let count = counted(change.replacements.len(), "replacement");
    let mut text = format!("edited `{path}`: {count}\n{}", region.text);
    if let Some(note) = &receipt.note {
        text.push_str(&format!("[{note}]\n"));
    }
    let mut outcome = outcome(text, format!("edited `{path}`, {count}"));
    outcome.data = Some(write::data(path, &receipt));
    Ok(outcome)
}

fn refuse_no_change(old: &str, new: &str) -> Result<(), Fault> {
    if old.is_empty() {
        return Err(fault::invalid("`old` is empty, and would match everywhere")
            .hint("give the exact text to replace; to create a file use `write`"));
    }
    if old == new {
        return Err(fault::invalid("`old` and `new` are the same; nothing would change")
            .hint("give in `new` what should stand there instead"));
    }
    if flat::flatten(old.as_bytes()) == flat::flatten(new.as_bytes()) {
        return Err(fault::invalid(
            "`old` and `new` differ only in line endings, and a file keeps its own; nothing would change",
        )
        .hint("to change line endings call `bash`, with sed for example"));
    }
    Ok(())
}

/// Why there is no change to make, with what the model needs for its next try.
fn explain(path: &str, file: &[u8], old: &str, miss: plan::Miss) -> Fault {
    match miss {
        plan::Miss::NoChange => fault::invalid(
            "`old` and `new` differ only in the byte order mark, and a file keeps its own; nothing would change",
        )
        .hint("to change the mark call `bash`"),
        plan::Miss::Several { count, lines } => {
            let named: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if count > lines.len() { " and more" } else { "" };
            fault::invalid(format!(
                "`old` occurs {count} times in `{path}`, at lines {}{more}",
                named.join(", ")
            ))
            .hint("add lines around it to `old` until it is unique, or set `all` to true")
        }
        plan::Miss::Nowhere => {
            let flat = Flat::of(file);
            let mut message = format!("`old` does not occur in `{path}`");
            if let Some(why) = near::line_numbers(&flat, old) {
                return fault::invalid(format!("{message}: {why}"))
                    .hint("leave the number and the tab at the start of each line out of `old`");
            }
            let near = near::regions(&flat, old);
            if near.is_empty() {
                return fault::invalid(format!("{message}, and nothing in it is near"))
                    .hint("read the file again and copy the text from it");
            }
            message.push_str("; nearest:");
            for region in near {
                message.push('\n');
                message.push_str(&region);
            }
            fault::invalid(message).hint("copy the text exactly as it stands in the file")
        }
    }
}

#[cfg(test)]
mod tests;
