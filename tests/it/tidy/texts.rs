//! What tools say to a model, and the table of it: neither has a text that the other lacks.
//!
//! A fault's message is looked for where the fault is made, a note by its brackets. What is put
//! together from pieces is told by its pieces, so a row may be found anywhere in the code.

use std::collections::BTreeSet;

use super::none;
use super::tree::{Tree, is_test, shipped};

/// Where the texts are made.
const SOURCES: [&str; 4] =
    ["host/jail/src/", "host/src/fetch", "host/src/agent/gallery", "plugins/tools/"];

/// Whose notes stand in brackets.
const NOTES: &str = "plugins/tools/";

/// Where the table is, from its heading to the next one above it.
const DOCUMENT: &str = "docs/errors.md";
const HEADING: &str = "### What tools say";

/// What makes a fault, up to its parenthesis.
const FAULTS: [&str; 9] = [
    "Fault::new",
    "fault::denied",
    "fault::unavailable",
    "fault::invalid",
    "fault::not_found",
    "fault::conflict",
    "fault::too_large",
    "fault::unsupported",
    "fault::failed",
];

/// Shorter ones are separators, words and frames.
const SHORTEST: usize = 8;

/// A text in the code, with the place of its quotes.
struct Literal {
    start: usize,
    end: usize,
    text: String,
}

#[test]
fn what_tools_say_is_in_the_table_and_the_table_is_what_they_say() {
    let tree = Tree::read();
    let document = tree.file(DOCUMENT).and_then(|file| file.text.as_deref()).unwrap();
    let rows = rows(document);
    assert!(rows.len() > 50, "the table is not there");
    let mut offences = Vec::new();
    let mut all = Vec::new();
    for (path, text) in tree.texts(&SOURCES, ".rs").filter(|(path, _)| !is_test(path)) {
        let lines: Vec<String> = shipped(text).into_iter().map(|(_, line)| line).collect();
        let code = lines.join("\n");
        let literals = literals(&code);
        let notes = literals.iter().filter(|literal| path.starts_with(NOTES) && literal.is_note());
        let said = faults(&code, &literals).into_iter().chain(notes);
        let missing = said.filter(|literal| !rows.contains(&literal.text));
        offences.extend(missing.map(|literal| format!("{path}: no row has `{}`", literal.text)));
        all.extend(literals.into_iter().map(|literal| literal.text));
    }
    let unsaid = rows.iter().filter(|row| !all.iter().any(|text| text.contains(*row)));
    offences.extend(unsaid.map(|row| format!("{DOCUMENT}: nothing says `{row}`")));
    none("a text without its row, or a row without its text", offences);
}

impl Literal {
    fn is_sentence(&self) -> bool {
        self.text.chars().count() >= SHORTEST
    }

    fn is_note(&self) -> bool {
        let bracketed = self.text.starts_with('[') && self.text.ends_with(']');
        bracketed && self.is_sentence()
    }
}

/// The texts in the parentheses of whatever makes a fault.
fn faults<'a>(code: &str, literals: &'a [Literal]) -> Vec<&'a Literal> {
    let mut found = Vec::new();
    for maker in FAULTS {
        for (at, _) in code.match_indices(&format!("{maker}(")) {
            let start = at + maker.len();
            let end = closing(code, literals, start);
            let inside = literals.iter().filter(|one| start < one.start && one.end <= end);
            found.extend(inside.filter(|literal| literal.is_sentence()));
        }
    }
    found
}

/// The end of the parenthesis that opens at `start`.
fn closing(code: &str, literals: &[Literal], start: usize) -> usize {
    let mut depth = 0;
    for (at, letter) in code[start..].char_indices().map(|(at, letter)| (start + at, letter)) {
        if literals.iter().any(|literal| (literal.start..literal.end).contains(&at)) {
            continue;
        }
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    code.len()
}

/// Every text in the code but raw ones.
fn literals(code: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = code[at..].chars().next() {
        let rest = &code[at + letter.len_utf8()..];
        at += letter.len_utf8();
        if letter == '\'' {
            at += character(rest);
        } else if letter == 'r' && (rest.starts_with('"') || rest.starts_with("#\"")) {
            let end = if rest.starts_with('#') { "\"#" } else { "\"" };
            let open = end.len();
            at += rest[open..].find(end).map_or(rest.len(), |place| open + place + end.len());
        } else if letter == '"' {
            let mut escaped = false;
            let length = rest.find(|letter| {
                let ends = letter == '"' && !escaped;
                escaped = letter == '\\' && !escaped;
                ends
            });
            let length = length.unwrap_or(rest.len());
            let (start, end) = (at - 1, at + length + 1);
            found.push(Literal { start, end, text: plain(&rest[..length]) });
            at = end.min(code.len());
        }
    }
    found
}

/// The length of what follows the quote of a character; 0 behind the quote of a lifetime.
fn character(rest: &str) -> usize {
    if let Some(escape) = rest.strip_prefix('\\') {
        let skipped = escape.chars().next().map_or(0, char::len_utf8);
        return escape[skipped..].find('\'').map_or(0, |place| 1 + skipped + place + 1);
    }
    let length = rest.chars().next().map_or(0, char::len_utf8);
    if rest[length..].starts_with('\'') { length + 1 } else { 0 }
}

/// A text as it is read: without escapes, and with `…` for what varies.
fn plain(literal: &str) -> String {
    let mut text = String::new();
    let mut letters = literal.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some('u') => {
                    let code: String = letters.by_ref().skip(1).take_while(|l| *l != '}').collect();
                    let code = u32::from_str_radix(&code, 16).ok();
                    text.extend(code.and_then(char::from_u32));
                }
                other => text.extend(other),
            },
            '{' | '}' if letters.next_if_eq(&letter).is_some() => text.push(letter),
            '{' => {
                letters.by_ref().find(|letter| *letter == '}');
                text.push('…');
            }
            other => text.push(other),
        }
    }
    text.trim().to_owned()
}

/// The texts in the first column of the table.
fn rows(document: &str) -> BTreeSet<String> {
    let section = document.split_once(HEADING).map_or("", |(_, rest)| rest);
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    let cells = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(spans).collect()
}

/// What stands between backticks, one or two.
fn spans(cell: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = cell;
    while let Some(start) = rest.find('`') {
        let fence = if rest[start..].starts_with("``") { "``" } else { "`" };
        let inside = &rest[start + fence.len()..];
        let Some(end) = inside.find(fence) else { break };
        found.push(inside[..end].trim().to_owned());
        rest = &inside[end + fence.len()..];
    }
    found
}

#[test]
fn what_counts_as_a_text() {
    let code = r##"let a = '"'; f::<'a>(fault::invalid(format!("`{x:?}` is \
        {{wrong}} \"here\"\n", y(")"))), "outside"); r#"raw " text"#; x("\u{FFFD} [end]");"##;
    let literals = literals(code);
    let texts: Vec<&str> = literals.iter().map(|literal| literal.text.as_str()).collect();
    assert_eq!(texts, ["`…` is {wrong} \"here\"", ")", "outside", "\u{FFFD} [end]"]);
    let told: Vec<&str> =
        faults(code, &literals).into_iter().map(|one| one.text.as_str()).collect();
    assert_eq!(told, ["`…` is {wrong} \"here\""]);
    let document = "### What tools say\n| text | when |\n| --- | --- |\n\
                    | `` `…` is ``, `b` | `c` |\n## Next\n| `d` | e |\n";
    let expected = ["`…` is", "b"].map(str::to_owned);
    assert_eq!(rows(document), BTreeSet::from(expected));
}
