//! The commands, as a person meets them.

use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

use harness::event::{Event, Recorded};

use crate::rig::{Rig, harness};

/// Runs a command in an empty home: whether it succeeded, and what it said on both outputs.
pub(crate) fn run(args: &[&str], environment: &[(&str, &str)]) -> (bool, String, String) {
    let home = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } = harness()
        .args(args)
        .env("HOME", home.path())
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.success(), text(stdout), text(stderr))
}

#[test]
fn the_demonstration_does_the_whole_job() {
    let temporary = tempfile::tempdir().unwrap();
    let place = temporary.path().to_str().unwrap();
    let (ok, out, err) = run(&["demo"], &[("TMPDIR", place), ("HARNESS_ADDR", "nonsense")]);
    assert!(ok, "{out}\n{err}");
    for fragment in [
        "+    total=$((total + quantity * cents))",
        "+- The total counts the quantity of each line.",
        "refused by denylist",
        "check.sh",
        "completed after 8 turns and 10 calls",
        "harness ledger run_",
    ] {
        assert!(out.contains(fragment), "no `{fragment}` in\n{out}");
    }
    // The command it names shows the record.
    let line = out.lines().find(|line| line.contains("harness ledger")).unwrap();
    let args: Vec<&str> = line.split_whitespace().skip(1).collect();
    let (ok, out, err) = run(&args, &[]);
    assert!(ok, "{err}");
    let last: Recorded = serde_json::from_str(out.lines().last().unwrap()).unwrap();
    assert!(matches!(last.event, Event::Ended { turns: 8, .. }), "{last:?}");
}

#[test]
fn plugins_are_listed_with_what_they_offer_and_may_use() {
    let (ok, out, err) = run(&["plugin", "list"], &[]);
    assert!(ok, "{out}\n{err}");
    for fragment in [
        "offers: read, write, edit; may use: workspace-read, workspace-write",
        "offers: bash; may use: process",
        "offers: glob, grep; may use: workspace-read",
        "generic, openai",
        "repeat",
        "denylist",
        "deadline",
    ] {
        assert!(out.contains(fragment), "no `{fragment}` in\n{out}");
    }
}

#[test]
fn a_plugin_that_does_not_load_is_listed_with_its_reason() {
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("c.toml");
    let bad = home.path().join("bad.wasm");
    std::fs::write(&bad, b"\0asm\x01\0\0\0").unwrap();
    std::fs::write(
        &config,
        format!(
            "[plugin.mine]\npath = \"{}\"\n[plugin.gone]\npath = \"/nowhere.wasm\"\n\
             [plugin.search]\ngrants = []\n",
            bad.display()
        ),
    )
    .unwrap();
    let (ok, out, _) = run(&["plugin", "list", "--config", config.to_str().unwrap()], &[]);
    assert!(!ok);
    for fragment in [
        "a core WebAssembly module, expected a component",
        "cannot read `/nowhere.wasm`",
        "imports `workspace-read`, which it was not granted",
        "grants = [\"workspace-read\"]",
    ] {
        assert!(out.contains(fragment), "no `{fragment}` in\n{out}");
    }
}

#[test]
fn every_problem_of_a_configuration_is_told_at_once() {
    let environment = [("HARNESS_ADDR", "0.0.0.0:80"), ("HARNESS_AGENT_MAX_TURNS", "many")];
    let (ok, _, err) = run(&["serve"], &environment);
    assert!(!ok);
    for fragment in [
        "3 problem(s)",
        "server.addr (environment HARNESS_ADDR): other machines reach `0.0.0.0:80`",
        "agent.max_turns",
        "upstream.base_url: not set; set it in the file or as `HARNESS_UPSTREAM_BASE_URL`",
    ] {
        assert!(err.contains(fragment), "no `{fragment}` in\n{err}");
    }
}

#[test]
fn a_mock_says_where_it_listens_and_what_is_wrong_with_its_script() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.toml");
    std::fs::write(&script, "[[turn]]\ntext = \"hi\"\n").unwrap();
    let mut child = harness()
        .arg("mock")
        .arg(&script)
        .args(["--addr", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.starts_with("mock listens on http://127.0.0.1:"), "{line}");
    std::fs::write(&script, "[[turn]]\ntxet = \"hi\"\n").unwrap();
    let (ok, _, err) = run(&["mock", script.to_str().unwrap()], &[]);
    assert!(!ok && err.contains("txet"), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_record_is_read_beside_a_server_that_writes_it() {
    let rig = Rig::start("[[turn]]\ntext = \"hi\"\n", "").await;
    let reply = rig.chat(&rig.body("go")).await;
    let state = rig.root().join("state");
    let state = state.to_str().unwrap();
    let (ok, out, err) = run(&["ledger", &reply.run, "--state-dir", state], &[]);
    assert!(ok, "{err}");
    assert_eq!(out.lines().count(), rig.events(&reply.run).await.len());
    let (ok, _, err) = run(&["ledger", "run_0", "--state-dir", state], &[]);
    assert!(!ok && err.contains("there is no run `run_0`"), "{err}");
    let second = run(
        &[
            "serve",
            "--state-dir",
            state,
            "--upstream-base-url",
            "http://127.0.0.1:9",
            "--upstream-model",
            "m",
            "--addr",
            "127.0.0.1:0",
        ],
        &[],
    );
    assert!(!second.0 && second.2.contains("ledger"), "{}", second.2);
}

#[test]
fn the_list_of_plugins_follows_the_configuration() {
    let (ok, out, err) = run(&["plugin", "list"], &[("HARNESS_SHELL_ENABLED", "false")]);
    assert!(ok && out.contains("glob, grep") && !out.contains("bash"), "{out}\n{err}");
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("c.toml");
    std::fs::write(&config, "[agent]\nmax_turn = 3\n").unwrap();
    let (ok, _, err) = run(&["plugin", "list", "--config", config.to_str().unwrap()], &[]);
    assert!(!ok && err.contains("did you mean `agent.max_turns`"), "{err}");
}
