//! Searches that would never end or take all memory: they stop, and what they say stays true.

use std::time::{Duration, Instant};

use harness_jail::{GrepPage, GrepQuery};
use proptest::prelude::*;

use crate::search::grep_query;
use crate::workspace::{Workspace, later};

/// A pattern that takes the engine microseconds a byte and, unbounded, a gigabyte of states.
const HOSTILE: &str = r"\w.{200}\w.{200}\p{Greek}";

fn query(pattern: &str) -> GrepQuery {
    GrepQuery { limit: 10, ..grep_query(pattern) }
}

/// Letters and spaces in no order, so that no two places look alike to an automaton.
fn letters(bytes: usize) -> String {
    let mut number = 1_u64;
    let next = || {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b"abcdefghijk  "[(number >> 40) as usize % 13])
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

/// Resident memory of this process now, in bytes.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("readable");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    let kib = line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number");
    kib * 1024
}

/// Searches in a thread that is waited for much longer than its deadline; gives the page and the
/// most memory that came to be resident meanwhile, other tests' included.
fn search(w: &Workspace, query: &GrepQuery, deadline: Instant) -> (GrepPage, u64) {
    let before = resident_bytes();
    let mut most = before;
    let page = std::thread::scope(|scope| {
        let searching = scope.spawn(move || w.jail.grep(query, deadline));
        let given_up = deadline + Duration::from_secs(60);
        while !searching.is_finished() {
            assert!(Instant::now() < given_up, "`{}` does not come back", query.pattern);
            most = most.max(resident_bytes());
            std::thread::sleep(Duration::from_millis(5));
        }
        searching.join().expect("no panic")
    });
    (page.expect("a page"), most - before)
}

/// One line of 200 MB, of 15 MB, and many lines: whatever the pattern, the search comes back.
#[test]
fn hostile_patterns_and_lines() {
    let w = Workspace::in_memory();
    let line = letters(15_000_000);
    w.put("held/line", &line);
    w.put("lines/text", format!("{}\n", letters(8000)).repeat(1500));
    let mut huge = std::fs::File::create(w.host("huge")).expect("a file");
    for _ in 0..13 {
        std::io::Write::write_all(&mut huge, line.as_bytes()).expect("written");
    }
    for (path, pattern, multiline, stopped) in [
        ("held", HOSTILE, false, "deadline"),
        ("held", HOSTILE, true, "deadline"),
        ("lines", HOSTILE, false, "deadline"),
        ("huge", HOSTILE, false, "size"),
        ("huge", "a.*b.*c.*d.*0", false, "size"),
        ("huge", "a0", true, "size"),
    ] {
        let root = Some(w.path(path));
        // What is too long is told by itself, however slow the machine; what takes for ever is not.
        // Short, for a quick machine is through the many lines within a second.
        let limit = Duration::from_millis(if stopped == "size" { 120_000 } else { 100 });
        let deadline = Instant::now() + limit;
        let (page, grown) = search(&w, &GrepQuery { multiline, root, ..query(pattern) }, deadline);
        // A quick machine comes to the end of the short lines in time.
        let why = page.stopped.as_deref();
        let is_done = path == "lines" && why.is_none();
        assert!(is_done || why == Some(stopped), "`{pattern}` in {path}: {why:?}");
        assert_eq!(page.total_matches, 0, "`{pattern}` in {path}");
        // Far above what a search takes, and far below what one took without bounds.
        assert!(grown < 400 << 20, "`{pattern}` in {path} took {} MiB", grown >> 20);
    }
}

/// What is stepped through is found as by the engine, wherever in a long line it stands.
#[test]
fn long_lines_are_searched_like_short_ones() {
    let cases: [(&str, &[&str]); 12] = [
        ("needle", &["needle"]),
        ("ne+dle$", &["needle"]),
        ("^start", &["start"]),
        (r"\bword\b", &[" word "]),
        (r"(?i)straße", &["STRASSE", "STRAẞE"]),
        (r"[^a-z ]{3}", &["ABC", "ÄÖÜ"]),
        (r"\d+-\d+", &["12-34"]),
        (r"x.y", &["xéy", "x\u{10ffff}y"]),
        (r"^$", &[""]),
        (r"\p{Greek}\P{Greek}", &["αb"]),
        (r"a{3}b|c{4}", &["aaab", "cccc"]),
        (r"\s\S\s$", &[" x "]),
    ];
    let w = Workspace::in_memory();
    for (pattern, hits) in cases {
        for hit in hits.iter().chain(&["nothing"]) {
            for (before, after) in [("", ""), ("zz ", ""), ("", " zz"), ("zz ", " zz")] {
                for end in ["", "\n", "\r\n", "\nnext\n"] {
                    let found = |times: usize| {
                        let (before, after) = (before.repeat(times), after.repeat(times));
                        w.put("f", format!("first\n{before}{hit}{after}{end}"));
                        let page = w.jail.grep(&query(pattern), later()).expect("a page");
                        assert_eq!(page.stopped, None, "{pattern}");
                        let lines = page.files.iter().flat_map(|file| &file.lines);
                        lines.map(|line| line.number).collect::<Vec<u64>>()
                    };
                    assert_eq!(
                        found(20_000),
                        found(2),
                        "`{pattern}` {hit:?} {before:?} {after:?} {end:?}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    /// Lines on the borders of what is given to the engine at once are neither lost nor told twice.
    #[test]
    fn the_matching_lines_are_the_matching_lines(
        lines in prop::collection::vec((0_usize..5000, "[ab]{0,3}", prop::bool::ANY), 0..40),
        pattern in prop::sample::select(vec!["a", "^a", "b$", "^$", "ab?", "[ab]{2}", "(a|b)+x", "x*", "^x+$"]),
    ) {
        let w = Workspace::in_memory();
        let mut text = String::new();
        for (filling, word, is_last) in &lines {
            let filling = "x".repeat(filling * if filling % 7 == 0 { 10 } else { 1 });
            text += &if *is_last { format!("{filling}{word}\n") } else { format!("{word}{filling}\n") };
        }
        w.put("f", &text);
        let all = GrepQuery { limit: 1000, ..query(pattern) };
        let page = w.jail.grep(&all, later()).expect("a page");
        let told: Vec<u64> =
            page.files.iter().flat_map(|file| &file.lines).map(|line| line.number).collect();
        // The same line by line, in files of their own.
        let mut expected = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            w.put("f", format!("{line}\n"));
            let page = w.jail.grep(&query(pattern), later()).expect("a page");
            expected.extend((page.total_matches > 0).then_some(number));
        }
        prop_assert_eq!(told, expected, "{}", pattern);
    }
}
