//! Pages of small and of hostile files.

use proptest::prelude::*;

use super::*;

fn lines(first: u64, limit: u64) -> Window {
    Window::Lines { first, limit }
}

fn page(file: &[u8], window: Window) -> Result<Page, Past> {
    // In pieces of three bytes, so that every state is met at a seam.
    let mut pager = Pager::new(window);
    file.chunks(3).for_each(|chunk| pager.feed(chunk));
    pager.finish(true)
}

fn check(file: &str, window: Window, expected: &str) {
    assert_eq!(page(file.as_bytes(), window).unwrap().text, expected, "{file:?}");
}

#[test]
fn a_window_of_lines() {
    check("a\nb\n", lines(1, 9), "1\ta\n2\tb\n");
    check("a\r\nb\r\nc", lines(1, 9), "1\ta\n2\tb\n3\tc\n");
    check("a\nb\nc\n", lines(1, 2), "1\ta\n2\tb\n[lines 1-2 of 3; go on with offset 3]\n");
    check("a\nb\nc\n", lines(3, 2), "3\tc\n[end of file; 3 lines]\n");
    check("\n\n", lines(1, 9), "1\t\n2\t\n");
}

#[test]
fn past_the_end_is_an_answer_of_its_own() {
    assert_eq!(page(b"a\nb\n", lines(3, 1)).unwrap_err(), Past::Lines(2));
    let past = page(b"abc\n", Window::Piece { line: 1, byte: 3 }).unwrap_err();
    assert_eq!(past, Past::Bytes { length: 3, is_last: true });
    assert_eq!(page(b"abc", Window::Piece { line: 2, byte: 0 }).unwrap_err(), Past::Lines(1));
}

#[test]
fn a_page_stops_at_its_size_and_goes_on_where_it_stopped() {
    let file = "x".repeat(999).as_bytes().to_vec();
    let file: Vec<u8> = std::iter::repeat_n([file, vec![b'\n']].concat(), 100).flatten().collect();
    let mut first = 1;
    let mut seen = 0;
    while let Ok(page) = page(&file, lines(first, DEFAULT_LINES)) {
        assert!(page.text.len() <= MAX_PAGE_BYTES + 100);
        let (from, to) = page.shown[0];
        assert_eq!(from, first);
        seen += to - from + 1;
        first = to + 1;
    }
    assert_eq!(seen, 100);
}

#[test]
fn a_huge_line_is_read_to_its_end_by_its_own_hints() {
    let huge = format!("{}é", "0123456789".repeat(20_000));
    let file = format!("a\n{huge}\nz\n");
    let whole = page(file.as_bytes(), lines(1, 9)).unwrap();
    assert_eq!(whole.shown, [(1, 1), (3, 3)]);
    assert!(whole.text.contains("has 200002 bytes; for the rest use offset 2, byte 2000]"));
    let mut byte = 2_000;
    let mut text = huge[..2_000].to_owned();
    loop {
        let piece = page(file.as_bytes(), Window::Piece { line: 2, byte }).unwrap();
        let (body, footer) = piece.text.split_once('\n').unwrap();
        text.push_str(body);
        match footer.split_once("byte ") {
            Some((_, next)) => {
                let next = next.trim_end_matches("]\n").parse().unwrap();
                assert!(next > byte);
                byte = next;
            }
            None => break assert_eq!(footer, "[end of line 2; go on with offset 3]\n"),
        }
    }
    assert_eq!(text, huge);
}

#[test]
fn a_line_shown_as_one_piece_counts_as_shown() {
    let piece = page(b"abc\n", Window::Piece { line: 1, byte: 0 }).unwrap();
    assert_eq!(piece.shown, [(1, 1)]);
    assert_eq!(piece.text, "abc\n[end of line 1, the last one]\n");
}

#[test]
fn other_bytes_are_named() {
    let text = page(b"x=1 # caf\xE9\n", lines(1, 9)).unwrap().text;
    assert!(text.starts_with("1\tx=1 # caf\u{FFFD}\n[\u{FFFD} stands for"), "{text}");
}

/// Follows every hint of every page, as a model would, and puts the lines together again.
fn follow(file: &str) -> String {
    let number = |text: &str| -> u64 { text.trim_end_matches(']').parse().unwrap() };
    let whole_page = |window| {
        let mut pager = Pager::new(window);
        pager.feed(file.as_bytes());
        pager.finish(true).unwrap().text
    };
    let mut lines: Vec<String> = Vec::new();
    let mut next = Some(1);
    while let Some(first) = next.take() {
        for line in whole_page(lines_from(first)).lines() {
            if let Some(footer) = line.strip_prefix('[') {
                next = footer.split_once("go on with offset ").map(|(_, next)| number(next));
                assert!(next.is_none_or(|next| next > first), "{footer}");
                continue;
            }
            let mut text = line.split_once('\t').unwrap().1.to_owned();
            if let Some((start, hint)) = text.clone().split_once(" [cut: ") {
                text = start.to_owned();
                let (line, byte) =
                    hint.split_once("use offset ").unwrap().1.split_once(", byte ").unwrap();
                let (line, mut byte) = (number(line), number(byte));
                loop {
                    let piece = whole_page(Window::Piece { line, byte });
                    let (body, footer) = piece.split_once('\n').unwrap();
                    text.push_str(body);
                    let Some((_, next)) = footer.split_once(", byte ") else { break };
                    assert!(number(next.trim_end()) > byte, "{footer}");
                    byte = number(next.trim_end());
                }
            }
            lines.push(text);
        }
    }
    lines.iter().map(|line| line.clone() + "\n").collect()
}

fn lines_from(first: u64) -> Window {
    lines(first, DEFAULT_LINES)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn hints_lead_through_any_file(
        shape in prop::collection::vec((prop::sample::select(vec!["a", "\u{e9}", "\u{1F600}", "ab\u{4E2D}"]), 0_usize..4_000, 1_usize..20), 1..12),
        long in 0_usize..90_000,
        at in 0_usize..12,
    ) {
        let mut file: Vec<String> = Vec::new();
        for (letters, count, times) in shape {
            file.extend(std::iter::repeat_n(letters.repeat(count), times));
        }
        let at = at.min(file.len());
        file.insert(at, "\u{4E2D}x".repeat(long));
        let file: String = file.iter().map(|line| line.clone() + "\n").collect();
        prop_assert!(follow(&file) == file);
    }
}
