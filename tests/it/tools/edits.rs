//! `edit`: line endings, encodings, literal text, near misses.

use super::{Row, does, file, json, play, refused};

fn read(path: &str) -> super::Step {
    does("read", json!({"path": path}))
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_change_what_was_named_and_nothing_else() {
    play(
        [
            line_endings_are_the_files_own(),
            what_the_model_cannot_see_stays(),
            text_is_literal_and_nothing_near_is_a_match(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
    .await;
}

fn line_endings_are_the_files_own() -> Vec<Row> {
    let edit = |path, old, new| does("edit", json!({"path": path, "old": old, "new": new}));
    vec![
        Row {
            id: "B01",
            before: vec![
                file("crlf.txt", "a\r\nb\r\nkeep\r\n"),
                file("lf.txt", "a\nb\nkeep\n"),
                file("mixed.txt", "a\r\nb\nc\r\nkeep\nkeep\r\n"),
                file("no-end.txt", "a\r\nb"),
                file("return.txt", "a\rb\nc\rd\n"),
            ],
            steps: vec![
                read("crlf.txt"),
                edit("crlf.txt", "a\nb", "A\nB").holds("1 replacement"),
                read("lf.txt"),
                edit("lf.txt", "a\r\nb\r\n", "A\r\nB\r\n").holds("1 replacement"),
                read("mixed.txt"),
                edit("mixed.txt", "a\nb\nc\n", "A\nB\nC\n").holds("1 replacement"),
                read("no-end.txt"),
                edit("no-end.txt", "b", "B\nC").holds("1 replacement"),
                read("return.txt"),
                edit("return.txt", "b\nc", "B\nC").holds("1 replacement"),
            ],
            after: vec![
                file("crlf.txt", "A\r\nB\r\nkeep\r\n"),
                file("lf.txt", "A\nB\nkeep\n"),
                file("mixed.txt", "A\r\nB\nC\r\nkeep\nkeep\r\n"),
                file("no-end.txt", "a\r\nB\r\nC"),
                file("return.txt", "a\rB\nC\rd\n"),
            ],
        },
        Row {
            id: "B03",
            before: vec![file("crlf-b03.txt", "a\r\nb"), file("lf-b03.txt", "a\nb")],
            steps: vec![
                read("crlf-b03.txt"),
                refused("edit", json!({"path": "crlf-b03.txt", "old": "a\r\nb", "new": "a\nb"}))
                    .holds("differ only in line endings")
                    .lacks("replacement"),
                read("lf-b03.txt"),
                refused("edit", json!({"path": "lf-b03.txt", "old": "a\nb", "new": "a\r\nb"}))
                    .holds("differ only in line endings"),
                refused("edit", json!({"path": "lf-b03.txt", "old": "a", "new": "a"}))
                    .holds("nothing would change"),
            ],
            after: vec![file("crlf-b03.txt", "a\r\nb"), file("lf-b03.txt", "a\nb")],
        },
    ]
}

fn what_the_model_cannot_see_stays() -> Vec<Row> {
    vec![
        Row {
            id: "B05",
            before: vec![
                file("a.ps1", b"\xEF\xBB\xBFhello\n"),
                file("b.ps1", b"\xEF\xBB\xBFhello\n"),
            ],
            steps: vec![
                read("a.ps1").holds("1\thello\n").lacks("\u{FEFF}"),
                does("edit", json!({"path": "a.ps1", "old": "hello\n", "new": "hello2\n"})),
                does("write", json!({"path": "a.ps1", "content": "hello3\n"}))
                    .holds("byte order mark"),
                does("edit", json!({"path": "a.ps1", "old": "hello3", "new": "hello4"})),
                read("b.ps1"),
                // The model may have learned of the mark elsewhere.
                does(
                    "edit",
                    json!({"path": "b.ps1", "old": "\u{FEFF}hello", "new": "\u{FEFF}bye"}),
                ),
            ],
            after: vec![
                file("a.ps1", b"\xEF\xBB\xBFhello4\n"),
                file("b.ps1", b"\xEF\xBB\xBFbye\n"),
            ],
        },
        Row {
            id: "B06",
            before: vec![
                file("latin.py", b"x=1 # caf\xE9\n y=2\n"),
                file("all.py", b"y \xE9 y \xFF y\n"),
            ],
            steps: vec![
                read("latin.py").holds("not UTF-8"),
                does("edit", json!({"path": "latin.py", "old": "y=2", "new": "y=3"})),
                read("all.py"),
                does("edit", json!({"path": "all.py", "old": "y", "new": "né", "all": true}))
                    .holds("3 replacements"),
                refused("edit", json!({"path": "latin.py", "old": "caf\u{FFFD}", "new": "tea"})),
            ],
            after: vec![
                file("latin.py", b"x=1 # caf\xE9\n y=3\n"),
                file("all.py", b"n\xC3\xA9 \xE9 n\xC3\xA9 \xFF n\xC3\xA9\n"),
            ],
        },
    ]
}

fn text_is_literal_and_nothing_near_is_a_match() -> Vec<Row> {
    let new = r#"log("$& $1 $$ $` $' \\1 \n ${x} ok");"#;
    let edit = |path, old, new| refused("edit", json!({"path": path, "old": old, "new": new}));
    vec![
        Row {
            id: "B07",
            before: vec![file("one.js", r#"log("done");"#), file("all.js", "a.b axb a.b")],
            steps: vec![
                read("one.js"),
                does("edit", json!({"path": "one.js", "old": r#"log("done");"#, "new": new})),
                read("all.js"),
                does("edit", json!({"path": "all.js", "old": "a.b", "new": "$&\\0", "all": true}))
                    .holds("2 replacements"),
            ],
            after: vec![file("one.js", new), file("all.js", "$&\\0 axb $&\\0")],
        },
        Row {
            id: "B08",
            before: vec![
                file("nfd.txt", "the cafe\u{301} is open\n"),
                file("wide.py", "print（\"你好\"）；\n"),
                file("quotes.md", "it\u{2019}s \u{201C}here\u{201D} now\n"),
                file("space.txt", "one\u{A0}two three\n"),
            ],
            steps: vec![
                read("nfd.txt"),
                edit("nfd.txt", "the caf\u{E9} is open", "x").holds("U+0301").holds("U+00E9"),
                read("wide.py"),
                edit("wide.py", "print(\"你好\");", "x").holds("U+FF08"),
                read("quotes.md"),
                edit("quotes.md", "it's \"here\" now", "x").holds("U+2019"),
                read("space.txt"),
                edit("space.txt", "one two three", "x").holds("U+00A0"),
                does("edit", json!({"path": "nfd.txt", "old": "cafe\u{301}", "new": "caf\u{E9}"})),
            ],
            after: vec![
                file("nfd.txt", "the caf\u{E9} is open\n"),
                file("wide.py", "print（\"你好\"）；\n"),
                file("quotes.md", "it\u{2019}s \u{201C}here\u{201D} now\n"),
                file("space.txt", "one\u{A0}two three\n"),
            ],
        },
    ]
}
