//! Proposals that any guard may be shown: ordinary ones, and odd ones.
//!
//! The ordinary ones say what a check costs, the odd ones whether it holds. What a guard should
//! think of them is nobody's business here.

use serde_json::{Value, json};

use crate::wit::{Call, EFFECTS, Effects, NamedPath, PastCall, Proposal};

/// Calls that a guard may see, at most.
const CALLS: usize = 64;

/// Bytes of an input that guards see of a past call.
const HEAD_BYTES: usize = 256;

/// The largest input that an odd proposal has.
const LARGE_BYTES: usize = 1 << 20;

/// A call's digest, and that of an outcome.
pub(super) fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// A proposal of one call, with nothing before it; `input` is canonical.
pub(super) fn proposal(tool: &str, input: String, effects: Effects) -> Proposal {
    let call = Call {
        id: "call_1".to_owned(),
        tool: tool.to_owned(),
        input,
        turn: 1,
        remaining_ms: 60_000,
    };
    Proposal {
        input_digest: digest(&call.input),
        call,
        effects,
        paths: Vec::new(),
        timeout_ms: None,
        earlier: Vec::new(),
        config: String::new(),
        extra: None,
    }
}

/// A call before: what it did is left out where nobody asks.
pub(super) fn past(tool: &str, input: &str) -> PastCall {
    PastCall {
        tool: tool.to_owned(),
        input_head: input[..input.floor_char_boundary(HEAD_BYTES)].to_owned(),
        input_digest: digest(input),
        refused: false,
        succeeded: true,
        exit_code: None,
        outcome_digest: digest(""),
        workspace_changed_since: false,
    }
}

/// What models propose all the time, each with a name for it.
pub(super) fn ordinary() -> Vec<(&'static str, Proposal)> {
    let read = text(json!({ "path": "src/main.rs" }));
    let write = text(json!({ "path": "src/main.rs", "content": "fn main() {}\n".repeat(80) }));
    let run = text(json!({ "command": "cargo test --workspace", "timeout_seconds": 60 }));
    let mut reading = proposal("read", read, Effects::READ);
    reading.paths = vec![named("path", "src/main.rs")];
    let mut writing = proposal("write", write, Effects::READ | Effects::WRITE);
    writing.paths = vec![named("path", "src/main.rs")];
    writing.earlier = vec![past("read", &reading.call.input); 8];
    let mut running = proposal("bash", run, Effects::READ | Effects::WRITE | Effects::EXECUTE);
    running.timeout_ms = Some(60_000);
    vec![("a read", reading), ("a write of 1 kB", writing), ("a command", running)]
}

/// What a guard must not break on, each with a name for it.
pub(super) fn odd() -> Vec<(&'static str, Proposal)> {
    // Not `all()`, which sets the bits that no effect has.
    let every = EFFECTS.iter().fold(Effects::empty(), |all, (_, one)| all | *one);
    let mut pathless = proposal("write", text(json!({ "content": "a" })), Effects::WRITE);
    pathless.paths = vec![NamedPath { argument: "path".to_owned(), path: None }];
    let unicode = "\u{0}\u{7f}é\u{301}\u{202e}\u{1f9d1}\u{200d}\u{1f680}\u{10ffff}".repeat(50);
    let mut strange = proposal("bash", text(json!({ "command": unicode, "π": "\n\t\"\\" })), every);
    strange.paths = vec![named("π", &unicode)];
    let mut later = proposal("bash", text(json!({ "command": "true" })), every);
    later.earlier = (0..CALLS)
        .map(|at| PastCall {
            refused: at % 3 == 0,
            succeeded: at % 3 == 1,
            exit_code: (at % 3 == 1).then_some(0),
            workspace_changed_since: at % 2 == 0,
            ..past("bash", &format!("{{\"command\":\"{}", "x".repeat(at * 8)))
        })
        .collect();
    let large = text(json!({ "path": "a", "content": "word ".repeat(LARGE_BYTES / 5) }));
    vec![
        ("an empty input", proposal("read", "{}".to_owned(), Effects::READ)),
        ("an input of 1 MiB", proposal("write", large, every)),
        ("letters of every kind", strange),
        ("a tool it does not know", proposal("no_such_tool", "{\"a\":[]}".to_owned(), every)),
        ("no effects", proposal("think", "{}".to_owned(), Effects::empty())),
        ("a path that leads nowhere", pathless),
        ("64 calls before", later),
    ]
}

fn text(value: Value) -> String {
    value.to_string()
}

fn named(argument: &str, path: &str) -> NamedPath {
    NamedPath { argument: argument.to_owned(), path: Some(path.to_owned()) }
}
