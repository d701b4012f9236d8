//! `glob` and `grep`: hidden and ignored names, single files, what was not searched.

use super::{Row, does, file, json, play, refused};

#[tokio::test(flavor = "multi_thread")]
async fn searches_say_what_they_did_not_show() {
    play(
        [
            hidden_names_are_found_and_ignored_ones_are_told(),
            a_search_says_what_it_searched(),
            long_patterns_are_not_repeated(),
        ]
        .into_iter()
        .flatten()
        .collect(),
    )
    .await;
}

fn hidden_names_are_found_and_ignored_ones_are_told() -> Vec<Row> {
    vec![
        Row {
            id: "B23",
            before: vec![
                file(".github/workflows/ci.yml", "env: GITHUB_TOKEN\n"),
                file(".git/config.yml", "GITHUB_TOKEN\n"),
            ],
            steps: vec![
                does("glob", json!({"pattern": "**/*.yml"}))
                    .holds(".github/workflows/ci.yml\n")
                    .lacks(".git/"),
                does("glob", json!({"pattern": ".github/workflows/*.yml"})).holds("ci.yml\n"),
                does("glob", json!({"pattern": "*.yml"})).holds("ci.yml\n"),
                does("grep", json!({"pattern": "GITHUB_TOKEN"}))
                    .holds(".github/workflows/ci.yml\n1:env: GITHUB_TOKEN\n")
                    .lacks(".git/"),
                does("grep", json!({"pattern": "GITHUB", "files": "**/*.yml"})).holds("1:env"),
            ],
            after: vec![],
        },
        Row {
            id: "B24",
            before: vec![
                file(".gitignore", "dist/\n"),
                file("dist/app.js", "let a = 1;\n"),
                file("src/app.ts", "let a = 1;\n"),
            ],
            steps: vec![
                does("glob", json!({"pattern": "dist/app.js"})).holds("dist/app.js\n"),
                does("glob", json!({"pattern": "**/app.js"}))
                    .holds("1 more left out by ignore files")
                    .holds("`ignored`")
                    .lacks("dist/app.js"),
                does("glob", json!({"pattern": "**/app.js", "ignored": true}))
                    .holds("dist/app.js\n"),
                does("glob", json!({"pattern": "*.js", "path": "dist"})).holds("dist/app.js\n"),
                does("grep", json!({"pattern": "let", "path": "dist/app.js"})).holds("1:let a"),
                does("grep", json!({"pattern": "let", "path": "dist"})).holds("1:let a"),
            ],
            after: vec![],
        },
    ]
}

fn a_search_says_what_it_searched() -> Vec<Row> {
    vec![Row {
        id: "B25",
        before: vec![
            file("a.txt", "one\ntwo\n"),
            file("b.bin", b"two\0\x01\x02\x03two\n"),
            file("d/c.txt", "three\n"),
        ],
        steps: vec![
            does("grep", json!({"pattern": "two", "path": "a.txt"})).holds("a.txt\n2:two\n"),
            does("grep", json!({"pattern": "none", "path": "a.txt"})).holds("1 file searched"),
            refused("grep", json!({"pattern": "two", "path": "b.bin"})).holds("binary"),
            refused("grep", json!({"pattern": "two", "path": "a.text"}))
                .holds("does not exist")
                .holds("`a.txt`"),
            refused("grep", json!({"pattern": "two", "path": "e/f.txt"})).holds("does not exist"),
            refused("glob", json!({"pattern": "*", "path": "e"})).holds("does not exist"),
            refused("glob", json!({"pattern": "*", "path": "a.txt"})).holds("not a directory"),
            does("grep", json!({"pattern": "three", "path": "d"})).holds("d/c.txt\n1:three\n"),
        ],
        after: vec![],
    }]
}

fn long_patterns_are_not_repeated() -> Vec<Row> {
    let long = "x".repeat(100_000);
    vec![Row {
        id: "long-patterns",
        before: vec![file("f.txt", "one\ntwo\n")],
        steps: vec![
            does("grep", json!({"pattern": long, "literal": true})).holds("no match").within(500),
            refused("grep", json!({"pattern": format!("({long}")})).within(1_000),
            does("glob", json!({"pattern": long})).holds("nothing matches").within(500),
            refused("glob", json!({"pattern": format!("[{long}")})).within(1_000),
            refused("glob", json!({"pattern": format!("/{long}")})).within(1_000),
            refused("glob", json!({"pattern": format!("../{long}")})).within(1_000),
            refused("read", json!({"path": long})).within(500),
            refused("read", json!({"path": format!("/{}", "y/".repeat(2_000))})).within(5_000),
            refused("write", json!({"path": "../".repeat(1_000), "content": "x"})).within(5_000),
            does("read", json!({"path": "f.txt"})),
            refused("edit", json!({"path": "f.txt", "old": long, "new": "y"})).within(3_000),
            refused(
                "edit",
                json!({"path": "f.txt", "old": format!("one\ntwo\n{long}"), "new": "y"}),
            )
            .within(4_000),
        ],
        after: vec![file("f.txt", "one\ntwo\n")],
    }]
}
