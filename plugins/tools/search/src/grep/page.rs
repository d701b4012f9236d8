//! A page of matches as text, and which of its lines were shown whole.

use harness_sdk::workspace_read::{GrepFile, GrepMode, GrepPage, GrepQuery};

use crate::head;

/// Characters of a line; the host already shows only the part around a match, with [`CUT`] where
/// it left something out.
const MAX_LINE_CHARS: usize = 600;
/// Stands where the host left something out of a line.
const CUT: char = '\u{2026}';
/// Bytes in a page, as for `read`.
const MAX_PAGE_BYTES: usize = 50 * 1024;

/// What the model gets.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) shown: Vec<Lines>,
}

/// Lines of one file that were shown whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// Its place among the files found.
    pub(crate) file: usize,
    pub(crate) first: u64,
    pub(crate) last: u64,
}

/// Words one page of what the host found.
pub(crate) fn show(query: &GrepQuery, found: &GrepPage) -> Page {
    let mut page = Page { text: String::new(), shown: Vec::new() };
    let mut taken = 0;
    match query.mode {
        GrepMode::Lines => {
            for (place, file) in found.files.iter().enumerate() {
                let Some(matches) = page.push_file(place, file, query.lines_before > 0) else {
                    break;
                };
                taken += matches.taken;
                if matches.is_cut {
                    break;
                }
            }
        }
        GrepMode::Files | GrepMode::Count => {
            for file in &found.files {
                page.text.push_str(&file.path);
                if query.mode == GrepMode::Count {
                    page.text.push_str(&format!(":{}", file.matches));
                }
                page.text.push('\n');
                taken += 1;
            }
        }
    }
    page.push_footer(query, found, taken);
    page
}

/// `3 matches in 1 file`.
pub(crate) fn tally(found: &GrepPage) -> String {
    let (matches, files) = (found.total_matches, found.total_files);
    let matched = if matches == 1 { "match" } else { "matches" };
    format!("{matches} {matched} in {files} file{}", if files == 1 { "" } else { "s" })
}

/// What of a file went into the page.
struct Taken {
    taken: u64,
    is_cut: bool,
}

impl Page {
    /// `None` when nothing of the file fits any more.
    fn push_file(&mut self, place: usize, file: &GrepFile, has_context: bool) -> Option<Taken> {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        if self.text.len() + file.path.len() > MAX_PAGE_BYTES {
            return None;
        }
        self.text.push_str(&format!("{gap}{}\n", file.path));
        let mut taken = 0;
        let mut previous = None;
        for line in &file.lines {
            let text = line.text.trim_end_matches(['\n', '\r']);
            let cut = text.char_indices().nth(MAX_LINE_CHARS).map(|(at, _)| at);
            let sign = if line.is_match { ':' } else { '-' };
            let mut row = String::new();
            if has_context && previous.is_some_and(|number| number + 1 < line.number) {
                row.push_str("--\n");
            }
            row.push_str(&format!("{}{sign}{}", line.number, &text[..cut.unwrap_or(text.len())]));
            if cut.is_some() {
                row.push_str(&format!(" [cut: the line has {} bytes]", text.len()));
            }
            row.push('\n');
            // The first match always fits, so that going on always advances.
            if !self.shown_nothing() && self.text.len() + row.len() > MAX_PAGE_BYTES {
                return Some(Taken { taken, is_cut: true });
            }
            self.text.push_str(&row);
            previous = Some(line.number);
            taken += u64::from(line.is_match);
            // A line that really starts or ends so does not count either: that is the safe side.
            if cut.is_none() && !text.starts_with(CUT) && !text.ends_with(CUT) {
                self.mark(place, line.number);
            }
        }
        Some(Taken { taken, is_cut: false })
    }

    fn shown_nothing(&self) -> bool {
        self.text.lines().count() <= 1
    }

    fn mark(&mut self, file: usize, number: u64) {
        match self.shown.last_mut() {
            Some(lines) if lines.file == file && lines.last + 1 == number => lines.last = number,
            _ => self.shown.push(Lines { file, first: number, last: number }),
        }
    }

    fn push_footer(&mut self, query: &GrepQuery, found: &GrepPage, taken: u64) {
        let offset = u64::from(query.offset);
        let (total, unit) = match query.mode {
            GrepMode::Lines => (found.total_matches, "matches"),
            GrepMode::Files | GrepMode::Count => (found.total_files, "files"),
        };
        let end = offset + taken;
        let footer = if total == 0 {
            let files = if found.searched == 1 { "file" } else { "files" };
            let searched = match (found.searched, query.include_ignored) {
                // A pattern of files that fits ignored ones alone would pass for no match.
                (0, false) => {
                    "0 files searched; `ignored` searches what ignore files leave out".to_owned()
                }
                (count, _) => format!("{count} {files} searched"),
            };
            format!("no match for `{}`; {searched}", head(&query.pattern))
        } else if taken == 0 {
            format!("offset {offset} is past the last of {total} {unit}")
        } else if end < total {
            format!("{unit} {}-{end} of {total}; go on with offset {end}", offset + 1)
        } else {
            tally(found)
        };
        self.text.push_str(&format!("[{footer}]\n"));
        let left_out = match found.stopped.as_deref() {
            Some("deadline") => "the time was over before every file was searched",
            Some("size") => {
                "some lines were too long or too many, and what follows them was left out"
            }
            // `limit` only says that there are more pages, as the line above does.
            _ => return,
        };
        self.text.push_str(&format!(
            "[{left_out}: there may be more matches; narrow the search with `path` or `files`]\n"
        ));
    }
}

#[cfg(test)]
mod tests;
