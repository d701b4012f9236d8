//! HTML to text that a model reads well: headings, lists, links and code as in Markdown.
//!
//! One pass over the page, and no tree: a page that is not well formed gives less well formed text.
//! What is no reading matter is left out (scripts, styles, forms, navigation), and everything
//! outside of `<main>` where there is one. `write` puts the text together.

mod write;

use crate::entities::decode;
use write::Writer;

/// Elements that are left out with all that is in them.
const LEFT_OUT: [&str; 12] = [
    "script", "style", "title", "textarea", "noscript", "template", "svg", "iframe", "nav",
    "button", "select", "footer",
];

/// Of them, those whose content is no HTML.
const RAW: [&str; 4] = ["script", "style", "title", "textarea"];

/// What holds the reading matter of a page, the first of them that is there.
const MATTER: [&str; 2] = ["main", "article"];

/// One piece of a page.
enum Piece<'a> {
    Text(&'a str),
    /// The name in lower case, and everything behind it up to `>`.
    Start(String, &'a str),
    End(String),
}

/// The text of a page; from the element with the id `part` on, if there is one.
pub(crate) fn to_text(page: &str, part: Option<&str>) -> String {
    // As long as the page, so that places are the same in both.
    let lower = page.to_ascii_lowercase();
    let (from, to) = MATTER.iter().find_map(|name| region(&lower, name)).unwrap_or((0, page.len()));
    let (page, lower) = (&page[from..to], &lower[from..to]);
    let last_ends = LEFT_OUT.map(|name| lower.rfind(&format!("</{name}")).unwrap_or(0));
    let mut writer = Writer::default();
    let mut begins = None;
    // What is being left out: its name, and how many of that name are open.
    let mut hidden: Option<(String, usize)> = None;
    let mut at = 0;
    while at < page.len() {
        let (piece, next) = piece(page, at);
        at = next;
        if let Some((name, open)) = &mut hidden {
            match piece {
                Piece::Start(other, _) if other == *name => *open += 1,
                Piece::End(other) if other == *name => *open -= 1,
                _ => {}
            }
            if *open == 0 {
                hidden = None;
            }
            continue;
        }
        match piece {
            Piece::Text(text) => writer.text(&decode(text)),
            Piece::End(name) => writer.end(&name),
            Piece::Start(name, attributes) => {
                let place = LEFT_OUT.iter().position(|it| *it == name);
                // One that is never closed hides nothing but itself.
                match place.filter(|place| last_ends[*place] >= at) {
                    Some(_) if RAW.contains(&name.as_str()) => {
                        let end = lower[at..].find(&format!("</{name}"));
                        at = end.map_or(page.len(), |end| at + end);
                    }
                    Some(_) => hidden = Some((name, 1)),
                    None => {
                        writer.start(&name, attributes);
                        let is_part = ["id", "name"].iter().any(|key| {
                            part.is_some() && attribute(attributes, key).as_deref() == part
                        });
                        if is_part && begins.is_none() {
                            begins = Some(writer.here());
                        }
                    }
                }
            }
        }
    }
    writer.finish(begins.unwrap_or(0))
}

/// From the start tag of `name` to its last end tag.
fn region(lower: &str, name: &str) -> Option<(usize, usize)> {
    let tag = format!("<{name}");
    let from = lower.match_indices(&tag).map(|(at, _)| at).find(|at| {
        lower[at + tag.len()..].starts_with(|next: char| next == '>' || next.is_ascii_whitespace())
    })?;
    let to = lower.rfind(&format!("</{name}"))?;
    (from < to).then_some((from, to))
}

/// The piece that begins at `at`, and where the next one does.
fn piece(page: &str, at: usize) -> (Piece<'_>, usize) {
    let rest = &page[at..];
    let Some(inside) = rest.strip_prefix('<') else {
        let end = rest.find('<').unwrap_or(rest.len());
        return (Piece::Text(&rest[..end]), at + end);
    };
    let nothing = |length: Option<usize>| (Piece::Text(""), at + length.unwrap_or(rest.len()));
    if inside.starts_with("!--") {
        return nothing(rest.find("-->").map(|end| end + 3));
    }
    if inside.starts_with(['!', '?']) {
        return nothing(rest.find('>').map(|end| end + 1));
    }
    let (is_end, inside) = match inside.strip_prefix('/') {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    if !inside.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        // A sign that is only a sign.
        return (Piece::Text(&rest[..1]), at + 1);
    }
    let length = inside.find(|it: char| !it.is_ascii_alphanumeric() && it != '-');
    let (name, behind) = inside.split_at(length.unwrap_or(inside.len()));
    let attributes = &behind[..closing(behind)];
    let next = page.len() - behind.len() + attributes.len() + 1;
    let name = name.to_ascii_lowercase();
    let piece = if is_end { Piece::End(name) } else { Piece::Start(name, attributes) };
    (piece, next.min(page.len()))
}

/// Where a tag ends: the first `>` outside of quotes.
fn closing(behind: &str) -> usize {
    let mut quote = None;
    for (at, letter) in behind.char_indices() {
        match (quote, letter) {
            (None, '>') => return at,
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            _ => {}
        }
    }
    // A quote that is never closed does not take the whole page with it.
    behind.find('>').unwrap_or(behind.len())
}

/// The value of an attribute.
pub(crate) fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|it: char| it == '=' || it.is_ascii_whitespace() || it == '/');
        let (key, behind) = rest.split_at(end.unwrap_or(rest.len()));
        let behind = behind.trim_start();
        let Some(value) = behind.strip_prefix('=') else {
            rest = behind.trim_start_matches('/').trim_start();
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => value[1..].split_once(quote).unwrap_or((&value[1..], "")),
            _ => value.split_once(|it: char| it.is_ascii_whitespace()).unwrap_or((value, "")),
        };
        if key.eq_ignore_ascii_case(name) {
            return Some(decode(value));
        }
        rest = after.trim_start();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expected: &str) {
        assert_eq!(to_text(page, None), expected, "{page}");
    }

    #[test]
    fn reading_matter() {
        check("<h1>A &amp; B</h1><p>one\n two<p>three", "# A & B\n\none two\n\nthree");
        check("<ul><li>a<li>b <b>bold</b></ul>end", "- a\n- b bold\n\nend");
        check("see <a href='/x?a=1&amp;b'>the <i>docs</i></a>.", "see [the docs](/x?a=1&b).");
        check("<h2>T<a href='#t'>¶</a></h2>", "## T");
        check("<a href='#t'>here</a> <a href='javascript:x()'>b</a> <a>c</a>", "here b c");
        check("call <code>a::b()</code> now", "call `a::b()` now");
        check(
            "<pre><code class=\"rust\">fn <b>main</b>() {\n    a &lt; b\n}\n</code></pre>x",
            "```\nfn main() {\n    a < b\n}\n```\n\nx",
        );
        check("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a | b\n1 | 2");
        check("a<br>b<hr>c", "a\nb\n\n---\n\nc");
        check("<img alt='a plot' src=x><img src=y>", "[image: a plot]");
    }

    #[test]
    fn what_is_left_out() {
        check("a<script>if (a < b) { '<p>' }</script>b<style>p {}</style>c", "abc");
        check("<title>t</title><nav>n <nav>m</nav> n</nav>b", "b");
        check("<!doctype html><!-- <p>no -->b<?x?>", "b");
        check("x<nav><main id=m>b<nav>n</nav></main>y", "b");
        check("<mainly>a</mainly>", "a");
        check("<nav>never closed", "never closed");
        check("a<script>never closed", "anever closed");
    }

    #[test]
    fn pages_that_are_not_well_formed() {
        check("a < b && c > d <- e", "a < b && c > d <- e");
        check("<", "<");
        check("a <b", "a");
        check("<p title=\"never closed>text", "text");
        check("</p></nav></pre>text", "text");
        check("<a href=x>open", "[open](x)");
        check("", "");
    }

    #[test]
    fn parts() {
        let page = "<p>one<h2 id='two'>Two</h2><p>2<a name=three></a>3";
        assert_eq!(to_text(page, Some("two")), "## Two\n\n23");
        assert_eq!(to_text(page, Some("none")), "one\n\n## Two\n\n23");
    }
}
