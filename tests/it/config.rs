//! The configuration, from what a person writes to what the binary says and does.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;

use harness::config::{KEYS, Key, Layers, Settings};

use crate::cli::run;
use crate::rig::{KEY, Rig};

/// What `serve` needs at least, as flags.
const BASE: [&str; 4] =
    ["--upstream-base-url", "http://127.0.0.1:9/v1", "--upstream-model", "scripted"];

/// A key with characters that JSON writes otherwise.
const QUOTED_KEY: &str = "sk-\"quoted\"-0123456789";

#[track_caller]
fn assert_has(text: &str, fragments: &[&str]) {
    for fragment in fragments {
        assert!(text.contains(fragment), "no `{fragment}` in\n{text}");
    }
}

#[test]
fn every_setting_is_printed_with_its_value_and_origin() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("h.toml");
    std::fs::write(
        &file,
        "[agent]\nmax_turns = 7\n[server]\ntokens = [\"token-0123456789abcdef\"]\n\
         [guards]\ndeny = [\"git push *\", \"make\"]\n[plugin.shell]\nconfig = { secret = \"s\" }\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let environment =
        [("HARNESS_UPSTREAM_API_KEY", KEY), ("HARNESS_MAX_TURNS", "3"), ("XDG_STATE_HOME", "/s")];
    let (ok, out, err) = run(&[&["config", "--config", file][..], &BASE].concat(), &environment);
    assert!(ok, "{out}\n{err}");
    let names: Vec<&str> = out.lines().filter_map(|line| line.split(' ').next()).collect();
    let keys: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    assert_eq!(names[..keys.len()], keys, "{out}");
    let squeezed = out.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    assert_has(
        &squeezed,
        &[
            &format!("agent.max_turns 7 (file {file})\n"),
            &format!("server.tokens set (file {file})\n"),
            &format!("guards.deny [\"git push *\", \"make\"] (file {file})\n"),
            "upstream.model scripted (flag)\n",
            "upstream.api_key set (environment HARNESS_UPSTREAM_API_KEY)\n",
            "upstream.profile not set\n",
            "server.max_runs 64 (default)\n",
            "state.dir /s/harness (default)\n",
            "workspace.root /s/harness/workspaces (default)\n",
            "plugin.shell config of secret, timeout_seconds\n",
            "warning: environment HARNESS_MAX_TURNS: no setting has this name",
        ],
    );
    assert!(!out.contains(KEY) && !out.contains("token-0123"), "{out}");
}

#[test]
fn problems_follow_the_settings_and_a_secret_is_in_none_of_them() {
    // The key stands where another value should.
    let environment = [
        ("HARNESS_UPSTREAM_API_KEY", KEY),
        ("HARNESS_WORKSPACE_BUSY", KEY),
        ("HARNESS_SERVR_ADDR", "x"),
        ("HARNESS_SERVER_TOKENS", "short"),
    ];
    let problems = [
        "server.tokens (environment HARNESS_SERVER_TOKENS): number 1: expected 16 or more",
        "upstream.base_url: not set",
        "workspace.busy (environment HARNESS_WORKSPACE_BUSY): expected one of `refuse`, `queue`, \
         got `[redacted]`",
    ];
    let warning = "warning: environment HARNESS_SERVR_ADDR: no setting has this name, did you \
                   mean `HARNESS_SERVER_ADDR`?";
    for command in ["config", "serve", "doctor"] {
        let (ok, out, err) = run(&[command], &environment);
        assert!(!ok, "{command}: {out}");
        let said = format!("{out}\n{err}");
        assert_has(&said, &problems);
        let warning = if command == "doctor" { &warning[9..] } else { warning };
        assert_has(&said, &[warning]);
        assert!(!said.contains(KEY), "{said}");
        assert!(!said.contains("listens on"), "{said}");
    }
}

#[test]
fn a_server_that_cannot_start_says_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let check = |args: &[&str], says: &[&str]| {
        let (ok, _, err) = run(&[&["serve"][..], args, &BASE].concat(), &[]);
        assert!(!ok, "{args:?}: {err}");
        assert_has(&err, says);
    };
    check(&["--addr", &taken], &["something listens there already", "hint: ", "`--addr`"]);
    check(&["--config", "/nowhere.toml"], &["no configuration file `/nowhere.toml`", "hint: "]);
    let overlap = ["--state-dir", "/tmp/one/two", "--workspace-root", "/tmp/one"];
    check(&overlap, &["`workspace.root`, `/tmp/one`, and `state.dir`, `/tmp/one/two`", "hint: "]);
    let reached = ["--addr", "0.0.0.0:0"];
    check(&reached, &["set `server.allow_non_loopback` (`--allow-non-loopback`)"]);
    check(&["--addr", "0.0.0.0:0", "--allow-non-loopback"], &["set `server.tokens`"]);
    let (ok, _, err) = run(&["ledger", "run_1", "--state-dir", "/nowhere/at/all"], &[]);
    assert!(!ok, "{err}");
    assert_has(&err, &["there is no ledger `/nowhere/at/all/ledger.sqlite`", "`--state-dir`"]);
}

#[test]
fn a_file_is_never_read_because_it_lies_in_the_current_directory() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("harness.toml"), "nonsense").unwrap();
    let out = crate::rig::harness()
        .args([&["config"][..], &BASE, &["--audit-log", "calls.log", "--state-dir", "s"]].concat())
        .current_dir(place.path())
        .env("HOME", place.path().join("home"))
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}");
    // A path of a flag starts there all the same.
    let here = place.path().canonicalize().unwrap();
    for name in ["calls.log", "s"] {
        assert_has(&text, &[&format!(" {}  (flag)", here.join(name).display())]);
    }
}

#[test]
fn a_log_of_json_has_no_secret_in_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    // The name of an unknown variable is logged, and this one holds the key.
    let variable = format!("HARNESS_{QUOTED_KEY}");
    let environment = [("HARNESS_UPSTREAM_API_KEY", QUOTED_KEY), (variable.as_str(), "1")];
    let args = [&["serve", "--log-format", "json", "--addr", &addr][..], &BASE].concat();
    let (ok, _, err) = run(&args, &environment);
    assert!(!ok, "{err}");
    let line: serde_json::Value = serde_json::from_str(err.lines().next().unwrap()).unwrap();
    assert_eq!(line["level"], "WARN", "{err}");
    let message = line["fields"]["message"].as_str().unwrap();
    assert_eq!(message, "environment HARNESS_[redacted]: no setting has this name");
    assert!(!err.contains("0123456789"), "{err}");
}

/// An upstream that says `answer` to whoever connects, once.
fn answers(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut request = [0; 4096];
        let length = socket.read(&mut request).unwrap();
        let request = String::from_utf8_lossy(&request[..length]).into_owned();
        assert!(request.starts_with("GET /v1/models?k=hidden HTTP/1.1"), "{request}");
        assert!(request.contains(KEY), "{request}");
        socket.write_all(answer.as_bytes()).unwrap();
    });
    format!("http://{address}/v1?k=hidden")
}

/// Whether the doctor is content with this upstream, and what it says.
fn examined(base_url: &str, state: &Path) -> (bool, String) {
    let state = state.to_str().unwrap();
    let args = ["doctor", "--upstream-base-url", base_url, "--upstream-model", "m"];
    let place = ["--state-dir", state, "--addr", "127.0.0.1:0"];
    let environment = [("HARNESS_UPSTREAM_API_KEY", KEY), ("HARNESS_CONTEXT_WINDOW", "32768")];
    let (ok, out, err) = run(&[args.as_slice(), &place].concat(), &environment);
    let said = format!("{out}{err}");
    assert!(!said.contains(KEY) && !said.contains("hidden"), "{said}");
    (ok, said)
}

#[test]
fn the_doctor_tells_what_is_well_and_changes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let state = place.path().join("state");
    let upstream = answers("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}");
    let (ok, said) = examined(&upstream, &state);
    assert!(ok, "{said}");
    let squeezed: Vec<String> =
        said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let squeezed = squeezed.join("\n");
    assert_has(
        &squeezed,
        &[
            "ok configuration settings: no file, 2 from the environment, 4 from flags",
            "ok bash /",
            &format!("state directory `{}`: will be made", state.display()),
            "ok ledger ",
            "ok plugins all 7 load",
            "ok profile `generic`, chosen by URL and model",
            "ok upstream it answers, with its models",
            "ok context a window of 32768 tokens (environment HARNESS_CONTEXT_WINDOW)",
            // Which one depends on the machine.
            "containment posture `",
            "ok address `127.0.0.1:0` is free",
            "ok access loopback, no tokens",
        ],
    );
    assert!(!state.exists(), "it was made");
}

#[test]
fn the_doctor_tells_a_refused_key_from_an_upstream_that_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    let check = |answer: &'static str, says: &str| {
        let (ok, said) = examined(&answers(answer), &place.path().join("s"));
        // A server would start all the same.
        assert!(ok, "{said}");
        let line = said.lines().find(|line| line.contains(" upstream ")).unwrap();
        assert!(line.starts_with("warning") && line.contains(says), "{line}");
    };
    check(
        "HTTP/1.1 401 Unauthorized\r\ncontent-length: 4\r\n\r\nNo!!",
        "did not accept the credentials, with status 401; set `upstream.api_key`",
    );
    check("", "could not be reached");
    check("HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n", "failed with status 500");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_doctor_sees_the_server_that_has_the_ledger() {
    let rig = Rig::start("[[turn]]\ntext = \"hi\"\n", "").await;
    let addr = rig.server.addr().to_string();
    let state = rig.root().join("state");
    let args = ["doctor", "--addr", &addr, "--state-dir", state.to_str().unwrap()];
    let (ok, out, err) = run(&[&args[..], &BASE].concat(), &[]);
    assert!(ok, "{out}{err}");
    let process = format!(", process {}", rig.server.pid());
    assert_has(&out, &["a running server has `", &process, "is taken, as it is by a server"]);
    // Looking did not disturb it.
    assert_eq!(rig.chat(&rig.body("go")).await.answer(), "hi");
}

#[test]
fn the_doctor_says_why_a_server_would_not_start() {
    let place = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let state = place.path().join("state");
    std::fs::create_dir(&state).unwrap();
    std::fs::write(state.join("ledger.sqlite"), "this is no database, and long enough").unwrap();
    let state = state.to_str().unwrap();
    let args = ["doctor", "--addr", &addr, "--state-dir", state, "--profile", "nobody"];
    let (ok, out, err) = run(&[&args[..], &BASE].concat(), &[]);
    assert!(!ok, "{out}");
    let problems: Vec<&str> = out.lines().filter(|line| line.starts_with("problem")).collect();
    assert_eq!(problems.len(), 4, "{out}");
    assert_has(
        &out,
        &["is open to other users", "ledger could not", "there is no profile `nobody`", "--addr"],
    );
    assert_has(&err, &["the server would not start: 4 problem(s)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_the_time_that_is_set() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo begun; sleep 60" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "[shell]\ntimeout_seconds = 1\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    let outcomes = rig.outcomes(&reply.run).await;
    assert!(outcomes[0].1.contains("begun\n[timed out after 1 s"), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_told_the_time_that_is_set() {
    use harness::plugin::{Engine, Plugins, Source, Workspace};
    use harness::redact::Redactor;
    use harness_jail::{Jail, Shell};
    use std::sync::Arc;

    let place = tempfile::tempdir().unwrap();
    let check = async |file: &str, says: &str| {
        let layers = Layers {
            file: Some(("h.toml".to_owned(), file.to_owned())),
            environment: Vec::new(),
            flags: Vec::new(),
            found: Vec::new(),
        };
        let sources = Source::all(Settings::merge(&layers).plugins(), |_| unreachable!());
        let jail = Jail::open(place.path(), None).unwrap();
        let redactor = Arc::new(Redactor::new(std::iter::empty()));
        let workspace = Workspace::new(jail, Shell::none(), redactor);
        let plugins = Plugins::load(&Engine::new().unwrap(), sources, &Arc::new(workspace)).await;
        let shell = plugins.listed().iter().find(|listed| listed.name == "shell").unwrap();
        let told = match &shell.offers {
            Ok(_) => plugins.tool("bash").unwrap().spec().input_schema.clone(),
            Err(cause) => cause.clone(),
        };
        assert!(told.contains(says), "no `{says}` in {told}");
    };
    check("", "\"Seconds, default 120;").await;
    check("[shell]\ntimeout_seconds = 7", "\"Seconds, default 7;").await;
    let own = "[shell]\ntimeout_seconds = 7\n[plugin.shell]\nconfig = { timeout_seconds = 9 }";
    check(own, "\"Seconds, default 9;").await;
    // The configuration refuses this one; the component does so too.
    let wrong = "[plugin.shell]\nconfig = { timeout_seconds = 601 }";
    check(wrong, "`timeout_seconds` must be from 1 to 600, it is 601").await;
}

fn page() -> String {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
    std::fs::read_to_string(page).unwrap()
}

#[test]
fn the_page_of_settings_is_the_table_of_settings() {
    let row = |key: &Key| {
        let default = key.default.map_or("none".to_owned(), |text| format!("`{text}`"));
        let allowed = key.kind.allowed();
        let allowed = match key.kind.separator() {
            Some(_) => format!("a list, each {allowed}"),
            None => allowed,
        };
        format!("| `{}` | {default} | {allowed} | {} |\n", key.name, key.about)
    };
    let table: String = KEYS.iter().map(row).collect();
    assert!(page().contains(&table), "docs/configuration.md should have\n{table}");
}

#[test]
fn the_page_has_files_that_work() {
    let page = page();
    let files = page.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let files: Vec<&str> = files.collect();
    assert_eq!(files.len(), 2, "a small one and a whole one");
    for file in &files {
        let layers = Layers {
            file: Some(("harness.toml".to_owned(), (*file).to_owned())),
            environment: vec![("HOME".to_owned(), "/home/ada".to_owned())],
            flags: Vec::new(),
            found: Vec::new(),
        };
        let settings = Settings::merge(&layers);
        settings.check().unwrap_or_else(|problems| panic!("{problems:?}"));
        assert!(settings.warnings().is_empty());
    }
    for key in KEYS {
        assert!(files[1].contains(&format!("{} = ", key.field())), "it lacks `{}`", key.name);
    }
}
