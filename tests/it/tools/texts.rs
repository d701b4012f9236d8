//! What the tools answer to arguments that cannot work: a row for each text that no other row needs.

use super::{File, Row, does, file, json, play, refused};

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_cannot_work_are_answered_in_words() {
    let edit = |path, old| refused("edit", json!({"path": path, "old": old, "new": "x"}));
    play(vec![
        Row {
            id: "paths",
            before: vec![file("d/f", "x\n")],
            steps: vec![
                edit("d", "y").holds("`d` is a directory, not a file"),
                refused("write", json!({"path": "new/", "content": "x"}))
                    .holds("`new/` names a directory, not a file"),
                refused("read", json!({"path": "a\u{0}b"})).holds("the path holds a NUL character"),
                does("bash", json!({"command": "mkfifo pipe"})),
                refused("read", json!({"path": "pipe"}))
                    .holds("`pipe` is a pipe, a socket or a device"),
                edit("pipe", "y").holds("not a regular file, and is never opened"),
                refused("bash", json!({"command": "true", "workdir": ".harness/spill"}))
                    .holds("is a view, and no command can run in it"),
            ],
            after: vec![file("d/f", "x\n")],
        },
        Row {
            id: "contents",
            before: vec![
                file("short.rs", "fn one() {\n    body();\n"),
                File("wide.txt", b"\xFE\xFF\0a\0\n".to_vec()),
            ],
            steps: vec![
                does("read", json!({"path": "short.rs"})),
                edit("short.rs", "").holds("`old` is empty"),
                edit("short.rs", "fn one() {\n    body();\n}\n")
                    .holds("lines 1-3: the file ends after line 2"),
                does("read", json!({"path": "wide.txt"})).holds("[decoded from UTF-16]"),
            ],
            after: vec![file("short.rs", "fn one() {\n    body();\n")],
        },
        Row {
            id: "patterns",
            before: vec![],
            steps: vec![
                refused("grep", json!({"pattern": ""})).holds("`pattern` is empty"),
                refused("glob", json!({"pattern": ""}))
                    .holds("the pattern is empty")
                    .holds("`**/*`"),
            ],
            after: vec![],
        },
    ])
    .await;
}
