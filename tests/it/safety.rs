//! Who may ask for what: tokens, addresses, roots; and what is told to the audit log.

use std::path::Path;

use serde_json::{Value, json};

use crate::rig::Rig;

const ANSWERS: &str = "check = \"record\"\n[[turn]]\ntext = \"done\"\nrepeat = 40\n";

const ADA: &str = "token-of-ada-0123456789";
const BOB: &str = "token-of-bob-0123456789";

fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_sees_its_own_sessions_and_runs_only() {
    let config = format!("[server]\ntokens = [\"{ADA}\", \"{BOB}\"]\n");
    let mut rig = Rig::start(ANSWERS, &config).await;
    let body = rig.body("go");
    for wrong in [None, Some("Bearer token-of-eve-0123456789"), Some("Basic eDp5"), Some(ADA)] {
        let headers: Vec<_> = wrong.map(|value| ("authorization", value)).into_iter().collect();
        for (method, path) in
            [("POST", "/v1/chat/completions"), ("GET", "/v1/models"), ("GET", "/nowhere")]
        {
            let body = (method == "POST").then_some(&body);
            let response = rig.send(method, path, &headers, body).await;
            assert_eq!(response.status(), 401, "{wrong:?} {path}");
            assert_eq!(response.headers()["www-authenticate"], "Bearer");
            let error: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
            assert_eq!(error["error"]["code"], "invalid_api_key");
        }
    }
    assert_eq!(rig.json("/healthz").await.0, 200);
    assert_eq!(rig.json("/readyz").await.1.get("data"), None, "it says nothing but how it is");

    let (ada, bob) = (bearer(ADA), bearer(BOB));
    let (ada, bob) = ([("authorization", ada.as_str())], [("authorization", bob.as_str())]);
    let mine = rig.chat_with(&ada, &body).await;
    assert_eq!(mine.status, 200, "{:#}", mine.body);
    let hers = rig.chat_with(&bob, &body).await;
    assert_ne!(mine.session, hers.session, "one session for each caller and directory");
    let session = format!("/v1/sessions/{}", mine.session);
    let run = format!("/v1/runs/{}", mine.run);
    for (method, path) in [
        ("GET", session.clone()),
        ("DELETE", session.clone()),
        ("GET", run.clone()),
        ("GET", format!("{run}/events")),
        ("GET", format!("{run}/diff")),
        ("POST", format!("{run}/cancel")),
    ] {
        assert_eq!(rig.send(method, &path, &bob, None).await.status(), 404, "{method} {path}");
        let own = if method == "DELETE" { "GET" } else { method };
        assert_eq!(rig.send(own, &path, &ada, None).await.status(), 200, "{method} {path}");
    }
    for (list, own) in [("/v1/sessions", &hers.session), ("/v1/runs", &hers.run)] {
        let text = rig.send("GET", list, &bob, None).await.text().await.unwrap();
        let page: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page:#}");
        assert_eq!(page["data"][0]["id"], own.as_str());
    }
    let mut named = body.clone();
    named["harness"] = json!({"session_id": mine.session});
    let reply = rig.chat_with(&bob, &named).await;
    assert_eq!((reply.status, reply.reason()), (404, "session_not_found"));
    // A key of one is not a key of the other.
    let key = ("idempotency-key", "k");
    let first = rig.chat_with(&[ada[0], key], &body).await;
    let second = rig.chat_with(&[bob[0], key], &body).await;
    assert_ne!(first.run, second.run);
    // Callers are the same after a restart, and a token is kept nowhere.
    rig.kill_and_restart();
    assert_eq!(rig.send("GET", &session, &ada, None).await.status(), 200);
    let kept = std::fs::read(rig.root().join("state/ledger.sqlite")).unwrap();
    let wal = std::fs::read(rig.root().join("state/ledger.sqlite-wal")).unwrap_or_default();
    for place in [kept, wal, rig.log().into_bytes()] {
        assert!(!String::from_utf8_lossy(&place).contains("token-of-"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_bound_what_may_be_named() {
    let set_up = |root: &Path| {
        std::fs::create_dir_all(root.join("allowed/project")).unwrap();
        std::fs::create_dir_all(root.join("allowed-not")).unwrap();
        std::os::unix::fs::symlink(root.join("allowed-not"), root.join("allowed/link")).unwrap();
        format!("[workspace]\nroots = [\"{}\"]\n", root.join("allowed").display())
    };
    let rig = Rig::start_in(ANSWERS, set_up).await;
    for (directory, status) in [
        ("allowed", 200),
        ("allowed/project", 200),
        ("allowed-not", 403),
        ("allowed/link", 403),
        ("allowed/../allowed-not", 403),
        ("workspace", 403),
    ] {
        let body = rig.body_in(&rig.root().join(directory), directory);
        let reply = rig.chat(&body).await;
        assert_eq!(reply.status, status, "{directory}: {:#}", reply.body);
        let opened = json!({"workspace": rig.root().join(directory)});
        let (opened, _) = rig.ask("POST", "/v1/sessions", Some(&opened)).await;
        assert_eq!(opened, if status == 200 { 201 } else { status }, "{directory}");
    }
    // A fresh one is always allowed, by its id and by its path.
    let fresh = rig.chat(&json!({"messages": [{"role": "user", "content": "fresh"}]})).await;
    let path = fresh.body["harness"]["workspace"].as_str().unwrap();
    let again = rig.chat(&rig.body_in(Path::new(path), "again")).await;
    assert_eq!((again.status, &again.session), (200, &fresh.session));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_the_parent_of_everyones_workspaces() {
    let rig = Rig::start_in(ANSWERS, |root| {
        let fresh = root.join("around/fresh");
        std::fs::create_dir_all(&fresh).unwrap();
        format!(
            "[server]\ntokens = [\"{ADA}\", \"{BOB}\"]\n[workspace]\nroot = \"{}\"\n",
            fresh.display()
        )
    })
    .await;
    let (ada, bob) = (bearer(ADA), bearer(BOB));
    let (ada, bob) = ([("authorization", ada.as_str())], [("authorization", bob.as_str())]);
    let fresh = json!({"messages": [{"role": "user", "content": "fresh"}]});
    let hers = rig.chat_with(&ada, &fresh).await;
    let path = hers.body["harness"]["workspace"].as_str().unwrap().to_owned();
    std::fs::create_dir(format!("{path}/inner")).unwrap();
    let inner = format!("{path}/inner");
    for (directory, whole, inside) in [
        (path.as_str(), 403, 200),
        (inner.as_str(), 403, 200),
        (rig.root().join("around/fresh").to_str().unwrap(), 400, 400),
        (rig.root().join("around").to_str().unwrap(), 400, 400),
    ] {
        let body = rig.body_in(Path::new(directory), directory);
        assert_eq!(rig.chat_with(&bob, &body).await.status, whole, "{directory}");
        assert_eq!(rig.chat_with(&ada, &body).await.status, inside, "{directory}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn off_loopback_only_what_lies_under_roots_may_be_named() {
    let config = format!("[server]\nallow_non_loopback = true\ntokens = [\"{ADA}\"]\n");
    let rig = Rig::start_at("0.0.0.0:0", ANSWERS, &config).await;
    let ada = bearer(ADA);
    let ada = [("authorization", ada.as_str())];
    let reply = rig.chat_with(&ada, &rig.body("go")).await;
    assert_eq!((reply.status, reply.reason()), (403, "forbidden"), "{:#}", reply.body);
    let fresh = json!({"messages": [{"role": "user", "content": "fresh"}]});
    assert_eq!(rig.chat_with(&ada, &fresh).await.status, 200);
    // A name of its own is fine there, a page of another site is not.
    let named = [ada[0], ("host", "harness.example:8080")];
    assert_eq!(rig.send("GET", "/v1/models", &named, None).await.status(), 200);
    let page = [ada[0], ("origin", "http://evil.example")];
    assert_eq!(rig.send("GET", "/v1/models", &page, None).await.status(), 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_refusals_are_told_to_the_audit_log() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo sk-test-0123456789abcdef; true" } }]
        [[turn]]
        calls = [{ tool = "bash", input = { command = "rm -rf /" } },
                 { tool = "write", input = { path = "a.txt", content = "x" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start_in(script, |root| {
        format!("[log]\naudit = \"{}\"\n", root.join("audit").display())
    })
    .await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 200);
    let refused = rig.send("GET", "/v1/models", &[("origin", "http://evil.example")], None).await;
    assert_eq!(refused.status(), 403);
    let text = std::fs::read_to_string(rig.root().join("audit")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["command", "denial", "refusal"], "{text}");
    for line in &lines[..2] {
        assert_eq!(
            (&line["run"], &line["session"], &line["caller"], &line["tool"]),
            (&json!(reply.run), &json!(reply.session), &json!("local"), &json!("bash"))
        );
    }
    let command = lines[0]["input"]["command"].as_str().unwrap();
    assert!(command.starts_with("echo ") && !command.contains("0123456789abcdef"), "{command}");
    assert_eq!(lines[1]["guard"], "denylist");
    assert_eq!((&lines[2]["status"], &lines[2]["path"]), (&json!(403), &json!("/v1/models")));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(rig.root().join("audit")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn an_audit_log_that_would_hold_the_server_up_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let fifo = place.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let output = crate::rig::harness()
        .args(["serve", "--addr", "127.0.0.1:0", "--upstream-base-url", "http://127.0.0.1:9/v1"])
        .arg("--audit-log")
        .arg(&fifo)
        .env("HOME", place.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("expected a regular file, got a FIFO"), "{told}");
}
