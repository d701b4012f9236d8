//! Edits of files in every form, through the plan that is sent to the host.

use super::*;
use plan::{Miss, change};

fn check(file: &[u8], old: &str, new: &str, expected: &[u8]) {
    let change = change(file, old, new, true).unwrap();
    let after = String::from_utf8_lossy(&change.after);
    assert_eq!(change.after, expected, "{after:?}");
    // The replacements say the same, by the host's rules.
    let (mut bytes, mut at) = (Vec::new(), 0);
    for replacement in &change.replacements {
        let offset = replacement.offset as usize;
        assert!(offset >= at, "replacements rise");
        bytes.extend_from_slice(&file[at..offset]);
        bytes.extend_from_slice(&replacement.insert);
        at = offset + replacement.remove as usize;
    }
    bytes.extend_from_slice(&file[at..]);
    assert_eq!(bytes, expected);
}

#[test]
fn line_endings_match_in_either_form_and_the_file_wins() {
    check(b"a\r\nb\r\n", "a\nb", "A\nB", b"A\r\nB\r\n");
    check(b"a\nb\n", "a\r\nb", "A\r\nB", b"A\nB\n");
    check(b"a\r\nb\r\n", "a\r\nb", "A\nx\nB", b"A\r\nx\r\nB\r\n");
    check(b"a\r\nb\r\n", "\nb", "\nc\nb", b"a\r\nc\r\nb\r\n");
    check(b"a\r\nb\r\nc\r\n", "a\nb\n", "", b"c\r\n");
    check(b"only", "only", "one\r\ntwo\n", b"one\r\ntwo\n");
}

#[test]
fn a_mixed_file_stays_mixed() {
    check(b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", b"a\r\nB\nc\r\n");
    check(b"a\r\nb\nc\r\n", "a\nb\nc\n", "x\ny\nz\n", b"x\r\ny\nz\r\n");
    check(b"a\r\nb\nc\r\n", "b\n", "b\nbb\n", b"a\r\nb\nbb\r\nc\r\n");
}

#[test]
fn bytes_outside_are_untouched() {
    check(b"x=1 # caf\xE9\n y=2\n", "y=2", "y=3", b"x=1 # caf\xE9\n y=3\n");
    check(b"\xEF\xBB\xBFhello\n", "hello", "hello2", b"\xEF\xBB\xBFhello2\n");
    check(b"\xEF\xBB\xBFhello\n", "\u{FEFF}hello", "\u{FEFF}bye", b"\xEF\xBB\xBFbye\n");
    check(b"log(\"done\");\n", "done", "$& $1 $$ \\0", b"log(\"$& $1 $$ \\0\");\n");
    check("é\n".as_bytes(), "é", "è", "è\n".as_bytes());
}

#[test]
fn every_occurrence() {
    check(b"a a\r\na", "a", "bb", b"bb bb\r\nbb");
    check(b"aaa", "aa", "b", b"ba");
    assert_eq!(
        change(b"a\nb\na\n", "a", "x", false).unwrap_err(),
        Miss::Several { count: 2, lines: vec![1, 3] }
    );
    assert_eq!(change(b"a\n", "b", "x", true).unwrap_err(), Miss::Nowhere);
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    let message = |old, new| refuse_no_change(old, new).unwrap_err().message;
    assert!(message("", "x").starts_with("`old` is empty"));
    assert!(message("x", "x").contains("are the same"));
    assert!(message("a\r\nb", "a\nb").contains("differ only in line endings"));
    assert!(refuse_no_change("a", "b").is_ok());
}

#[test]
fn the_changed_lines_are_shown() {
    let show = |file: &[u8], old, new| region::show(&change(file, old, new, true).unwrap());
    let shown = show(b"1\n2\n3\n4\n5\n6\n7\n", "4\n", "four\nfour and a half\n");
    assert_eq!(shown.text, "2\t2\n3\t3\n4\tfour\n5\tfour and a half\n6\t5\n7\t6\n");
    assert_eq!(shown.shown, [(2, 7)]);
    let shown = show(b"\xEF\xBB\xBFa\r\nb\r\n", "a", "x");
    assert_eq!(shown.text, "1\tx\n2\tb\n");
    let shown = show(b"x\n1\n2\n3\n4\n5\n6\nx\n", "x", "y");
    assert_eq!(shown.text, "1\ty\n2\t1\n3\t2\n...\n6\t5\n7\t6\n8\ty\n");
    assert_eq!(shown.shown, [(1, 3), (6, 8)]);
    assert_eq!(show(b"a", "a", "").text, "the file is empty now\n");
}

fn miss(file: &str, old: &str, expected: &str) {
    let message = explain("f", file.as_bytes(), old, Miss::Nowhere).message;
    assert_eq!(message, expected, "{old:?}");
}

#[test]
fn a_miss_shows_what_differs() {
    miss(
        "fn a() {\n\tlet x = 1;\n}\n",
        "    let x = 1;",
        "`old` does not occur in `f`; nearest:\n\
         line 2: the file has a tab, `old` has a space\n2\t\tlet x = 1;\n \t^",
    );
    miss(
        "say(\u{2018}hi\u{2019})\n",
        "say('hi')",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has \u{2018} (U+2018), `old` has ' (U+0027)\n\
         1\tsay(\u{2018}hi\u{2019})\n \t    ^",
    );
    miss(
        "let cafe\u{301} = 1;\n",
        "caf\u{e9} = 1;",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has `e` and a combining mark (U+0301), `old` has \u{e9} (U+00E9)\n\
         1\tlet cafe\u{301} = 1;\n \t       ^",
    );
    miss(
        "if a:\n    return  \n",
        "if a:\n    return\n",
        "`old` does not occur in `f`; nearest:\n\
         lines 1-2: in line 2 `old` ends its line here, the file goes on with a space\n\
         2\t    return  \n \t          ^",
    );
    miss(
        "one\ntwo",
        "one\ntwo\n",
        "`old` does not occur in `f`; nearest:\n\
         lines 1-2: `old` ends with a line ending that is not in the file",
    );
    miss("alpha\n", "zzz", "`old` does not occur in `f`, and nothing in it is near");
    miss(
        "alpha\nbeta\n",
        "1\talpha\n2\tbeta",
        "`old` does not occur in `f`: it holds the line numbers that `read` puts before each line",
    );
}

#[test]
fn several_matches_are_named() {
    let fault = explain("f", b"", "x", Miss::Several { count: 30, lines: (1..=20).collect() });
    assert!(fault.message.starts_with("`old` occurs 30 times in `f`, at lines 1, 2,"));
    assert!(fault.message.ends_with(" 20 and more"), "{}", fault.message);
}
