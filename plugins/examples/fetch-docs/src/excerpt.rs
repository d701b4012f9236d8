//! The part of a long page that is worth showing: around what is looked for, or its beginning.

use harness_sdk::{Fault, fault};

/// Bytes that are shown.
const SHOWN_BYTES: usize = 30 << 10;

/// Of them, before the text that was looked for.
const BEFORE_BYTES: usize = 4 << 10;

/// The part of `page` around the first place where `find` stands, whatever its case.
pub(crate) fn of(page: &str, find: Option<&str>) -> Result<String, Fault> {
    let find = find.map(str::trim).filter(|find| !find.is_empty());
    let (at, count) = match find {
        None => (0, 0),
        Some(find) => first(page, find).ok_or_else(|| {
            fault::not_found(format!("the page has no `{find}`"))
                .hint("look for a shorter text, or leave `find` out")
        })?,
    };
    if page.trim().is_empty() {
        return Err(fault::failed("the page has no text; it may be made by a script"));
    }
    let start = page.floor_char_boundary(at.saturating_sub(BEFORE_BYTES));
    let start =
        if start == 0 { 0 } else { page[..start].rfind('\n').map_or(start, |line| line + 1) };
    let end = page.floor_char_boundary((start + SHOWN_BYTES).min(page.len()));
    let end = match page[start..end].rfind('\n') {
        Some(line) if end < page.len() && start + line > at => start + line,
        _ => end,
    };
    let mut shown = String::new();
    if let Some(find) = find.filter(|_| count > 1) {
        shown.push_str(&format!("[`{find}` is there {count} times; this is around the first]\n"));
    }
    if start > 0 {
        shown.push_str(&format!("[{start} bytes before this are not shown]\n"));
    }
    shown.push_str(&page[start..end]);
    if end < page.len() {
        let left = page.len() - end;
        shown.push_str(&format!("\n[{left} bytes after this are not shown; use `find`]"));
    }
    Ok(shown)
}

/// Where `find` stands first, and how often it is there. ASCII letters of either case are the same.
fn first(page: &str, find: &str) -> Option<(usize, usize)> {
    // As long as the page, so that places are the same in both.
    let (page, find) = (page.to_ascii_lowercase(), find.to_ascii_lowercase());
    let at = page.find(&find)?;
    Some((at, page.matches(&find).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, find: Option<&str>, starts: &str, ends: &str) {
        let shown = match of(page, find) {
            Ok(shown) => shown,
            Err(fault) => fault.message,
        };
        assert!(shown.starts_with(starts), "{find:?}: {}", &shown[..shown.len().min(200)]);
        assert!(shown.ends_with(ends), "{find:?}: {}", &shown[shown.len().saturating_sub(200)..]);
        assert!(shown.len() <= SHOWN_BYTES + 300, "{} bytes", shown.len());
    }

    #[test]
    fn what_is_shown_of_a_page() {
        let page: String = (0..10_000).map(|row| format!("row {row:05} ä\n")).collect();
        check("short\n", None, "short\n", "short\n");
        check("short\n", Some("HORT"), "short\n", "short\n");
        check("a\na\n", Some("a"), "[`a` is there 2 times; this is around the first]\na\n", "a\n");
        check("short\n", Some("long"), "the page has no `long`", "`long`");
        check(" \n", None, "the page has no text; it may be made by a script", "script");
        check(&page, None, "row 00000 ä\n", "bytes after this are not shown; use `find`]");
        check(&page, Some("row 05000"), "[", "bytes after this are not shown; use `find`]");
        check(&page, Some("row 09999"), "[", "row 09999 ä\n");
        assert!(of(&page, Some("row 05000")).unwrap().contains("row 05000"));
        check(&"x".repeat(100_000), None, "xxx", "bytes after this are not shown; use `find`]");
    }
}
