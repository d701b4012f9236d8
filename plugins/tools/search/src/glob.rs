//! `glob`: names that match a pattern, newest first, a page at a time.

use harness_sdk::workspace_read::{self, EntryKind, GlobPage, GlobQuery};
use harness_sdk::{Fault, Input, Outcome, outcome};

use crate::{head, small};

/// Entries in a page.
const PAGE: u32 = 100;

pub(crate) fn run(input: &Input) -> Result<Outcome, Fault> {
    let pattern = input.text("pattern")?;
    let query = GlobQuery {
        pattern: pattern.to_owned(),
        root: input.optional_text("path")?.map(str::to_owned),
        include_ignored: input.is_set("ignored")?,
        offset: small(input.number("offset")?.unwrap_or(0)),
        limit: PAGE,
    };
    let page = workspace_read::glob(&query)?;
    Ok(outcome(shown(&query, &page), format!("glob `{}`, {} found", head(pattern), page.total)))
}

fn shown(query: &GlobQuery, page: &GlobPage) -> String {
    let mut text = String::new();
    for entry in &page.entries {
        text.push_str(&entry.path);
        text.push_str(match entry.kind {
            EntryKind::Directory => "/\n",
            EntryKind::Symlink => " (link)\n",
            EntryKind::File | EntryKind::Other => "\n",
        });
    }
    let offset = u64::from(query.offset);
    let end = offset + page.entries.len() as u64;
    if page.total == 0 {
        text.push_str(&format!("nothing matches `{}`", head(&query.pattern)));
        if let Some(root) = &query.root {
            text.push_str(&format!(" in `{root}`"));
        }
        text.push('\n');
    } else if page.entries.is_empty() {
        text.push_str(&format!("[offset {offset} is past the last of {} entries]\n", page.total));
    } else if end < page.total {
        text.push_str(&format!(
            "[entries {}-{end} of {}; go on with offset {end}]\n",
            offset + 1,
            page.total
        ));
    }
    if page.ignored > 0 {
        text.push_str(&format!(
            "[{} more left out by ignore files; set `ignored` to true to see them]\n",
            page.ignored
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness_sdk::workspace_read::Entry;

    fn check(offset: u32, names: &[&str], total: u64, ignored: u64, expected: &str) {
        let query = GlobQuery {
            pattern: "*.x".into(),
            root: Some("d".into()),
            include_ignored: false,
            offset,
            limit: PAGE,
        };
        let kind = |name: &str| match name {
            "sub" => EntryKind::Directory,
            _ => EntryKind::File,
        };
        let entries = names.iter().map(|name| Entry {
            path: (*name).into(),
            kind: kind(name),
            size_bytes: 0,
            modified_ms: 0,
        });
        let page = GlobPage { entries: entries.collect(), total, ignored };
        assert_eq!(shown(&query, &page), expected);
    }

    #[test]
    fn pages_say_what_is_left() {
        check(0, &["a.x", "sub"], 2, 0, "a.x\nsub/\n");
        check(0, &["a.x"], 3, 0, "a.x\n[entries 1-1 of 3; go on with offset 1]\n");
        check(2, &["c.x"], 3, 0, "c.x\n");
        check(9, &[], 3, 0, "[offset 9 is past the last of 3 entries]\n");
        check(
            0,
            &[],
            0,
            2,
            "nothing matches `*.x` in `d`\n\
             [2 more left out by ignore files; set `ignored` to true to see them]\n",
        );
    }
}
