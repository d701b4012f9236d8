//! `write` and `edit` on what is more than bytes: links, modes, other writers, names of directories.

use super::{Link, Mode, Nothing, Row, Second, does, file, fs, json, play, refused};
use crate::rig::Rig;
use harness::event::{CallEnding, Event};

fn read(path: &str) -> super::Step {
    does("read", json!({"path": path}))
}

fn edit(path: &str) -> serde_json::Value {
    json!({"path": path, "old": "old", "new": "new"})
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_keep_what_is_more_than_bytes() {
    play(
        [
            links_lead_to_their_targets_and_stay(),
            modes_stay(),
            what_others_wrote_is_not_lost(),
            the_name_of_a_directory_makes_no_file(),
            parents_are_made_and_a_diff_tells_what_changed(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
    .await;
}

fn links_lead_to_their_targets_and_stay() -> Vec<Row> {
    vec![Row {
        id: "B11",
        before: vec![
            file("real.txt", "old\n"),
            Link("link", "real.txt"),
            file("deep/real.txt", "old\n"),
            Link("deep/first", "real.txt"),
            Link("second", "deep/first"),
            file("hard.txt", "old\n"),
            Second("hard.txt", "other.txt"),
            file("../outside", "old\n"),
            Link("out", "../outside"),
            Link("dangling", "not-there"),
            Link("loop", "loop"),
        ],
        steps: vec![
            read("link"),
            does("edit", edit("link")),
            read("second"),
            does("edit", edit("second")),
            does("write", json!({"path": "second", "content": "newer\n"})),
            read("hard.txt"),
            does("edit", edit("hard.txt")).holds("hard link"),
            refused("read", json!({"path": "out"})).holds("outside the workspace"),
            refused("edit", edit("out")).holds("outside the workspace"),
            refused("write", json!({"path": "out", "content": "x"})).holds("outside"),
            does("write", json!({"path": "dangling", "content": "made\n"})),
            refused("write", json!({"path": "loop", "content": "x"})).holds("loop"),
        ],
        after: vec![
            Link("link", "real.txt"),
            file("real.txt", "new\n"),
            Link("second", "deep/first"),
            Link("deep/first", "real.txt"),
            file("deep/real.txt", "newer\n"),
            file("hard.txt", "new\n"),
            file("other.txt", "old\n"),
            file("../outside", "old\n"),
            Link("dangling", "not-there"),
            file("not-there", "made\n"),
        ],
    }]
}

fn modes_stay() -> Vec<Row> {
    vec![Row {
        id: "B12",
        before: vec![
            file("run.sh", "old\n"),
            Mode("run.sh", 0o755),
            file("private", "old\n"),
            Mode("private", 0o600),
            file("odd", "old\n"),
            Mode("odd", 0o664),
        ],
        steps: vec![
            read("run.sh"),
            does("edit", edit("run.sh")),
            does("write", json!({"path": "run.sh", "content": "newer\n"})),
            read("private"),
            does("edit", edit("private")),
            does("write", json!({"path": "private", "content": "newer\n"})),
            read("odd"),
            does("edit", edit("odd")),
        ],
        after: vec![
            Mode("run.sh", 0o755),
            file("run.sh", "newer\n"),
            Mode("private", 0o600),
            file("private", "newer\n"),
            Mode("odd", 0o664),
        ],
    }]
}

fn what_others_wrote_is_not_lost() -> Vec<Row> {
    let write = |content| json!({"path": "f", "content": content});
    vec![Row {
        id: "B14",
        before: vec![file("f", "one\n"), file("unread", "one\n"), file("long", "x\n".repeat(50))],
        steps: vec![
            read("f"),
            does("bash", json!({"command": "echo two >> f"})),
            refused("write", write("three\n")).holds("has changed since").holds("re-read"),
            refused("edit", json!({"path": "f", "old": "one", "new": "1"})).holds("re-read"),
            read("f").holds("2\ttwo"),
            does("write", write("four\n")),
            // Same size, and the time put back: the bytes tell.
            does("bash", json!({"command": "touch -r f t; printf 'five\\n' > f; touch -r t f"})),
            refused("write", write("six\n")).holds("re-read"),
            refused("write", json!({"path": "unread", "content": "x"})).holds("read it first"),
            does("read", json!({"path": "long", "limit": 10})),
            refused("write", json!({"path": "long", "content": "x"})).holds("11-50"),
        ],
        after: vec![file("f", "five\n"), file("unread", "one\n"), file("long", "x\n".repeat(50))],
    }]
}

fn the_name_of_a_directory_makes_no_file() -> Vec<Row> {
    let write = |path| json!({"path": path, "content": "x\n"});
    vec![Row {
        id: "directory-names",
        before: vec![file("d/f", "old\n")],
        steps: vec![
            refused("write", write("new/")).holds("`new/`").holds("directory"),
            refused("write", write("new/deep/.")).holds("directory"),
            refused("write", write("d/")).holds("directory"),
            refused("write", write("d/f/")).holds("directory"),
            refused("write", write("d/f/x")).holds("not a directory"),
            read("d/f"),
            refused("edit", edit("d/f/")).holds("directory"),
            refused("write", write("")).holds("directory"),
            refused("write", write(".")).holds("directory"),
            does("read", json!({"path": "d/"})).holds("f"),
            does("glob", json!({"pattern": "*", "path": "d/"})).holds("d/f"),
        ],
        after: vec![file("d/f", "old\n"), Nothing("new")],
    }]
}

fn parents_are_made_and_a_diff_tells_what_changed() -> Vec<Row> {
    let numbers =
        |from: u32| (from..from + 3_000).map(|n| format!("line {n}\n")).collect::<String>();
    vec![Row {
        id: "diffs",
        before: vec![file("small", "a\nb\nc\n"), file("big", numbers(1)), file("same", "a\n")],
        steps: vec![
            does("write", json!({"path": "fresh/deep/f", "content": "a\nb"}))
                .holds("created `fresh/deep/f` (3 bytes, 2 lines)")
                .lacks("+a"),
            // Its own content is known to it.
            does("edit", json!({"path": "fresh/deep/f", "old": "b", "new": "c"})),
            does("write", json!({"path": "fresh/deep/f", "content": "d\n"})).holds("-a\n-c\n"),
            read("small"),
            does("write", json!({"path": "small", "content": "a\nB\nc\n"}))
                .holds("replaced `small`")
                .holds("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
            does("read", json!({"path": "big", "limit": 2_000})),
            does("read", json!({"path": "big", "offset": 2_001, "limit": 2_000})),
            does("write", json!({"path": "big", "content": numbers(5_000)}))
                .holds("more lines of this diff are not shown")
                .within(9_000),
            read("same"),
            does("write", json!({"path": "same", "content": "a\n"})).holds("nothing changed"),
        ],
        after: vec![
            file("fresh/deep/f", "d\n"),
            file("small", "a\nB\nc\n"),
            file("big", numbers(5_000)),
        ],
    }]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_was_cut_off_is_not_run() {
    let turn = |finish: &str, cut: &str| {
        format!(
            "[[turn]]\nfinish = \"{finish}\"\ncalls = [{{ tool = \"write\", arguments = {} }}]\n",
            json!(cut)
        )
    };
    let same = r#"{"path": "f", "content": "half"#;
    // Whole to look at, and of a reply that was cut all the same.
    let whole = r#"{"path": "f", "content": "half"}"#;
    for (finish, cuts, says, ended) in [
        ("length", [same, same, same], "output limit", 2),
        ("length", [whole, whole, whole], "output limit", 2),
        ("content_filter", [same, same, same], "content filter", 2),
        ("tool_calls", [same, same, same], "cut off", 2),
        // A model that tries something else gets its third turn.
        ("length", [r#"{"pa"#, r#"{"path"#, r#"{"#], "output limit", 3),
        ("tool_calls", [r#"{"path": "f"#, r#"{"path"#, same], "cut off", 3),
    ] {
        let script: String = cuts.iter().map(|cut| turn(finish, cut)).collect();
        let rig = Rig::start(&script, "").await;
        let reply = rig.chat(&rig.body("B16")).await;
        let mut count = 0;
        for recorded in &rig.events(&reply.run).await {
            let Event::CallEnded { ending, text, .. } = &recorded.event else { continue };
            assert!(matches!(ending, CallEnding::NotRun | CallEnding::Invalid), "{ending:?}");
            assert!(text.contains(says) && text.contains("smaller parts"), "{finish}: {text}");
            count += 1;
        }
        assert_eq!((count, reply.reason()), (ended, "stuck"), "{finish} {cuts:?}");
        assert_eq!(fs::read_dir(rig.workspace()).unwrap().count(), 0);
    }
}
