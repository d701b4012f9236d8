//! Puts text together: white space as a browser would, marks as Markdown has them.

use super::attribute;

/// Elements that stand apart, with an empty line around them.
const APART: [&str; 16] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "ul",
    "ol",
    "dl",
    "table",
    "blockquote",
    "section",
    "article",
    "hr",
];

/// Elements that begin a line.
const LINES: [&str; 13] = [
    "div",
    "li",
    "tr",
    "dt",
    "dd",
    "br",
    "header",
    "main",
    "figure",
    "figcaption",
    "details",
    "summary",
    "form",
];

/// What a link beside a heading shows that leads to that heading.
const ANCHORS: [&str; 5] = ["", "¶", "§", "#", "🔗"];

/// The text so far.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    /// Line endings before whatever comes next.
    breaks: usize,
    /// A space before it.
    space: bool,
    /// Depth of `pre`.
    preformatted: usize,
    /// Links that are open: where the text of each begins, and where it leads.
    links: Vec<(usize, Option<String>)>,
}

impl Writer {
    pub(super) fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            self.flush();
            return self.text.push_str(text);
        }
        for (index, word) in text.split([' ', '\n', '\t', '\r', '\u{c}']).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() {
                self.flush();
                self.text.push_str(word);
            }
        }
    }

    pub(super) fn start(&mut self, name: &str, attributes: &str) {
        self.break_for(name);
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "li" => self.mark("- "),
            "hr" => {
                self.mark("---");
                self.breaks = 2;
            }
            "td" | "th" if !self.text.is_empty() && self.breaks == 0 => self.text.push_str(" | "),
            "code" if self.preformatted == 0 => self.mark("`"),
            "pre" => {
                if self.preformatted == 0 {
                    self.mark("```\n");
                }
                self.preformatted += 1;
            }
            "a" => {
                let leads = attribute(attributes, "href").filter(|href| {
                    !href.is_empty() && !href.starts_with('#') && !href.starts_with("javascript:")
                });
                if leads.is_some() {
                    self.mark("[");
                }
                self.links.push((self.text.len(), leads));
            }
            "img" => {
                if let Some(words) = attribute(attributes, "alt").filter(|alt| !alt.is_empty()) {
                    self.mark(&format!("[image: {words}]"));
                }
            }
            _ => {}
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "a" => self.end_link(),
            "code" if self.preformatted == 0 => self.text.push('`'),
            "pre" if self.preformatted > 0 => {
                self.preformatted -= 1;
                if self.preformatted == 0 {
                    let end = self.text.trim_end().len();
                    self.text.truncate(end);
                    self.text.push_str("\n```");
                }
            }
            _ => {}
        }
        self.break_for(name);
    }

    /// Where what comes next will stand.
    pub(super) fn here(&self) -> usize {
        match self.text.rfind('\n') {
            // Behind the mark of a heading that began there.
            Some(line) if self.text[line..].trim_matches(['\n', '#', ' ']).is_empty() => line + 1,
            _ => self.text.len(),
        }
    }

    /// The whole text from there on.
    pub(super) fn finish(mut self, from: usize) -> String {
        while !self.links.is_empty() {
            self.end_link();
        }
        self.text.get(from..).unwrap_or_default().trim().to_owned()
    }

    fn end_link(&mut self) {
        let Some((start, leads)) = self.links.pop() else { return };
        let shown = self.text.get(start..).unwrap_or_default().trim();
        if ANCHORS.contains(&shown) {
            self.text.truncate(if leads.is_some() { start - 1 } else { start });
        } else if let Some(leads) = leads {
            self.text.push_str(&format!("]({leads})"));
        }
    }

    fn break_for(&mut self, name: &str) {
        if self.preformatted > 0 {
            return;
        }
        if APART.contains(&name) {
            self.breaks = self.breaks.max(2);
        } else if LINES.contains(&name) {
            self.breaks = self.breaks.max(1);
        }
    }

    fn mark(&mut self, mark: &str) {
        self.flush();
        self.text.push_str(mark);
    }

    /// The white space that was waiting for something to stand before.
    fn flush(&mut self) {
        if self.breaks > 0 && !self.text.is_empty() {
            let mark = self.text.ends_with("- ") && self.breaks < 2;
            let ended = self.text.len() - self.text.trim_end_matches('\n').len();
            if !mark && self.preformatted == 0 {
                (ended..self.breaks).for_each(|_| self.text.push('\n'));
            }
        } else if self.space && !self.text.ends_with([' ', '\n', '[']) && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.breaks = 0;
        self.space = false;
    }
}
