//! What is wrong before a plugin runs: files, grants, names. What might be a guard refuses; a
//! tool is left out.

use harness::event::CallEnding;
use harness::plugin::POWERS;
use harness_guests::Guest;

use super::misbehave_tool::{self, GRANTS};
use super::{
    IS_REFUSED_A_FILE, WRITES_A_FILE, assert_refused, ended, list, misbehave_guard, start,
    write_a_file,
};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_may_have_been_a_guard_refuses() {
    let check = async |guest: Guest, keys: &str, says: &str| {
        let rig = start(IS_REFUSED_A_FILE, guest, keys).await;
        let call = write_a_file(&rig).await;
        assert_refused(&rig, &call, "guard-broken");
        assert!(call.text.contains(says), "no `{says}` in {}", call.text);
    };
    let broken = |bytes| Guest { name: "broken", bytes };
    let half = &misbehave_guard::GUEST.bytes[..misbehave_guard::GUEST.bytes.len() / 2];
    check(broken(half), "", "not a component this host can run").await;
    check(broken(b"#!/bin/sh\n"), "", "not a component this host can run").await;
    check(broken(b"\0asm\x01\0\0\0"), "", "a core WebAssembly module").await;
    check(misbehave_guard::GUEST, "grants = [\"fly\"]", "`fly` in `grants` is not a power").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_there_refuses_unless_it_stands_for_a_tool() {
    let start = async |script: &str, name: &str| {
        Rig::start(script, &format!("[plugin.{name}]\npath = \"/missing.wasm\"\n")).await
    };
    let rig = start(IS_REFUSED_A_FILE, "mine").await;
    let call = write_a_file(&rig).await;
    assert_refused(&rig, &call, "guard-broken");
    assert!(call.text.contains("cannot read `/missing.wasm`"), "{}", call.text);

    // The default plugin of that name is a tool, so its replacement can only be one.
    let rig = start(WRITES_A_FILE, "files").await;
    let call = write_a_file(&rig).await;
    assert_eq!(call.ending, CallEnding::Invalid, "{call:?}");
    assert!(call.text.contains("there is no tool `write`"), "{}", call.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_is_disabled_takes_its_tools_with_it() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "read", input = { path = "a.txt" } }, { tool = "glob", input = { pattern = "*" } }]
        [[turn]]
        calls = [
            { tool = "write", input = { path = "made.txt", content = "made\n" } },
            { tool = "edit", input = { path = "a.txt", old = "a", new = "b" } },
            { tool = "bash", input = { command = "echo bash is there" } },
        ]
        [[turn]]
        text = "I went on."
    "#;
    let rig = Rig::start(script, "[plugin.files]\nenabled = false\n").await;
    rig.put("a.txt", "a\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "I went on."), "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    assert_eq!(ended.len(), 5, "{ended:?}");
    for call in &ended {
        if matches!(call.tool.as_str(), "read" | "write" | "edit") {
            assert_eq!(call.ending, CallEnding::Invalid, "{call:?}");
            assert!(call.text.contains("the tools are `bash`, `glob`, `grep`"), "{}", call.text);
        } else {
            assert_eq!(call.ending, CallEnding::Succeeded, "{call:?}");
        }
    }
    assert_eq!(rig.get("a.txt"), "a\n");
    assert!(!rig.workspace().join("made.txt").exists());
}

#[test]
fn what_is_wrong_with_a_tool_is_listed() {
    let check = |keys: &str, says: &str| {
        let (ok, out) = list(misbehave_tool::GUEST, keys);
        assert!(!ok, "{out}");
        let says = format!("DOES NOT LOAD: {}", says.replace('\n', "\n    "));
        assert!(out.contains(&says), "no `{says}` in\n{out}");
        let line = out.lines().find(|line| line.starts_with("mine ")).unwrap();
        assert_eq!(line.split_whitespace().nth(1), Some("tool"), "{out}");
    };
    let not_granted = "imports `workspace-write`, which it was not granted\n\
                       hint: if you trust it with that, put this under `[plugin.mine]`: \
                       grants = [\"workspace-write\", \"process\", \"state\"]";
    check("", not_granted);
    check("grants = [\"state\", \"workspace-read\"]", not_granted);
    check("grants = [\"workspaces\"]", "`workspaces` in `grants` is not a power");
    let with = |config: &str| format!("{GRANTS}\nconfig = {{ {config} }}");
    check(
        &with("offer = \"read\""),
        "tool `read` is there already\n\
         hint: `replaces = [\"read\"]` under `[plugin.mine]` puts this one in its place",
    );
    check(&with("offer = \"loop\""), "tool `loop` is offered twice");
    check(&with("offer = \"two words\""), "tool name `two words` must be 1 to 64 of");
    check(&with("offer = \"x\", schema = \"{\""), "tool `x`: input schema is not JSON");
    check(&with("offer = \"x\", schema = \"[]\""), "tool `x`: input schema must have");
    check(&with("specs = \"panic\""), "plugin `mine` broke in `specs`");

    let (ok, out) = list(misbehave_tool::GUEST, GRANTS);
    assert!(ok, "{out}");
    assert!(out.contains("may use: workspace-write, process, state"), "{out}");
}

#[test]
fn each_power_is_granted_by_its_own_name() {
    let files = harness_bundle::PLUGINS.iter().find(|plugin| plugin.name == "files").unwrap();
    let files = Guest { name: "files", bytes: files.bytes };
    for power in POWERS {
        let (guest, imported): (Guest, &[&str]) = match power {
            "workspace-read" => (files, &["workspace-read", "workspace-write"]),
            "fetch" => (crate::fetch::GUEST, &["fetch"]),
            _ => (misbehave_tool::GUEST, &["workspace-write", "process", "state"]),
        };
        let others: Vec<&str> = POWERS.into_iter().filter(|other| *other != power).collect();
        let (_, out) = list(guest, &format!("grants = {others:?}\nfetch = [\"a.example\"]"));
        let says = format!("imports `{power}`, which it was not granted");
        assert!(imported.contains(&power) && out.contains(&says), "no `{says}` in\n{out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_stands_in_for_another_where_the_configuration_says_so() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "read", input = {} }, { tool = "write", input = { path = "a", content = "" } }]
        [[turn]]
        text = "I went on."
    "#;
    let keys = format!("{GRANTS}\nreplaces = [\"read\"]\nconfig = {{ offer = \"read\" }}");
    let rig = start(script, misbehave_tool::GUEST, &keys).await;
    let reply = rig.chat(&rig.body("read it")).await;
    assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    // The other tools of the plugin whose one was replaced are there as before.
    assert_eq!(ended[1].ending, CallEnding::Succeeded, "{ended:?}");
    assert!(ended[0].text.contains("`read` is nothing this tool can do"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_named_like_another_is_not_offered_and_the_other_is() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "read", input = { path = "a.txt" } }, { tool = "fault", input = {} }]
        [[turn]]
        text = "I went on."
    "#;
    let keys = format!("{GRANTS}\nconfig = {{ offer = \"read\" }}");
    let rig = start(script, misbehave_tool::GUEST, &keys).await;
    rig.put("a.txt", "what stands there\n");
    let reply = rig.chat(&rig.body("read it")).await;
    assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    assert_eq!(ended[0].ending, CallEnding::Succeeded, "{ended:?}");
    assert!(ended[0].text.contains("what stands there"), "{ended:?}");
    assert_eq!(ended[1].ending, CallEnding::Invalid, "{ended:?}");
}
