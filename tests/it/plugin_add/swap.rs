//! What a server that runs makes of it: a guard that comes, changes and goes.

use std::sync::atomic::{AtomicU32, Ordering};

use harness::event::CallEnding;

use super::component_of;
use crate::plugins::{EndedCall, FEWER, ended};
use crate::rig::{Rig, harness, until};

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

/// Waits until the server has loaded its plugins once more than `before` times.
async fn until_anew(rig: &Rig, before: usize) {
    until("plugins are loaded anew", || anew(rig) > before).await;
}

fn anew(rig: &Rig) -> usize {
    rig.log().matches("plugins were loaded anew").count()
}

fn is_denied_by_rule(call: &EndedCall, expected: &str) -> bool {
    matches!(&call.ending, CallEnding::Denied { rule, .. } if rule == expected)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_comes_changes_and_goes() {
    let mut rig = Rig::start(WRITES_A_FILE, FEWER).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    let offer = rig.root().join("mine.wasm");
    std::fs::write(&offer, component_of("misbehave-guard")).unwrap();
    let file = offer.to_str().unwrap();

    let before = anew(&rig);
    plugin(&rig, &["add", file, "--yes"]);
    until_anew(&rig, before).await;
    let config = rig.root().join("harness.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    let before = anew(&rig);
    std::fs::write(&config, text + "config = { do = \"deny\" }\n").unwrap();
    until_anew(&rig, before).await;
    assert!(is_denied_by_rule(&ask(&rig).await, "no-calls"));

    // Another file under its name, which nobody agreed to: the version before stays in force.
    let placed = rig.root().join("plugins/mine.wasm");
    let before = anew(&rig);
    std::fs::write(&placed, component_of("rust-guard")).unwrap();
    until_anew(&rig, before).await;
    assert!(is_denied_by_rule(&ask(&rig).await, "no-calls"));

    // Once it is agreed to, it is in force; that one lets this file be written.
    std::fs::write(&offer, component_of("rust-guard")).unwrap();
    let before = anew(&rig);
    plugin(&rig, &["add", file, "--yes"]);
    until_anew(&rig, before).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    std::fs::write(&offer, component_of("misbehave-guard")).unwrap();
    let before = anew(&rig);
    plugin(&rig, &["add", file, "--yes"]);
    until_anew(&rig, before).await;
    until("the new version is in force", || rig.log().contains("loaded anew")).await;
    assert!(is_denied_by_rule(&ask(&rig).await, "no-calls"));

    // It goes, and neither this server nor the next one misses it.
    let before = anew(&rig);
    plugin(&rig, &["remove", "mine", "--yes"]);
    until_anew(&rig, before).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    rig.kill_and_restart();
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    assert!(!placed.exists());

    // The lines that stayed go by the same command, and change nothing for a server.
    plugin(&rig, &["remove", "mine", "--yes"]);
    let text = std::fs::read_to_string(&config).unwrap();
    assert!(!text.contains("[plugin.mine]"), "{text}");
    rig.kill_and_restart();
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    assert!(!rig.log().contains("plugins stay as they are"), "{}", rig.log());
}
