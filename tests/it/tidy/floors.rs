//! Arrows go down only, and each power is named by its owner alone.

use super::none;
use super::tree::{Tree, is_test, shipped};

/// The modules of the host by floor. A new module gets its place here first.
const FLOORS: [&[&str]; 5] = [
    &[
        "wit", "message", "image", "quirks", "wire", "event", "config", "deadline", "error",
        "redact", "nearest", "servers",
    ],
    &["upstream", "ledger", "audit", "places", "containment", "fetch"],
    &["plugin"],
    &["harness", "session", "agent", "context", "record", "prompt"],
    &["cli", "server", "mock", "demo"],
];

/// Doors that may open the other doors.
const FRONT_DOORS: [&str; 2] = ["cli", "demo"];

/// What is named by its owner alone: the name, and the modules that may.
const OWNED: [(&str, &[&str]); 5] = [
    ("wasmtime", &["plugin", "wit"]),
    ("reqwest", &["upstream", "fetch", "demo"]),
    ("rusqlite", &["ledger"]),
    ("cap_std", &[]),
    ("nix", &[]),
];

/// What the loop does not touch: data comes in as words, time as a deadline.
const NOT_IN_THE_LOOP: [&str; 12] = [
    "serde_json",
    "std::net",
    "tokio::net",
    "std::fs",
    "tokio::fs",
    "std::env",
    "std::process",
    "tokio::process",
    "Instant::now",
    "SystemTime",
    ".canonicalize(",
    ".read_dir(",
];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|modules| modules.contains(&module))
}

/// The module of the host that a file belongs to; None for `lib.rs` and `main.rs`.
fn module(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("host/src/")?;
    let first = inside.split(['/', '.']).next()?;
    (!matches!(inside, "lib.rs" | "main.rs")).then_some(first)
}

/// Every module of the host that a line names as `crate::…` or `harness::…`.
fn named(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (index, found) in line.match_indices("crate::") {
        let before = line[..index].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$') {
            continue;
        }
        let rest = &line[index + found.len()..];
        match rest.strip_prefix('{') {
            Some(list) => names.extend(heads(list)),
            None => names.push(word(rest)),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The first word of each member of a `{…}` list.
fn heads(list: &str) -> Vec<String> {
    let (mut depth, mut start, mut names) = (0, 0, Vec::new());
    for (index, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                names.push(word(&list[start..]));
                return names;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(word(&list[start..]));
                start = index + 1;
            }
            _ => {}
        }
    }
    names.push(word(&list[start..]));
    names
}

fn word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|letter| letter.is_alphanumeric() || *letter == '_')
        .collect()
}

/// Lines, with `use` statements of several lines put together under the first one's number.
fn statements(lines: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (number, line) in lines {
        match joined.last_mut() {
            Some((_, last)) if open => last.push_str(line.trim()),
            _ => {
                let code = line.trim_start();
                open = code.starts_with("use ") || code.starts_with("pub use ");
                joined.push((number, line.clone()));
            }
        }
        open = open && !line.trim_end().ends_with(';');
    }
    joined
}

#[test]
fn every_module_stands_on_a_floor() {
    let mut offences = Vec::new();
    for (path, _) in Tree::read().texts(&["host/src/"], ".rs") {
        if let Some(module) = module(path)
            && floor(module).is_none()
        {
            offences.push(format!("{path}: module `{module}` has no floor in this test"));
        }
    }
    none("a module without a floor", offences);
}

#[test]
fn arrows_go_down_only() {
    let mut offences = Vec::new();
    for (path, text) in Tree::read().texts(&["host/src/"], ".rs") {
        let Some(from) = module(path).filter(|_| !is_test(path)) else { continue };
        let Some(from_floor) = floor(from) else { continue };
        for (number, line) in statements(shipped(text)) {
            for to in named(&line) {
                let Some(to_floor) = floor(&to) else { continue };
                let between_doors =
                    from_floor == 4 && to_floor == 4 && from != to && !FRONT_DOORS.contains(&from);
                if to_floor > from_floor || between_doors {
                    offences.push(format!(
                        "{path}:{number}: `{from}` (floor {from_floor}) names `{to}` (floor {to_floor})"
                    ));
                }
            }
        }
    }
    none("an arrow that goes up, or from door to door", offences);
}

#[test]
fn each_power_is_named_by_its_owner_alone() {
    let mut offences = Vec::new();
    let tree = Tree::read();
    for (path, text) in tree.texts(&["host/src/"], ".rs") {
        if is_test(path) {
            continue;
        }
        let module = module(path).unwrap_or("");
        for (number, line) in shipped(text) {
            for (name, owners) in OWNED {
                if names_crate(&line, name) && !owners.contains(&module) {
                    offences.push(format!("{path}:{number}: `{name}` belongs to {owners:?}"));
                }
            }
        }
    }
    for (path, text) in tree.texts(&["host/jail/src/"], ".rs") {
        for (number, line) in shipped(text) {
            if names_crate(&line, "harness") {
                offences.push(format!("{path}:{number}: the jail does not know the harness"));
            }
        }
    }
    none("a power named by somebody else", offences);
}

/// True where `line` has `name::` or `use name;`, as a word of its own.
fn names_crate(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(index, _)| {
        let before = line[..index].chars().next_back();
        let after = &line[index + name.len()..];
        !before.is_some_and(|letter| letter.is_alphanumeric() || "_:`\"".contains(letter))
            && (after.starts_with("::") || (line.trim_start().starts_with("use ") && after == ";"))
    })
}

#[test]
fn the_loop_touches_no_world() {
    let mut offences = Vec::new();
    for (path, text) in Tree::read().texts(&["host/src/"], ".rs") {
        if is_test(path) || module(path).and_then(floor) != Some(3) {
            continue;
        }
        for (number, line) in statements(shipped(text)) {
            // `use std::{env, fs}` names the same as `use std::env`.
            let spelled = line.replace("std::{", "std::").replace(", ", ", std::");
            for name in NOT_IN_THE_LOOP {
                let is_list = line.trim_start().starts_with("use std::{");
                if line.contains(name) || (is_list && spelled.contains(name)) {
                    offences.push(format!("{path}:{number}: `{name}`"));
                }
            }
        }
    }
    none("the loop knows no JSON, socket, file, environment or clock", offences);
}

#[test]
fn names_are_found_in_every_spelling() {
    let names = |line| named(line).join(" ");
    assert_eq!(names("use crate::event::Event;"), "event");
    assert_eq!(names("use crate::{cli::Args, event::{A, B}, wire};"), "cli event wire");
    assert_eq!(names("fn f(x: &crate::server::S) -> crate::error::R {"), "server error");
    assert_eq!(names("use my_crate::cli; $crate::server"), "");
    let lines = [(3, "use crate::{".to_owned()), (4, "    cli,".to_owned()), (5, "};".to_owned())];
    assert_eq!(statements(lines.into()), [(3, "use crate::{cli,};".to_owned())]);
    assert!(names_crate("use nix::sys;", "nix"));
    assert!(!names_crate("use std::os::unix::fs;", "nix"));
    assert!(!names_crate("use wit::reqwest_like::X;", "reqwest"));
}
