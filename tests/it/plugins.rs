//! Plugins that misbehave, through the real server: what they break, and what they must not.
//!
//! One module for each guest of `testdata/guests` and each example, and `loading` for what is wrong before a
//! guest runs. A guard that is broken refuses, a tool that is broken is one failed call, and the
//! run lives on either way.

mod cache;
mod chain;
mod failures;
mod golden;
mod grabby_guard;
mod hang;
mod loading;
mod misbehave_guard;
mod misbehave_tool;
mod narrowed;
mod old_contract;
mod reload;
mod runtime_guard;
mod tests_first;
mod todo;

use std::path::Path;
use std::process::Output;

use harness::event::{CallEnding, Event};
use harness_guests::{GUESTS, Guest};

use crate::fetch;
use crate::rig::{Rig, harness};

/// The guest of each module. A guest without one does not compile: the lengths differ.
const USED: [Guest; GUESTS.len()] = [
    misbehave_guard::GUEST,
    misbehave_tool::GUEST,
    grabby_guard::GUEST,
    old_contract::GUEST,
    runtime_guard::GUEST,
    fetch::GUEST,
    fetch::DOCS,
    tests_first::GUEST,
    todo::GUEST,
];

#[test]
fn every_guest_is_used_once() {
    let mut used = USED.map(|guest| guest.name);
    used.sort_unstable();
    let mut all: Vec<&str> = GUESTS.iter().map(|guest| guest.name).collect();
    all.sort_unstable();
    assert_eq!(used.as_slice(), all);
}

/// What a server's default plugins are not needed for.
pub(crate) const FEWER: &str = "[plugin.search]\nenabled = false\n[plugin.shell]\nenabled = false\n\
                     [plugin.repeat]\nenabled = false\n[plugin.denylist]\nenabled = false\n\
                     [plugin.deadline]\nenabled = false\n";

/// One call that leaves a file when it runs, then an answer.
const WRITES_A_FILE: &str = r#"
    [[turn]]
    calls = [{ tool = "write", input = { path = "made.txt", content = "made\n" } }]
    [[turn]]
    text = "I went on."
"#;

/// The same, by a model that is told of the refusal.
const IS_REFUSED_A_FILE: &str = r#"
    [[turn]]
    calls = [{ tool = "write", input = { path = "made.txt", content = "made\n" } }]
    [[turn]]
    expect = ["refused by guard `mine`"]
    text = "I went on."
"#;

/// A server that has `guest` as the plugin `mine`, with `keys` in its table.
async fn start(script: &str, guest: Guest, keys: &str) -> Rig {
    Rig::start_in(script, |root| FEWER.to_owned() + &table(root, guest, keys)).await
}

/// Puts `guest` into `root`; the table of the plugin `mine`.
pub(crate) fn table(root: &Path, guest: Guest, keys: &str) -> String {
    let path = root.join(format!("{}.wasm", guest.name));
    std::fs::write(&path, guest.bytes).unwrap();
    format!("[plugin.mine]\npath = \"{}\"\n{keys}\n", path.display())
}

/// `harness plugin list` with `guest` as the plugin `mine`: whether it succeeded, what it said.
pub(crate) fn list(guest: Guest, keys: &str) -> (bool, String) {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("harness.toml");
    std::fs::write(&config, FEWER.to_owned() + &table(home.path(), guest, keys)).unwrap();
    let mut command = harness();
    command.args(["plugin", "list", "--config"]).arg(&config).env("HOME", home.path());
    let Output { status, stdout, .. } = command.output().unwrap();
    (status.success(), String::from_utf8(stdout).unwrap())
}

/// How a call ended.
#[derive(Debug)]
pub(crate) struct EndedCall {
    pub(crate) tool: String,
    pub(crate) ending: CallEnding,
    pub(crate) text: String,
    pub(crate) summary: String,
}

/// Every call of a run, in order.
pub(crate) async fn ended(rig: &Rig, run: &str) -> Vec<EndedCall> {
    let events = rig.events(run).await;
    let ended = events.into_iter().filter_map(|recorded| match recorded.event {
        Event::CallEnded { tool, ending, text, summary, .. } => {
            Some(EndedCall { tool, ending, text, summary })
        }
        _ => None,
    });
    ended.collect()
}

/// Plays one of the two scripts: the run must go on after the call; how the call ended.
async fn write_a_file(rig: &Rig) -> EndedCall {
    let reply = rig.chat(&rig.body("write a file")).await;
    let told = (reply.status, reply.reason(), reply.answer());
    assert_eq!(told, (200, "completed", "I went on."), "{:#}", reply.body);
    rig.assert_clean_requests();
    let mut ended = ended(rig, &reply.run).await;
    assert_eq!(ended.len(), 1, "{ended:?}");
    ended.remove(0)
}

/// The call of [`IS_REFUSED_A_FILE`] was refused by the plugin `mine`, and did not run.
#[track_caller]
fn assert_refused(rig: &Rig, call: &EndedCall, rule: &str) {
    let expected = CallEnding::Denied { guard: "mine".to_owned(), rule: rule.to_owned() };
    assert_eq!(call.ending, expected, "{call:?}");
    let start = format!("refused by guard `mine` (rule `{rule}`), nothing was done: ");
    assert!(call.text.starts_with(&start), "{}", call.text);
    assert!(!rig.workspace().join("made.txt").exists(), "the tool ran: {call:?}");
}
