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

#[test]
fn a_mark_that_is_not_shown_means_the_start() {
    const FILE: &[u8] = b"\xEF\xBB\xBFa\nb a\n";
    check(FILE, "\u{FEFF}a", "x", b"\xEF\xBB\xBFx\nb a\n");
    check(FILE, "\u{FEFF}a", "\u{FEFF}x", b"\xEF\xBB\xBFx\nb a\n");
    let miss = |old, new| change(FILE, old, new, true).unwrap_err();
    assert_eq!(miss("\u{FEFF}b", "x"), Miss::Nowhere);
    assert_eq!(miss("\u{FEFF}a", "a"), Miss::NoChange);
    assert_eq!(miss("a", "\u{FEFF}a"), Miss::NoChange);
    assert_eq!(miss("\u{FEFF}", "x"), Miss::Nowhere);
    let message = explain("f", FILE, "a", Miss::NoChange).message;
    assert!(message.contains("only in the byte order mark"), "{message}");
    // Without a mark of its own a file may get one.
    check(b"a\n", "a", "\u{FEFF}a", b"\xEF\xBB\xBFa\n");
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
    // Composed and decomposed letters of other scripts.
    miss(
        "\u{D55C}\u{AD6D}\u{C5B4}\n",
        "\u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}\u{110B}\u{1165}",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has \u{D55C} (U+D55C), `old` has \u{1112} (U+1112) and \
         a combining mark (U+1161) and a combining mark (U+11AB)\n\
         1\t\u{D55C}\u{AD6D}\u{C5B4}\n \t^",
    );
    miss(
        "print\u{FF08}\u{FF41}\u{FF09}\n",
        "print(a)",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has \u{FF08} (U+FF08), `old` has `(`\n\
         1\tprint\u{FF08}\u{FF41}\u{FF09}\n \t     ^",
    );
    miss(
        "one\u{200B}two three\n",
        "onetwo three",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has a zero-width space (U+200B), `old` has `t`\n\
         1\tone\u{200B}two three\n \t   ^",
    );
    // Most of it is as it should be, though not its first character.
    miss(
        "Hello there\n",
        "hello there",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has `H`, `old` has `h`\n1\tHello there\n \t^",
    );
    // The first line matches where it begins within the file's; the second does not.
    miss(
        "    first();\n    second();\n",
        "  first();\n    second;",
        "`old` does not occur in `f`; nearest:\n\
         lines 1-2: in line 2 the file has `(`, `old` has `;`\n2\t    second();\n \t          ^",
    );
    // The three nearest, the best first.
    miss(
        "let total = a + b;\nx\nlet total = a + c;\nx\nlet total = a - b;\nx\nlet totals = a;\n",
        "let total = a + d;",
        "`old` does not occur in `f`; nearest:\n\
         line 1: the file has `b`, `old` has `d`\n1\tlet total = a + b;\n \t                ^\n\
         line 3: the file has `c`, `old` has `d`\n3\tlet total = a + c;\n \t                ^\n\
         line 5: the file has `-`, `old` has `+`\n5\tlet total = a - b;\n \t              ^",
    );
    miss("alpha\n", "zzz", "`old` does not occur in `f`, and nothing in it is near");
    miss(
        "alpha\nbeta\n",
        "1\talpha\n2\tbeta",
        "`old` does not occur in `f`: it holds the line numbers that `read` puts before each line",
    );
}

#[test]
fn what_is_not_utf_8_is_no_character() {
    let message = explain("f", b"a caf\xE9 b\n", "a caf\u{FFFD} b", Miss::Nowhere).message;
    let expected = "line 1: the file has a byte that is not UTF-8, `old` has \u{FFFD} (U+FFFD)\n\
                    1\ta caf\u{FFFD} b\n \t     ^";
    assert!(message.ends_with(expected), "{message}");
}

#[test]
fn several_matches_are_named() {
    let fault = explain("f", b"", "x", Miss::Several { count: 30, lines: (1..=20).collect() });
    assert!(fault.message.starts_with("`old` occurs 30 times in `f`, at lines 1, 2,"));
    assert!(fault.message.ends_with(" 20 and more"), "{}", fault.message);
}
