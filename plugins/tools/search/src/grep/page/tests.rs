//! Pages of matches, in each mode.

use super::*;
use harness_sdk::workspace_read::GrepLine;

fn query(mode: GrepMode, context: u32, offset: u32) -> GrepQuery {
    GrepQuery {
        pattern: "x".into(),
        literal: false,
        ignore_case: false,
        multiline: false,
        root: None,
        files: None,
        mode,
        lines_before: context,
        lines_after: context,
        include_ignored: false,
        offset,
        limit: 200,
    }
}

fn file(path: &str, lines: &[(u64, &str, bool)]) -> GrepFile {
    let matches = lines.iter().filter(|(_, _, is_match)| *is_match).count() as u64;
    let lines = lines.iter().map(|(number, text, is_match)| GrepLine {
        number: *number,
        text: (*text).into(),
        is_match: *is_match,
    });
    GrepFile { path: path.into(), version: "v".into(), matches, lines: lines.collect() }
}

fn found(files: Vec<GrepFile>, total_matches: u64, total_files: u64) -> GrepPage {
    GrepPage { files, total_matches, total_files, searched: 9, stopped: None }
}

#[test]
fn lines_with_context() {
    let files = vec![
        file("a", &[(1, "x\r\n", true), (2, "y", false), (7, "x", true)]),
        file("b", &[(3, "x", true)]),
    ];
    let page = show(&query(GrepMode::Lines, 1, 0), &found(files, 3, 2));
    assert_eq!(page.text, "a\n1:x\n2-y\n--\n7:x\n\nb\n3:x\n[3 matches in 2 files]\n");
    let shown: Vec<_> = page.shown.iter().map(|l| (l.file, l.first, l.last)).collect();
    assert_eq!(shown, [(0, 1, 2), (0, 7, 7), (1, 3, 3)]);
}

#[test]
fn names_and_counts() {
    let files = || vec![file("a", &[(1, "x", true)])];
    let mut first = found(files(), 9, 2);
    first.stopped = Some("limit".into());
    let page = show(&query(GrepMode::Files, 0, 0), &first);
    assert_eq!(page.text, "a\n[files 1-1 of 2; go on with offset 1]\n");
    let page = show(&query(GrepMode::Count, 0, 1), &found(files(), 9, 2));
    assert_eq!(page.text, "a:1\n[9 matches in 2 files]\n");
}

#[test]
fn nothing_found_and_stopped_early() {
    let mut nothing = found(Vec::new(), 0, 0);
    nothing.stopped = Some("deadline".into());
    assert_eq!(
        show(&query(GrepMode::Lines, 0, 0), &nothing).text,
        "[no match for `x`; 9 files searched]\n\
         [the time was over before every file was searched: there may be more matches; \
         narrow the search with `path` or `files`]\n"
    );
    nothing.stopped = Some("size".into());
    nothing.searched = 1;
    let text = show(&query(GrepMode::Lines, 0, 0), &nothing).text;
    assert!(text.contains("1 file searched") && text.contains("too long or too many"), "{text}");
    nothing.searched = 0;
    let text = show(&query(GrepMode::Lines, 0, 0), &nothing).text;
    assert!(text.contains("0 files searched; `ignored` searches"), "{text}");
    let past = show(&query(GrepMode::Lines, 0, 50), &found(Vec::new(), 3, 1));
    assert_eq!(past.text, "[offset 50 is past the last of 3 matches]\n");
}

#[test]
fn long_lines_are_cut_and_do_not_count_as_shown() {
    let long = "x".repeat(700);
    let files = vec![file("a", &[(1, &long, true), (2, "x", true), (3, "…x", true)])];
    let page = show(&query(GrepMode::Lines, 0, 0), &found(files, 3, 1));
    assert!(page.text.contains("x [cut: the line has 700 bytes]\n2:x\n"));
    assert_eq!(page.shown, [Lines { file: 0, first: 2, last: 2 }]);
}

#[test]
fn a_full_page_goes_on_with_the_first_match_it_did_not_show() {
    let wide = "é".repeat(500);
    let lines: Vec<_> = (1..=200).map(|number| (number, wide.as_str(), true)).collect();
    let page = show(&query(GrepMode::Lines, 0, 10), &found(vec![file("a", &lines)], 300, 1));
    assert!(page.text.len() < MAX_PAGE_BYTES + 100);
    let last = page.shown[0].last;
    assert!(
        page.text
            .ends_with(&format!("[matches 11-{0} of 300; go on with offset {0}]\n", 10 + last))
    );
}
