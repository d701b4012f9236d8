//! The tool `todos`: counts the lines with a TODO, file by file.
//!
//! It needs the grant `workspace-read` and changes nothing; the host searches, beneath the
//! workspace's root, and leaves out what ignore files exclude.

use std::fmt::Write;

use harness_sdk::workspace_read::{GrepMode, GrepPage, GrepQuery, grep};
use harness_sdk::{Call, Effects, Fault, Input, Outcome, Spec, Tool, export_tool, outcome, spec};

/// Files named in one outcome: a model reads every line.
const MOST_FILES: u32 = 100;

/// Line breaks in it are for you, and are left out before a model sees it.
const SCHEMA: &str = r#"{"type":"object",
"properties":{"path":{"type":"string","description":"The directory to look in; the whole workspace when left out."}},
"additionalProperties":false}"#;

struct Todos;

export_tool!(Todos);

impl Tool for Todos {
    fn specs() -> Vec<Spec> {
        let description = "Counts the lines that hold the word TODO, file by file.";
        let path_arguments = vec!["path".to_owned()];
        vec![Spec { path_arguments, ..spec("todos", description, SCHEMA, Effects::READ) }]
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        let input = Input::parse(&call.input)?;
        let root = input.optional_text("path")?.unwrap_or(".");
        let page = grep(&GrepQuery {
            pattern: r"\bTODO\b".to_owned(),
            literal: false,
            ignore_case: false,
            multiline: false,
            root: Some(root.to_owned()),
            files: None,
            mode: GrepMode::Count,
            lines_before: 0,
            lines_after: 0,
            include_ignored: false,
            offset: 0,
            limit: MOST_FILES,
        })?;
        let summary = summary(&page);
        Ok(outcome(lines(&page) + &summary, summary))
    }
}

fn lines(page: &GrepPage) -> String {
    let mut text = String::new();
    for file in &page.files {
        let _ = writeln!(text, "{}: {}", file.path, file.matches);
    }
    text
}

fn summary(page: &GrepPage) -> String {
    let files = if page.total_files == 1 { "file" } else { "files" };
    match page.total_matches {
        0 => "no TODO".to_owned(),
        matches => format!("{matches} in {} {files}", page.total_files),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let check = |total_matches, total_files, expected| {
            let page =
                GrepPage { files: vec![], total_matches, total_files, searched: 9, stopped: None };
            assert_eq!(summary(&page), expected);
        };
        check(0, 0, "no TODO");
        check(3, 1, "3 in 1 file");
        check(3, 2, "3 in 2 files");
    }
}
