//! Runs of calls, each with what the guard says to a write after it.

use super::*;
use harness_sdk::{Call, PastCall};

const WRITES: Effects = Effects::READ.union(Effects::WRITE);

/// A command before, with its exit code.
fn ran(command: &str, exit_code: Option<i32>) -> PastCall {
    let input = format!("{{\"command\":{}}}", harness_sdk::quoted(command));
    PastCall {
        tool: "bash".into(),
        input_head: input[..input.floor_char_boundary(256)].to_owned(),
        input_digest: String::new(),
        refused: false,
        succeeded: exit_code.is_some(),
        exit_code,
        outcome_digest: String::new(),
        workspace_changed_since: false,
    }
}

fn judge(
    path: Option<&str>,
    effects: Effects,
    config: &str,
    earlier: Vec<PastCall>,
) -> Option<Denial> {
    TestsFirst::check(Proposal {
        call: Call {
            id: "c".into(),
            tool: "write".into(),
            input: "{}".into(),
            turn: 9,
            remaining_ms: 60_000,
        },
        input_digest: "a".into(),
        effects,
        paths: vec![NamedPath { argument: "path".into(), path: path.map(str::to_owned) }],
        timeout_ms: None,
        earlier,
        config: config.into(),
        extra: None,
    })
}

#[test]
fn what_the_last_tests_said() {
    let check = |earlier: &[(&str, Option<i32>)], expected: Tests| {
        let calls: Vec<PastCall> =
            earlier.iter().map(|(command, code)| ran(command, *code)).collect();
        let commands = Rules::read("{}").unwrap().test;
        assert_eq!(Tests::of(&calls, &commands), expected, "{earlier:?}");
    };
    let (red, green) = (Some(101), Some(0));
    check(&[], Tests::NotRun);
    check(&[("cargo test", red)], Tests::Failed);
    check(&[("cargo test", green)], Tests::Passed);
    check(&[("cargo test", red), ("cargo test --lib", green)], Tests::Passed);
    check(&[("cargo test", green), ("pytest -x a.py", Some(1)), ("ls", green)], Tests::Failed);
    check(&[("cd a && RUST_LOG=info cargo  test -q 2>&1", red)], Tests::Failed);
    check(&[("set -e\nnpm test\n", Some(1))], Tests::Failed);
    check(&[("echo cargo test", Some(1))], Tests::NotRun);
    check(&[("cargo testing", red), ("pytester", red), ("cargo build", red)], Tests::NotRun);
    check(&[("pytest", Some(127))], Tests::NotRun);
    // The exit code is another command's, or nobody's.
    check(&[("cargo test | tail -5", green)], Tests::Unclear);
    check(&[("cargo test || true", green)], Tests::Unclear);
    check(&[("make || cargo test", red)], Tests::Unclear);
    check(&[("cargo test; exit 1", Some(1))], Tests::Unclear);
    check(&[("cargo test &", green)], Tests::Unclear);
    check(&[("cargo test", None)], Tests::Unclear);
    check(&[("cargo test", red), ("cargo test > log; cat log", green)], Tests::Unclear);
    check(&[(&format!("cargo test {}", "a ".repeat(200)), red)], Tests::Unclear);
    check(&[(&format!("echo {} && cargo test", "a ".repeat(200)), red)], Tests::NotRun);
}

#[test]
fn a_refused_test_says_nothing() {
    let refused = PastCall { refused: true, ..ran("cargo test", Some(101)) };
    let other = PastCall { tool: "shell".into(), ..ran("cargo test", Some(101)) };
    assert!(judge(Some("src/a.rs"), WRITES, "{}", vec![refused, other]).is_some());
}

#[test]
fn what_is_code() {
    let check = |path: Option<&str>, config: &str, rule: Option<&str>| {
        let denial = judge(path, WRITES, config, Vec::new());
        assert_eq!(
            denial.as_ref().map(|it| it.rule.as_str()),
            rule,
            "{path:?} {config} {denial:?}"
        );
    };
    let refused = Some("no-failing-test");
    check(Some("src/a.rs"), "{}", refused);
    check(Some("src"), "{}", refused);
    check(Some("src2/a.rs"), "{}", None);
    check(Some("tests/src/a.rs"), "{}", None);
    check(None, "{}", refused);
    let lib = r#"{"paths":["./lib/","main.py"]}"#;
    check(Some("src/a.rs"), lib, None);
    check(Some("lib/a/b.py"), lib, refused);
    check(Some("main.py"), lib, refused);
    check(Some("a.txt"), r#"{"paths":["."]}"#, refused);
    for config in ["", "[]x", r#"{"paths":"src"}"#, r#"{"test":[]}"#, r#"{"test":[" "]}"#] {
        check(Some("docs/a.md"), config, Some("configuration"));
    }
}

#[test]
fn only_what_writes_files_is_held_back() {
    let check = |effects: Effects, is_refused: bool| {
        let denial = judge(Some("src/a.rs"), effects, "{}", Vec::new());
        assert_eq!(denial.is_some(), is_refused, "{effects:?}");
    };
    check(WRITES, true);
    check(Effects::WRITE, true);
    check(Effects::READ, false);
    check(WRITES | Effects::EXECUTE, false);
}
