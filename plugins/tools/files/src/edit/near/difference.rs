//! The first difference between a line of the file and a line of the model's text, in words.

use super::fold::{is_invisible, is_mark};

/// Characters shown before and after the difference.
const AROUND: usize = 60;
/// Characters of a line that are compared: a guest's memory holds no line of megabytes four times.
const MOST_CHARS: usize = 100_000;
/// Characters compared to find where a text begins in a line.
const MOST_COMPARED: usize = 1_000_000;
/// Characters that one of them may have more than the other where they part.
const APART: usize = 6;
/// Stands for bytes that are not UTF-8: in no text, so that it never equals what a model sends.
const HIDDEN: char = '\u{10FFFF}';
/// Marks on one letter that are named.
const MOST_MARKS: usize = 3;

/// Where two lines part.
#[derive(Debug)]
pub(crate) struct Difference {
    line: Vec<char>,
    /// Of the file's line.
    at: usize,
    what: String,
}

/// Compares; `None` when the lines agree as far as the text goes. The text's first line may
/// start within the file's, and its last may end within it.
pub(crate) fn first(file: &[u8], old: &[u8], is_first: bool, is_last: bool) -> Option<Difference> {
    // The text's first line may be the end of the file's.
    if is_first && !is_last && file.ends_with(old) {
        return None;
    }
    let (line, old) = (letters(file), letters(old));
    let starts_within = is_first && old.first().is_some_and(|c| !c.is_whitespace());
    let start = if starts_within { likeliest_start(&line, &old) } else { 0 };
    let length = line[start..].iter().zip(&old).take_while(|(a, b)| a == b).count();
    let at = start + length;
    let (theirs, ours) = (letter(&line[at..]), letter(&old[length..]));
    if ours.is_none() && (is_last || theirs.is_none()) {
        return None;
    }
    let what = match (theirs, ours) {
        (None, Some(_)) if line.len() == MOST_CHARS => {
            format!("the line is too long to compare beyond {MOST_CHARS} characters")
        }
        (theirs, ours) => words(theirs, ours),
    };
    Some(Difference { what, line, at })
}

fn letters(line: &[u8]) -> Vec<char> {
    let chunks = line.utf8_chunks();
    let letters = chunks.flat_map(|chunk| {
        let hidden = (!chunk.invalid().is_empty()).then_some(HIDDEN);
        chunk.valid().chars().chain(hidden)
    });
    letters.take(MOST_CHARS).collect()
}

/// Where in the line the text begins, most likely: where most characters are as they should be, up to
/// the first difference and, a few more or fewer apart, behind it.
fn likeliest_start(line: &[char], old: &[char]) -> usize {
    let looked = old.len().min((MOST_COMPARED / line.len().max(1)).clamp(8, 200));
    let same = |line: &[char], old: &[char]| line.iter().zip(old).filter(|(a, b)| a == b).count();
    let score = |start: usize| {
        let (line, old) = (&line[start..], &old[..looked]);
        let leading = line.iter().zip(old).take_while(|(a, b)| a == b).count();
        let (line, old) = (&line[leading..], &old[leading..]);
        let more = (0..=APART).map(|more| same(line.get(more..).unwrap_or_default(), old));
        let fewer = (1..=APART).map(|fewer| same(line, old.get(fewer..).unwrap_or_default()));
        2 * leading + more.chain(fewer).max().unwrap_or(0)
    };
    // Of equals the first.
    let starts = (0..line.len()).rev().filter(|start| !is_mark(line[*start]));
    starts.max_by_key(|start| score(*start)).unwrap_or(0)
}

/// The first character, with the marks that stand on it; `None` at the end of the line.
fn letter(line: &[char]) -> Option<String> {
    let (first, rest) = line.split_first()?;
    let marks = rest.iter().take(MOST_MARKS).take_while(|c| is_mark(**c));
    Some(marks.fold(named(*first), |text, mark| format!("{text} and {}", named(*mark))))
}

fn words(file: Option<String>, old: Option<String>) -> String {
    match (file, old) {
        (Some(file), Some(old)) => {
            format!("the file has {file}, `old` has {old}")
        }
        (None, Some(old)) => {
            format!("the file's line ends here, `old` goes on with {old}")
        }
        (Some(file), None) => {
            format!("`old` ends its line here, the file goes on with {file}")
        }
        (None, None) => "nothing differs".to_owned(),
    }
}

/// A character by its name if it can't be seen, by itself if it can't be mistaken, else with its
/// code point.
fn named(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '\t' => "a tab".to_owned(),
        '\r' => "a carriage return".to_owned(),
        '\u{A0}' => "a no-break space (U+00A0)".to_owned(),
        '\u{200B}' => "a zero-width space (U+200B)".to_owned(),
        '\u{FEFF}' => "a byte order mark (U+FEFF)".to_owned(),
        HIDDEN => "a byte that is not UTF-8".to_owned(),
        c if is_mark(c) => format!("a combining mark (U+{:04X})", u32::from(c)),
        c if c.is_ascii_graphic() && c != '\'' && c != '"' && c != '`' => format!("`{c}`"),
        c if is_invisible(c) => format!("an invisible character (U+{:04X})", u32::from(c)),
        c if c.is_whitespace() => format!("a blank (U+{:04X})", u32::from(c)),
        c if c.is_control() => format!("a control character (U+{:04X})", u32::from(c)),
        c => format!("{c} (U+{:04X})", u32::from(c)),
    }
}

impl Difference {
    /// The words, the line with its number, and a caret under the difference. `place` names the
    /// region, as `line 7` or `lines 7-9`.
    pub(crate) fn shown(&self, number: usize, place: &str) -> String {
        let place = if place.starts_with("lines") {
            format!("{place}: in line {number} ")
        } else {
            format!("{place}: ")
        };
        let start = self.at.saturating_sub(AROUND);
        let end = (self.at + AROUND).min(self.line.len());
        let before = if start > 0 { "..." } else { "" };
        let after = if end < self.line.len() { "..." } else { "" };
        let shown = |c: &char| if *c == HIDDEN { char::REPLACEMENT_CHARACTER } else { *c };
        let text: String = self.line[start..end].iter().map(shown).collect();
        // A tab above is a tab below, so that the caret stands right at any tab width.
        let pad: String =
            self.line[start..self.at].iter().map(|c| if *c == '\t' { '\t' } else { ' ' }).collect();
        let margin = " ".repeat(number.to_string().len());
        let dots = " ".repeat(before.len());
        format!("{place}{}\n{number}\t{before}{text}{after}\n{margin}\t{dots}{pad}^", self.what)
    }
}
