//! `edit`: line endings, encodings, literal text, near misses.

use harness::event::{CallEnding, Event};

use super::{Link, Row, Second, does, file, json, play, put, refused};
use crate::rig::Rig;

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
            what_a_miss_and_several_matches_say(),
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
            // What can only be read in pieces was seen all the same.
            id: "one long line",
            before: vec![file(
                "long.json",
                format!("{{\"a\": \"{}\", \"b\": 1}}", "x".repeat(60_000)),
            )],
            steps: vec![
                refused("edit", json!({"path": "long.json", "old": "\"b\": 1", "new": "\"b\": 2"}))
                    .holds("has not been read"),
                read("long.json"),
                refused("write", json!({"path": "long.json", "content": "x"})).holds("use edit"),
                does("edit", json!({"path": "long.json", "old": "\"b\": 1", "new": "\"b\": 2"}))
                    .holds("1 replacement"),
            ],
            after: vec![file(
                "long.json",
                format!("{{\"a\": \"{}\", \"b\": 2}}", "x".repeat(60_000)),
            )],
        },
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
                file("c.ps1", b"\xEF\xBB\xBFhello\n"),
                file("d.txt", "hello\n"),
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
                read("c.ps1"),
                // The mark alone: nothing would change, and nothing is said to have.
                refused("edit", json!({"path": "c.ps1", "old": "\u{FEFF}hello", "new": "hello"}))
                    .holds("nothing would change"),
                read("d.txt"),
                does("write", json!({"path": "d.txt", "content": "\u{FEFF}hello\n"})),
            ],
            after: vec![
                file("a.ps1", b"\xEF\xBB\xBFhello4\n"),
                file("b.ps1", b"\xEF\xBB\xBFbye\n"),
                file("c.ps1", b"\xEF\xBB\xBFhello\n"),
                file("d.txt", b"\xEF\xBB\xBFhello\n"),
            ],
        },
        Row {
            id: "B06",
            before: vec![
                file("latin.py", b"x=1 # caf\xE9\n y=2\n"),
                file("all.py", b"y \xE9 y \xFF y\n"),
                file("whole.py", b"y = 1 # caf\xE9\n"),
                file("wide.txt", b"\xFF\xFEa\0\r\0\n\0"),
            ],
            steps: vec![
                read("latin.py").holds("not UTF-8"),
                does("edit", json!({"path": "latin.py", "old": "y=2", "new": "y=3"})),
                read("all.py"),
                does("edit", json!({"path": "all.py", "old": "y", "new": "né", "all": true}))
                    .holds("3 replacements"),
                refused("edit", json!({"path": "latin.py", "old": "caf\u{FFFD}", "new": "tea"}))
                    .holds("a byte that is not UTF-8"),
                // What was shown of them must not be written over them.
                read("whole.py"),
                refused("write", json!({"path": "whole.py", "content": "y = 2 # caf\u{FFFD}\n"}))
                    .holds("U+FFFD")
                    .holds("`edit`"),
                read("wide.txt").holds("1\ta\n"),
                refused("edit", json!({"path": "wide.txt", "old": "a", "new": "b"}))
                    .holds("UTF-16")
                    .holds("`write`"),
                does("write", json!({"path": "wide.txt", "content": "b\n"}))
                    .holds("kept the file's UTF-16 and CRLF line endings"),
            ],
            after: vec![
                file("latin.py", b"x=1 # caf\xE9\n y=3\n"),
                file("all.py", b"n\xC3\xA9 \xE9 n\xC3\xA9 \xFF n\xC3\xA9\n"),
                file("whole.py", b"y = 1 # caf\xE9\n"),
                file("wide.txt", b"\xFF\xFEb\0\r\0\n\0"),
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
                file("jamo.txt", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF} text\n"),
                file("kana.txt", "\u{304B}\u{3099}\u{304D}\u{3099} text\n"),
                file("tabs.py", "if a:\n\treturn 1\n"),
                file("case.txt", "Hello there\n"),
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
                read("jamo.txt"),
                edit("jamo.txt", "\u{D55C}\u{AE00} text", "x").holds("U+1112").holds("U+D55C"),
                read("kana.txt"),
                edit("kana.txt", "\u{304C}\u{304E} text", "x").holds("U+3099").holds("U+304C"),
                read("tabs.py"),
                edit("tabs.py", "if a:\n    return 1", "x").holds("a tab").holds("line 2"),
                read("case.txt"),
                edit("case.txt", "hello there", "x").holds("`H`").holds("1\tHello there"),
                does("edit", json!({"path": "nfd.txt", "old": "cafe\u{301}", "new": "caf\u{E9}"})),
            ],
            after: vec![
                file("nfd.txt", "the caf\u{E9} is open\n"),
                file("wide.py", "print（\"你好\"）；\n"),
                file("quotes.md", "it\u{2019}s \u{201C}here\u{201D} now\n"),
                file("space.txt", "one\u{A0}two three\n"),
                file("jamo.txt", "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF} text\n"),
                file("kana.txt", "\u{304B}\u{3099}\u{304D}\u{3099} text\n"),
                file("tabs.py", "if a:\n\treturn 1\n"),
                file("case.txt", "Hello there\n"),
            ],
        },
    ]
}

fn what_a_miss_and_several_matches_say() -> Vec<Row> {
    let many = "let total = a + b;\n".repeat(30);
    vec![Row {
        id: "misses",
        before: vec![
            file("near.rs", "fn f() {\n    let sum = a + b;\n}\n"),
            file("many.rs", many.clone()),
            file("over.txt", "aaaa aaa\n"),
            file("long.txt", format!("{}needle{}\n", "x".repeat(5_000), "y".repeat(5_000))),
            file("huge.txt", "0123456789".repeat(800_000)),
        ],
        steps: vec![
            read("near.rs"),
            refused("edit", json!({"path": "near.rs", "old": "let sum = a - b;", "new": "x"}))
                .holds("line 2: the file has `+`, `old` has `-`")
                .holds("2\t    let sum = a + b;\n \t                ^"),
            refused("edit", json!({"path": "near.rs", "old": "2\t    let sum", "new": "x"}))
                .holds("line numbers that `read` puts"),
            refused("edit", json!({"path": "near.rs", "old": "zzzz", "new": "x"}))
                .holds("nothing in it is near"),
            read("many.rs"),
            refused("edit", json!({"path": "many.rs", "old": "a + b", "new": "x"}))
                .holds("occurs 30 times")
                .holds("at lines 1, 2, 3,")
                .holds("and more")
                .holds("set `all`"),
            // Three regions and no more, however many are near.
            refused("edit", json!({"path": "many.rs", "old": "let total = a - b;", "new": "x"}))
                .holds("\nline 1: ")
                .holds("\nline 3: ")
                .lacks("\nline 4: "),
            read("over.txt"),
            does("edit", json!({"path": "over.txt", "old": "aa", "new": "b", "all": true}))
                .holds("3 replacements")
                .holds("1\tbb ba\n"),
            read("long.txt"),
            refused("edit", json!({"path": "long.txt", "old": "needlz", "new": "x"})),
            refused("edit", json!({"path": "huge.txt", "old": "012345678x", "new": "x"}))
                .holds("line 1: the file has `9`, `old` has `x`"),
        ],
        after: vec![
            file("near.rs", "fn f() {\n    let sum = a + b;\n}\n"),
            file("many.rs", many),
            file("over.txt", "bb ba\n"),
        ],
    }]
}

/// Several edits of one file in one reply run one after the other, whatever names they use, and each
/// finds what the one before left.
#[tokio::test(flavor = "multi_thread")]
async fn edits_of_one_file_in_one_reply_build_on_one_another() {
    let edit = |path: &str, old: &str, new: &str| {
        let input = json!({"path": path, "old": old, "new": new}).to_string();
        format!("{{ tool = \"edit\", arguments = {} }}", json!(input))
    };
    let calls = [
        edit("real.txt", "one", "1\nand more"),
        edit("alias.txt", "and more", "2"),
        edit("./real.txt", "three", "3"),
        edit("one", "never", "x"),
        edit("far/back.txt", "2\n2", "2"),
        edit("other.txt", "1", "one"),
        edit("real.txt", "1", "first"),
    ];
    let script = format!(
        "[[turn]]\ncalls = [{{ tool = \"read\", input = {{ path = \"real.txt\" }} }}]\n\
         [[turn]]\ncalls = [{}]\n[[turn]]\ntext = \"done\"\n",
        calls.join(", ")
    );
    let rig = Rig::start(&script, "").await;
    let things = [
        file("real.txt", "one\n2\nthree\n"),
        file("far/x", ""),
        Link("alias.txt", "real.txt"),
        Link("far/back.txt", "../alias.txt"),
        Second("real.txt", "other.txt"),
    ];
    put(&rig.workspace(), &things);
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "done", "{:#}", reply.body);
    let ended = rig.events(&reply.run).await.into_iter().filter_map(|recorded| {
        let Event::CallEnded { tool, ending, text, .. } = recorded.event else { return None };
        (tool == "edit").then_some((ending == CallEnding::Succeeded, text))
    });
    let ended: Vec<(bool, String)> = ended.collect();
    let succeeded: Vec<bool> = ended.iter().map(|(succeeded, _)| *succeeded).collect();
    // A second name is another file once the first was changed: it has to be read.
    assert_eq!(succeeded, [true, true, true, false, true, false, true], "{ended:#?}");
    assert_eq!(rig.get("real.txt"), "first\n2\n3\n");
    assert_eq!(rig.get("other.txt"), "one\n2\nthree\n");
    rig.assert_clean_requests();
}
