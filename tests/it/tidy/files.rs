//! How files are named, how long they are, how they begin and what they mention.

use super::none;
use super::tree::{Tree, is_test, root, shipped};

/// From this many lines on a file is too long. Inline tests do not count.
const WALL: usize = 500;

/// Names that say nothing. Nothing is called so, and nothing has it as a part of its name.
const EMPTY_NAMES: [&str; 12] = [
    "core", "common", "util", "utils", "helper", "helpers", "manager", "service", "handler",
    "handlers", "base", "misc",
];

/// Where files come from elsewhere, and keep their names.
const NOT_OURS: [&str; 1] = ["testdata/"];

/// Endings by which a name in backticks is taken for a path, though it has no folder.
const ENDINGS: [&str; 6] = [".rs", ".toml", ".md", ".wit", ".sh", ".lock"];

/// Where the architecture document may start a path.
const STARTS: [&str; 2] = ["", "host/src/"];

#[test]
fn no_file_reaches_the_wall() {
    let mut offences = Vec::new();
    for (path, text) in Tree::read().texts(&["host/", "plugins/", "tests/"], ".rs") {
        let lines = text.lines().count() - inline_test_lines(text);
        if lines >= WALL {
            offences.push(format!("{path}: {lines} lines"));
        }
    }
    none("a file of 500 lines or more", offences);
}

/// Lines of `#[cfg(test)] mod tests { … }`.
fn inline_test_lines(text: &str) -> usize {
    let Some(start) = text.find("\n#[cfg(test)]\nmod ") else { return 0 };
    let tests = &text[start + 1..];
    if tests.lines().nth(1).is_none_or(|line| !line.ends_with('{')) {
        return 0;
    }
    tests.lines().position(|line| line == "}").map_or(0, |last| last + 1)
}

#[test]
fn names_say_what_is_inside() {
    let mut offences = Vec::new();
    for file in Tree::read().files {
        if NOT_OURS.iter().any(|folder| file.path.starts_with(folder)) {
            continue;
        }
        for part in file.path.split('/') {
            let stem = part.split('.').find(|stem| !stem.is_empty()).unwrap_or(part);
            let is_empty_name = stem.split(['_', '-']).any(|word| EMPTY_NAMES.contains(&word));
            if part == "mod.rs" || is_empty_name {
                offences.push(file.path.clone());
            }
        }
    }
    none("a name that says nothing, or `mod.rs`", offences);
}

#[test]
fn every_source_file_begins_by_saying_what_it_is() {
    let mut offences = Vec::new();
    for (path, text) in Tree::read().texts(&["host/", "plugins/"], ".rs") {
        if path.contains("/src/") && !text.starts_with("//! ") {
            offences.push(path.to_owned());
        }
    }
    none("a file that does not begin with `//!`", offences);
}

#[test]
fn every_path_in_the_map_exists() {
    let tree = Tree::read();
    let map = tree.file("docs/architecture.md").and_then(|file| file.text.as_deref());
    let map = map.expect("`docs/architecture.md`, the map, is missing");
    let mut offences = Vec::new();
    for (number, line) in (1..).zip(map.lines()) {
        for name in line.split('`').skip(1).step_by(2).flat_map(spelled_out) {
            let exists = STARTS.iter().any(|start| root().join(start).join(&name).exists());
            if is_path(&name) && !exists {
                offences.push(format!("docs/architecture.md:{number}: `{name}`"));
            }
        }
    }
    none("a path in the map that is not there", offences);
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn spelled_out(name: &str) -> Vec<String> {
    match (name.find('{'), name.find('}')) {
        (Some(open), Some(close)) if open < close => name[open + 1..close]
            .split(',')
            .map(|one| format!("{}{}{}", &name[..open], one.trim(), &name[close + 1..]))
            .collect(),
        _ => vec![name.to_owned()],
    }
}

/// True for what can only be a path of this repository: no route, no media type, no pattern.
fn is_path(name: &str) -> bool {
    let plain =
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter));
    let elsewhere = ["/", ".harness", "application/", "text/", "target/"];
    plain
        && !elsewhere.iter().any(|start| name.starts_with(start))
        && (name.contains('/') || ENDINGS.iter().any(|ending| name.ends_with(ending)))
}

#[test]
fn nothing_mentions_a_machine() {
    // Put together, so that this file does not mention one either.
    let homes = [["/ro", "ot/"].concat(), ["/ho", "me/"].concat()];
    let mut offences = Vec::new();
    for file in Tree::read().files {
        let Some(text) = file.text.filter(|_| !is_exempt(&file.path)) else { continue };
        let lines = if file.path.ends_with(".rs") {
            shipped(&text)
        } else {
            (1..).zip(text.lines().map(str::to_owned)).collect()
        };
        for (number, line) in lines {
            if homes.iter().any(|home| line.contains(home)) {
                offences.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    none("a path of somebody's machine", offences);
}

fn is_exempt(path: &str) -> bool {
    path.starts_with("testdata/") || is_test(path)
}

#[test]
fn what_counts_as_a_path() {
    for name in ["host/src/lib.rs", "Cargo.toml", ".ci/run", "wit/", "ledger/writer.rs"] {
        assert!(is_path(name), "{name}");
    }
    for name in ["/v1/models", "application/json", "Event", "server.addr", "host/*", "a/<id>"] {
        assert!(!is_path(name), "{name}");
    }
    assert_eq!(spelled_out("a/{b, c}.rs"), ["a/b.rs", "a/c.rs"]);
    assert_eq!(inline_test_lines("a\n#[cfg(test)]\nmod tests {\n}\nb\n"), 3);
    assert_eq!(inline_test_lines("a\n#[cfg(test)]\nmod tests;\nb\n"), 0);
}
