//! The first difference between a line of the file and a line of the model's text, in words.

/// Characters shown before and after the difference.
const AROUND: usize = 60;
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
pub(crate) fn first(file: &str, old: &str, is_first: bool, is_last: bool) -> Option<Difference> {
    let line: Vec<char> = file.chars().collect();
    let old: Vec<char> = old.chars().collect();
    let same = |start: usize| line[start..].iter().zip(&old).take_while(|(a, b)| a == b).count();
    let starts_within = is_first && old.first().is_some_and(|c| !c.is_whitespace());
    let mut start = 0;
    if starts_within {
        for candidate in 1..line.len() {
            if same(candidate) > same(start) {
                start = candidate;
            }
        }
    }
    let length = same(start);
    let at = start + length;
    let (theirs, ours) = (letter(&line[at..]), letter(&old[length..]));
    if ours.is_none() && (is_last || theirs.is_none()) {
        return None;
    }
    Some(Difference { what: words(theirs, ours), line, at })
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
        '\u{FFFD}' => "a byte that is not UTF-8".to_owned(),
        c if is_mark(c) => format!("a combining mark (U+{:04X})", u32::from(c)),
        c if c.is_ascii_graphic() && c != '\'' && c != '"' && c != '`' => format!("`{c}`"),
        c if c.is_control() => format!("a control character (U+{:04X})", u32::from(c)),
        c => format!("{c} (U+{:04X})", u32::from(c)),
    }
}

/// Stands over or under the letter before it.
pub(crate) fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36F}').contains(&c)
}

/// The plain form of a character that is often mistaken for it, for comparing by resemblance.
pub(crate) fn folded(c: char) -> char {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201B}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{201F}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        // Full-width forms of ASCII.
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        c if c.is_whitespace() => ' ',
        c => c,
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
        let text: String = self.line[start..end].iter().collect();
        // A tab above is a tab below, so that the caret stands right at any tab width.
        let pad: String =
            self.line[start..self.at].iter().map(|c| if *c == '\t' { '\t' } else { ' ' }).collect();
        let margin = " ".repeat(number.to_string().len());
        let dots = " ".repeat(before.len());
        format!("{place}{}\n{number}\t{before}{text}{after}\n{margin}\t{dots}{pad}^", self.what)
    }
}
