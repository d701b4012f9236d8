//! `logs`: what a plugin said while a server ran, every level, without secrets.

use harness_guests::{Guest, guest};

use crate::cli;
use crate::rig::Rig;

const GUEST: Guest = guest("misbehave-guard");

const SCRIPT: &str = r#"
    [[turn]]
    calls = [{ tool = "write", input = { path = "made.txt", content = "made\n" } }]
    [[turn]]
    text = "I went on."
"#;

/// Lines that one check may log; the guest writes more.
const LINES: usize = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn each_plugin_has_a_file_of_its_own() {
    let rig = Rig::start_in(SCRIPT, |root| {
        let path = root.join("mine.wasm");
        std::fs::write(&path, GUEST.bytes).unwrap();
        format!(
            "[plugin.mine]\npath = \"{}\"\nconfig = {{ do = \"panic-after-flood\" }}\n",
            path.display()
        )
    })
    .await;
    let reply = rig.chat(&rig.body("write a file")).await;
    assert_eq!(reply.reason(), "completed", "{:#}", reply.body);
    let state = rig.root().join("state").display().to_string();
    let logs = |name: &str| cli::run(&["plugin", "logs", name, "--state-dir", state.as_str()], &[]);
    let (ok, out, err) = logs("mine");
    assert!(ok, "{err}");
    let flood: Vec<&str> = out.lines().filter(|line| line.contains("  flood line ")).collect();
    assert_eq!(flood.len(), LINES, "{err}");
    assert!(flood.iter().all(|line| line.contains("Z INFO  flood line ")), "{}", flood[0]);
    // What the host says of it stands there too.
    assert!(out.contains("Z ERROR plugin `mine` broke in `check` after "), "{out}");
    let (ok, _, err) = logs("files");
    assert!(!ok && err.starts_with("error: the plugin `files` has said nothing under "), "{err}");
    let (ok, _, err) = logs("../ledger");
    assert!(!ok && err.starts_with("error: no plugin named `../ledger` can have a log"), "{err}");
}
