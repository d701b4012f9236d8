//! The golden components of `testdata/golden`: made once for a version of the contract, in several
//! languages, and loaded for as long as that version holds.
//!
//! All of them are loaded together, once to be listed and once to be used, and what was compiled is
//! kept beside the build: the two that bring an interpreter take half a minute. Each guard refuses writes to a folder of its own, and breaks
//! the way a path says; what the model reads of that must be clear in every language.

use std::path::Path;

use harness::event::CallEnding;
use harness_jail::PrivateDir;

use super::{EndedCall, FEWER, ended};
use crate::rig::{Rig, harness};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/golden/0.1");

/// Where compiled components lie between two runs of the tests, the state directory of a server that never was.
const STATE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/golden-state");

/// Every component of the folder, by its plugin's name, with its role, its grants, and what is listed
/// of it.
const COMPONENTS: [(&str, &str, &str, &str); 5] = [
    ("c-guard", "guard", "", "may use: sink only; wasi: inert"),
    ("javascript-guard", "guard", "", "may use: sink only; wasi: inert"),
    ("python-guard", "guard", "", "may use: sink only; wasi: inert"),
    ("rust-guard", "guard", "", "may use: sink only"),
    ("rust-tool", "tool", "\"workspace-read\"", "offers: count_lines; may use: workspace-read"),
];

/// What is told where fuel ends a loop, and where on a busy machine the clock does.
const ENDLESS: &str = "it used up its budget of 500 million instructions|it was stopped after";

/// Under `break-LANGUAGE/`, a word and what the refusal says; one of several by `|`.
const BREAKS: [(&str, &[(&str, &str)]); 4] = [
    (
        "c",
        &[
            ("panic", "it panicked: guard.c: the guard was told to panic."),
            ("recurse", "it ran out of stack, in `deeper` again and again."),
            ("leave", "it exited, reporting a failure."),
        ],
    ),
    (
        "javascript",
        &[
            ("panic", "it panicked: the guard was told to panic Stack: panic@source.js:"),
            ("logged", "it panicked: the guard's last words."),
            ("loop", ENDLESS),
            ("memory", "it needed more than 64 MiB of memory."),
            ("recurse", "it panicked: too much recursion Stack: deeper@source.js:23:37."),
            ("result", "it panicked: expected a string, received [undefined]"),
        ],
    ),
    (
        "python",
        &[
            ("panic", "in panic ValueError: the guard was told to panic."),
            ("logged", "it panicked: the guard's last words."),
            ("loop", ENDLESS),
            ("memory", "it needed more than 64 MiB of memory."),
            ("recurse", "it ran out of stack"),
            ("leave", "it exited, reporting a failure."),
            ("result", "'int' object has no attribute 'reason'"),
            ("data", "it handed over more than 2 MiB in one call."),
            ("files", "FileNotFoundError: [Errno 44] No such file or directory: '/etc/passwd'."),
        ],
    ),
    (
        "rust",
        &[
            ("panic", "src/lib.rs:32:20: the guard was told to panic."),
            ("loop", ENDLESS),
            ("memory", "it needed more than 64 MiB of memory."),
            ("recurse", "it ran out of stack, in `golden_guard::deeper` again and again."),
            ("data", "it handed over more than 2 MiB in one call."),
            ("data-to-the-log", "it handed over more than 2 MiB in one call."),
        ],
    ),
];

fn copy_files(from: &PrivateDir, to: &PrivateDir) {
    for file in std::fs::read_dir(from.path()).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
}

fn tables() -> String {
    let table = |(name, _, grants, _): (&str, &str, &str, &str)| {
        format!("[plugin.{name}]\npath = \"{FOLDER}/{name}.wasm\"\ngrants = [{grants}]\n")
    };
    FEWER.to_owned() + &COMPONENTS.map(table).concat()
}

#[test]
fn every_golden_component_is_loaded_below() {
    let files = std::fs::read_dir(FOLDER).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, COMPONENTS.map(|(name, ..)| format!("{name}.wasm")));
}

#[test]
fn golden_components_load() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("harness.toml");
    std::fs::write(&config, tables()).unwrap();
    let mut command = harness();
    command.args(["plugin", "list", "--state-dir", STATE, "--config"]).arg(&config);
    command.env("HOME", home.path());
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{out}");
    for (name, role, _, says) in COMPONENTS {
        let mut lines = out.lines().skip_while(|line| !line.starts_with(&format!("{name} ")));
        let (head, more) = (lines.next().unwrap(), lines.next().unwrap());
        assert_eq!(head.split_whitespace().nth(1), Some(role), "{out}");
        assert_eq!(more.trim(), says, "{out}");
    }
}

/// The turns' calls: a path to write each.
fn script(paths: &[String]) -> String {
    let call = |path: &String| {
        format!("{{ tool = \"write\", input = {{ path = \"{path}\", content = \"x\\n\" }} }}")
    };
    let calls = paths.iter().map(call).collect::<Vec<_>>().join(",");
    let count = "{ tool = \"count_lines\", input = { path = \"three.txt\" } }";
    format!("[[turn]]\ncalls = [{count},{calls}]\n[[turn]]\ntext = \"I went on.\"\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn golden_components_work_and_break_in_words() {
    let mut rows = Vec::new();
    for (language, breaks) in BREAKS {
        rows.push((format!("protected-{language}/x"), language, "protected", "nothing below"));
        for (word, says) in breaks {
            rows.push((format!("break-{language}/{word}"), language, "guard-broken", *says));
        }
    }
    for language in ["javascript", "python"] {
        for _ in 0..2 {
            // Dice and clock of a guard are the same each time.
            let says = if language == "python" { " at 946684800.0" } else { " at 946684800000" };
            rows.push((format!("break-{language}/chance"), language, "chance", says));
        }
    }
    let mut paths: Vec<String> = rows.iter().map(|(path, ..)| path.clone()).collect();
    paths.push("made.txt".to_owned());
    let state = |root: &Path| PrivateDir::open(&root.join("state")).unwrap();
    let compiled = |root: &Path| state(root).subdirectory("compiled").unwrap();
    let kept = PrivateDir::open(Path::new(STATE)).and_then(|state| state.subdirectory("compiled"));
    let kept = kept.unwrap();
    let start = |root: &Path| {
        copy_files(&kept, &compiled(root));
        tables()
    };
    let rig = Rig::start_in(&script(&paths), start).await;
    rig.put("three.txt", "one\ntwo\nthree\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.reason(), reply.answer()), ("completed", "I went on."), "{:#}", reply.body);
    copy_files(&compiled(rig.root()), &kept);
    let ended = ended(&rig, &reply.run).await;
    let [counted, refused @ .., made] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!(counted.text, "`three.txt` has 3 lines");
    assert_eq!((&made.ending, rig.get("made.txt").as_str()), (&CallEnding::Succeeded, "x\n"));

    assert_eq!(refused.len(), rows.len());
    let log = rig.log();
    for ((path, language, rule, says), call) in rows.iter().zip(refused) {
        let EndedCall { ending, text, .. } = call;
        let guard = format!("{language}-guard");
        let denied = CallEnding::Denied { guard: guard.clone(), rule: (*rule).to_owned() };
        assert_eq!(*ending, denied, "`{path}`: {call:?}");
        assert!(says.split('|').any(|says| text.contains(says)), "`{path}`: no `{says}` in {text}");
        if *rule == "guard-broken" {
            let starts = format!("plugin `{guard}` broke in `check` after ");
            assert!(log.contains(&starts), "{log}");
        }
    }
    let chances: Vec<&str> = refused
        .iter()
        .map(|call| call.text.as_str())
        .filter(|text| text.contains(" at 946"))
        .collect();
    assert_eq!((chances[0], chances[2]), (chances[1], chances[3]));
}
