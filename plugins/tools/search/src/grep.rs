//! `grep`: lines, files or counts that match, a page at a time.
//!
//! In mode `lines` the host's offset and limit count matching lines, in the other modes files;
//! a page asks for as many matches as leave room for their context.

mod page;

use harness_sdk::workspace_read::{self, GrepMode, GrepQuery};
use harness_sdk::{Fault, Input, Outcome, fault, outcome};

use crate::{head, small};

/// Lines in a page, context included.
const PAGE_LINES: u32 = 200;
/// Files in a page of the modes that show no lines.
const PAGE_FILES: u32 = 100;
/// Lines of context on each side, at most.
const MAX_CONTEXT: u64 = 20;

pub(crate) fn run(input: &Input) -> Result<Outcome, Fault> {
    let query = query(input)?;
    let found = workspace_read::grep(&query)?;
    let page = page::show(&query, &found);
    for lines in &page.shown {
        let file = &found.files[lines.file];
        workspace_read::mark_shown(&file.path, &file.version, lines.first, lines.last)?;
    }
    let summary = format!("grep `{}`, {}", head(&query.pattern), page::tally(&found));
    Ok(outcome(page.text, summary))
}

fn query(input: &Input) -> Result<GrepQuery, Fault> {
    let pattern = input.text("pattern")?;
    if pattern.is_empty() {
        return Err(fault::invalid("`pattern` is empty, and would match every line")
            .hint("give a pattern; to see names only use `glob`"));
    }
    let mode = match input.optional_text("mode")? {
        None | Some("lines") => GrepMode::Lines,
        Some("files") => GrepMode::Files,
        Some("count") => GrepMode::Count,
        Some(other) => {
            return Err(fault::invalid(format!("mode `{other}` is none of lines, files, count")));
        }
    };
    let context = small(input.number("context")?.unwrap_or(0).min(MAX_CONTEXT));
    let limit = match mode {
        GrepMode::Lines => (PAGE_LINES / (1 + 2 * context)).max(1),
        GrepMode::Files | GrepMode::Count => PAGE_FILES,
    };
    Ok(GrepQuery {
        pattern: pattern.to_owned(),
        literal: input.is_set("literal")?,
        ignore_case: input.is_set("ignore_case")?,
        multiline: input.is_set("multiline")?,
        root: input.optional_text("path")?.map(str::to_owned),
        files: input.optional_text("files")?.map(str::to_owned),
        mode,
        lines_before: context,
        lines_after: context,
        include_ignored: input.is_set("ignored")?,
        offset: small(input.number("offset")?.unwrap_or(0)),
        limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<GrepQuery, Fault> {
        query(&Input::parse(json).unwrap())
    }

    #[test]
    fn a_page_leaves_room_for_context() {
        let limit = |json| read(json).unwrap().limit;
        assert_eq!(limit(r#"{"pattern":"x"}"#), 200);
        assert_eq!(limit(r#"{"pattern":"x","context":2}"#), 40);
        assert_eq!(limit(r#"{"pattern":"x","context":900}"#), 4);
        assert_eq!(limit(r#"{"pattern":"x","context":2,"mode":"files"}"#), 100);
    }

    #[test]
    fn what_can_not_be_searched_is_said() {
        assert!(read(r#"{"pattern":""}"#).unwrap_err().message.contains("every line"));
        assert!(read(r#"{"pattern":"x","mode":"all"}"#).unwrap_err().message.contains("`all`"));
    }
}
