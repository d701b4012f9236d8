//! What a server that runs makes of it: a guard that comes, changes and goes.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use harness::event::CallEnding;

use super::component_of;
use crate::plugins::{EndedCall, FEWER, ended};
use crate::rig::{PATIENCE, Rig, harness, until};

/// One call that leaves a file when it runs, then an answer.
const WRITES_A_FILE: &str = r#"
    [[turn]]
    calls = [{ tool = "write", input = { path = "made.txt", content = "made\n" } }]
    [[turn]]
    text = "I went on."
"#;

/// Runs `harness plugin …` on the server's configuration.
#[track_caller]
fn plugin(rig: &Rig, args: &[&str]) {
    let config = rig.root().join("harness.toml");
    let output = harness()
        .arg("plugin")
        .args(args)
        .arg("--config")
        .arg(config)
        .env("HOME", rig.root())
        .env("ORACLE", crate::rig::ORACLE)
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// Asks once; how the one call ended.
async fn ask(rig: &Rig) -> EndedCall {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let _ = std::fs::remove_file(rig.workspace().join("made.txt"));
    let task = format!("write file {}", NEXT.fetch_add(1, Ordering::Relaxed));
    let reply = rig.chat(&rig.body(&task)).await;
    assert_eq!((reply.status, reply.answer()), (200, "I went on."), "{:#}", reply.body);
    ended(rig, &reply.run).await.remove(0)
}

/// Asks until the call ends so: a server that looks while something is written looks again.
async fn until_it_is(rig: &Rig, expected: &CallEnding) {
    let start = Instant::now();
    loop {
        let call = ask(rig).await;
        if call.ending == *expected {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "waited in vain for {expected:?}: {call:?}");
    }
}

fn denied(rule: &str) -> CallEnding {
    CallEnding::Denied { guard: "mine".to_owned(), rule: rule.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_comes_changes_and_goes() {
    let mut rig = Rig::start(WRITES_A_FILE, FEWER).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    let offer = rig.root().join("mine.wasm");
    std::fs::write(&offer, component_of("misbehave-guard")).unwrap();
    let file = offer.to_str().unwrap();

    plugin(&rig, &["add", file, "--yes"]);
    // It breaks without its setting, and so refuses: it is in force.
    until_it_is(&rig, &denied("guard-broken")).await;
    let config = rig.root().join("harness.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text + "config = { do = \"deny\" }\n").unwrap();
    until_it_is(&rig, &denied("no-calls")).await;

    // Another file under its name, which nobody agreed to: the version before stays in force.
    let placed = rig.root().join("plugins/mine.wasm");
    std::fs::write(&placed, component_of("rust-guard")).unwrap();
    until("the other file was seen", || rig.log().contains("is pinned")).await;
    assert_eq!(ask(&rig).await.ending, denied("no-calls"));

    // Once it is agreed to, it is in force; that one lets this file be written. And back.
    std::fs::write(&offer, component_of("rust-guard")).unwrap();
    plugin(&rig, &["add", file, "--yes"]);
    until_it_is(&rig, &CallEnding::Succeeded).await;
    std::fs::write(&offer, component_of("misbehave-guard")).unwrap();
    plugin(&rig, &["add", file, "--yes"]);
    until_it_is(&rig, &denied("no-calls")).await;

    // It goes, and neither this server nor the next one misses it.
    plugin(&rig, &["remove", "mine", "--yes"]);
    until_it_is(&rig, &CallEnding::Succeeded).await;
    assert!(!placed.exists());
    rig.kill_and_restart();
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);

    // The lines that stayed go by the same command, and change nothing for a server.
    let anew = || rig.log().matches("plugins were loaded anew").count();
    let before = anew();
    plugin(&rig, &["remove", "mine", "--yes"]);
    until("plugins are loaded anew", || anew() > before).await;
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(!text.contains("[plugin.mine]"), "{text}");
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    assert!(!rig.log().contains("plugins stay as they are"), "{}", rig.log());
}
