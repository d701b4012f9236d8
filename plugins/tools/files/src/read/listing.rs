//! A directory as the model sees it: one name a line, directories with a slash.

use harness_sdk::workspace_read::{Entry, EntryKind};
use harness_sdk::{Fault, Outcome, fault, outcome};

use crate::text::counted;

/// The names from the `first` on, sorted, with the way to go on.
pub(crate) fn page(
    path: &str,
    entries: &[Entry],
    first: u64,
    limit: u64,
) -> Result<Outcome, Fault> {
    let mut names: Vec<String> = entries.iter().map(shown).collect();
    names.sort();
    let total = names.len();
    let summary = format!("listed `{path}`, {}", counted(total, "name"));
    if total == 0 {
        return Ok(outcome(format!("directory `{path}` is empty\n"), summary));
    }
    let start = usize::try_from(first - 1).unwrap_or(usize::MAX);
    if start >= total {
        return Err(fault::invalid(format!(
            "directory `{path}` has {}; offset {first} is past its end",
            counted(total, "name")
        ))
        .hint(format!("use an offset from 1 to {total}")));
    }
    let end = start.saturating_add(usize::try_from(limit).unwrap_or(usize::MAX)).min(total);
    let mut text = format!("directory `{path}`, {}:\n", counted(total, "name"));
    for name in &names[start..end] {
        text.push_str(name);
        text.push('\n');
    }
    if end < total {
        text.push_str(&format!(
            "[names {first}-{end} of {total}; go on with offset {}]\n",
            end + 1
        ));
    }
    Ok(outcome(text, summary))
}

fn shown(entry: &Entry) -> String {
    let name = entry.path.rsplit('/').next().unwrap_or_default();
    match entry.kind {
        EntryKind::Directory => format!("{name}/"),
        EntryKind::File => name.to_owned(),
        EntryKind::Symlink => format!("{name} (link)"),
        EntryKind::Other => format!("{name} (not a file)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness_sdk::Part;

    fn entry(path: &str, kind: EntryKind) -> Entry {
        Entry { path: path.into(), kind, size_bytes: 0, modified_ms: 0 }
    }

    #[test]
    fn names_are_sorted_and_paged() {
        let entries = [
            entry("d/z", EntryKind::Directory),
            entry("d/b", EntryKind::File),
            entry("d/a", EntryKind::Symlink),
        ];
        let text = |first, limit| match page("d", &entries, first, limit).unwrap().parts.remove(0) {
            Part::Text(text) => text,
            Part::Image(_) => String::new(),
        };
        assert_eq!(text(1, 9), "directory `d`, 3 names:\na (link)\nb\nz/\n");
        assert_eq!(
            text(1, 2),
            "directory `d`, 3 names:\na (link)\nb\n[names 1-2 of 3; go on with offset 3]\n"
        );
        assert!(page("d", &entries, 4, 1).is_err());
    }
}
