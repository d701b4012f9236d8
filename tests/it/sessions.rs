//! Sessions: every way of naming one, over HTTP and in a chat; one run in a directory; what is kept
//! and what goes.

use serde_json::{Value, json};

use crate::rig::{Rig, processes_with, until};

const ANSWERS: &str = "check = \"record\"\n[[turn]]\ntext = \"done\"\nrepeat = 40\n";

/// A command that goes on until it is stopped.
const LONG: &str = r#"
    [[turn]]
    calls = [{ tool = "bash", input = { command = "touch started; sleep 3200" } }]
"#;

fn task(harness: Value) -> Value {
    json!({"messages": [{"role": "user", "content": "go"}], "harness": harness})
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_of_naming_a_session_leads_to_it() {
    let rig = Rig::start(ANSWERS, "").await;
    let directory = rig.workspace();
    let (status, opened) =
        rig.ask("POST", "/v1/sessions", Some(&json!({"workspace": directory}))).await;
    assert_eq!(status, 201, "{opened:#}");
    assert_eq!((&opened["object"], &opened["fresh"]), (&json!("session"), &json!(false)));
    let id = opened["id"].as_str().unwrap();
    let bare = task(json!({}));
    let mut in_model = bare.clone();
    in_model["model"] = json!(format!("harness::{id}"));
    let by_path = directory.to_str().unwrap();
    let ways: [(&[(&str, &str)], &Value); 7] = [
        (&[("x-harness-session", id)], &bare),
        (&[("x-harness-workspace", by_path)], &bare),
        (&[], &task(json!({"session_id": id}))),
        (&[], &task(json!({"workspace": directory}))),
        (&[], &in_model),
        (&[("x-harness-session", id), ("x-harness-workspace", by_path)], &bare),
        (&[], &task(json!({"session_id": id, "workspace": directory}))),
    ];
    for (headers, body) in ways {
        let reply = rig.chat_with(headers, body).await;
        assert_eq!((reply.status, reply.session.as_str()), (200, id), "{headers:?} {body}");
    }
    // A name that only looks like one of ours is the model's.
    let mut other = bare.clone();
    other["model"] = json!("name::ws_x");
    let reply = rig.chat(&other).await;
    assert_ne!(reply.session, id);
    assert_eq!(reply.body["model"], "name::ws_x");
    // Two that disagree.
    let elsewhere = rig.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let both = task(json!({"session_id": id, "workspace": elsewhere}));
    assert_eq!(rig.chat(&both).await.status, 400);
    let reply = rig.chat_with(&[("x-harness-session", id)], &in_model).await;
    assert_eq!(reply.status, 200);
    let fresh = rig.chat(&bare).await;
    let reply = rig.chat_with(&[("x-harness-session", &fresh.session)], &in_model).await;
    assert_eq!((reply.status, reply.reason()), (400, "contradiction"), "{:#}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_looked_at_and_removed() {
    let rig = Rig::start(ANSWERS, "").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let (status, session) = rig.ask("POST", "/v1/sessions", Some(&json!({}))).await;
        assert_eq!((status, &session["fresh"]), (201, &json!(true)));
        ids.insert(0, session["id"].as_str().unwrap().to_owned());
    }
    let (_, page) = rig.json("/v1/sessions?limit=2").await;
    let listed = |page: &Value| -> Vec<String> {
        let ids = page["data"].as_array().unwrap().iter();
        ids.map(|session| session["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((listed(&page), &page["has_more"]), (ids[..2].to_vec(), &json!(true)));
    let (_, page) = rig.json(&format!("/v1/sessions?limit=2&after={}", ids[1])).await;
    assert_eq!((listed(&page), &page["has_more"]), (ids[2..].to_vec(), &json!(false)));
    for (query, status) in
        [("limit=0", 400), ("limit=x", 400), ("limits=1", 400), ("limit=1&limit=1", 400)]
    {
        let (got, body) = rig.json(&format!("/v1/sessions?{query}")).await;
        assert_eq!(got, status, "{query}: {body}");
    }

    let path = format!("/v1/sessions/{}", ids[0]);
    let (status, session) = rig.json(&path).await;
    assert_eq!(status, 200);
    let workspace = session["workspace"].as_str().unwrap().to_owned();
    std::fs::write(format!("{workspace}/kept.txt"), "x").unwrap();
    let run = rig.chat(&task(json!({"session_id": ids[0]}))).await.run;
    let (status, deleted) = rig.ask("DELETE", &path, None).await;
    assert_eq!((status, &deleted["deleted"]), (200, &json!(true)));
    assert!(!std::path::Path::new(&workspace).exists(), "a fresh workspace goes with its session");
    assert_eq!(rig.json(&path).await.0, 404);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 404);
    let reply = rig.chat(&task(json!({"session_id": ids[0]}))).await;
    assert_eq!((reply.status, reply.reason()), (404, "session_not_found"));
    // What its runs did stays on record.
    assert_eq!(rig.json(&format!("/v1/runs/{run}")).await.1["state"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_a_session_never_touches_a_callers_directory() {
    let rig = Rig::start(ANSWERS, "").await;
    rig.put("mine.txt", "mine\n");
    let first = rig.chat(&rig.body("go")).await;
    let path = format!("/v1/sessions/{}", first.session);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    assert_eq!(rig.get("mine.txt"), "mine\n");
    // The directory is anyone's again, in a session of its own.
    let second = rig.chat(&rig.body("go")).await;
    assert_eq!(second.status, 200);
    assert_ne!(second.session, first.session);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_work_is_not_removed_and_refuses_another_run() {
    let rig = Rig::start(LONG, "").await;
    let body = rig.body("go");
    let working = rig.chat(&body);
    let trying = async {
        until("the command runs", || rig.workspace().join("started").exists()).await;
        let busy = rig.chat(&rig.body("another")).await;
        assert_eq!((busy.status, busy.reason()), (409, "workspace_busy"), "{:#}", busy.body);
        assert_eq!(busy.should_retry.as_deref(), Some("false"));
        let (_, page) = rig.json("/v1/sessions").await;
        let run = page["data"][0]["active_run"].as_str().expect("a run is in it").to_owned();
        assert!(busy.body["error"]["message"].as_str().unwrap().contains(&run));
        let path = format!("/v1/sessions/{}", page["data"][0]["id"].as_str().unwrap());
        let (status, refused) = rig.ask("DELETE", &path, None).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("session_busy")));
        let (status, cancelled) = rig.ask("POST", &format!("/v1/runs/{run}/cancel"), None).await;
        assert_eq!((status, &cancelled["state"]), (200, &json!("cancelled")));
        path
    };
    let (reply, path) = tokio::join!(working, trying);
    assert_eq!((reply.status, reply.reason()), (503, "cancelled"), "{:#}", reply.body);
    assert_eq!(processes_with("sleep\x003200"), 0);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn unused_fresh_workspaces_are_swept_and_others_are_not() {
    let mut rig = Rig::start(ANSWERS, "[workspace]\nkeep_days = 1\n").await;
    let old = rig.chat(&task(json!({}))).await;
    let young = rig.chat(&task(json!({}))).await;
    rig.put("mine.txt", "mine\n");
    let named = rig.chat(&rig.body("go")).await;
    let workspaces = rig.root().join("state/workspaces");
    let orphan = workspaces.join(format!("ws_{}", "0".repeat(32)));
    let not_ours = workspaces.join("notes");
    for directory in [&orphan, &not_ours] {
        std::fs::create_dir(directory).unwrap();
    }
    rig.kill();
    // Two days later, as far as the ledger and the file system can tell.
    let two_days = 2 * 24 * 60 * 60 * 1000;
    rig.age_in_ledger(&[&old.session, &named.session], two_days);
    for directory in [&orphan, &not_ours] {
        let then = std::time::SystemTime::now() - std::time::Duration::from_millis(two_days);
        std::fs::File::open(directory).unwrap().set_modified(then).unwrap();
    }
    rig.restart();
    until("the old one is gone", || !workspaces.join(&old.session).exists()).await;
    until("the orphan is gone", || !orphan.exists()).await;
    assert!(workspaces.join(&young.session).exists());
    assert!(not_ours.exists());
    assert_eq!(rig.get("mine.txt"), "mine\n");
    assert_eq!(rig.json(&format!("/v1/sessions/{}", old.session)).await.0, 404);
    assert_eq!(rig.json(&format!("/v1/sessions/{}", named.session)).await.0, 200);
    assert_eq!(rig.json(&format!("/v1/runs/{}", old.run)).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_workspace_can_be_waited_for() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo x >> order; until test -e go; do sleep 0.02; done" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "[workspace]\nbusy = \"queue\"\n").await;
    let body = rig.body("first");
    let first = rig.chat(&body);
    let others = async {
        until("the first works", || rig.workspace().join("order").exists()).await;
        let body = rig.body("second");
        let second = rig.chat(&body);
        let letting = async {
            until("the second waits", || rig.log().contains("waits for run")).await;
            let (_, runs) = rig.json("/v1/runs").await;
            assert_eq!(runs["data"].as_array().unwrap().len(), 2, "{runs:#}");
            assert_eq!(runs["data"][0]["state"], "created");
            rig.put("go", "");
        };
        tokio::join!(second, letting).0
    };
    let (first, second) = tokio::join!(first, others);
    assert_eq!((first.status, second.status), (200, 200), "{:#}", second.body);
    assert_eq!(first.session, second.session);
    assert_eq!(rig.get("order"), "x\nx\n");
    let note = second.body["harness"]["notes"][0].as_str().unwrap();
    assert!(note.contains(&first.run), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_leaves_the_queue_disturbs_nobody() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; until test -e go; do sleep 0.02; done; echo whole" } }]
        [[turn]]
        text = "done"
        expect = ["whole"]
    "#;
    let rig = Rig::start(script, "[workspace]\nbusy = \"queue\"\n").await;
    let body = rig.body("first");
    let first = rig.chat(&body);
    let others = async {
        until("the first works", || rig.workspace().join("started").exists()).await;
        let body = rig.body("second");
        let mut second = Box::pin(rig.chat(&body));
        let waits = until("the second waits", || rig.log().contains("waits for run"));
        tokio::select! {
            reply = &mut second => panic!("too early: {reply:?}"),
            () = waits => {}
        }
        drop(second);
        until("the second is over", || rig.log().contains("run ended")).await;
        rig.put("go", "");
    };
    let (first, ()) = tokio::join!(first, others);
    assert_eq!((first.status, first.answer()), (200, "done"), "{:#}", first.body);
    rig.assert_clean_requests();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_is_not_removed_under_a_run_inside_it() {
    let rig = Rig::start(LONG, "").await;
    let (_, outer) = rig.ask("POST", "/v1/sessions", Some(&json!({}))).await;
    let inner = std::path::Path::new(outer["workspace"].as_str().unwrap()).join("inner");
    std::fs::create_dir(&inner).unwrap();
    let body = rig.body_in(&inner, "go");
    let working = rig.chat(&body);
    let path = format!("/v1/sessions/{}", outer["id"].as_str().unwrap());
    let trying = async {
        until("the command runs", || inner.join("started").exists()).await;
        let (status, refused) = rig.ask("DELETE", &path, None).await;
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("session_busy")));
        let (_, runs) = rig.json("/v1/runs").await;
        let run = runs["data"][0]["id"].as_str().unwrap();
        rig.ask("POST", &format!("/v1/runs/{run}/cancel"), None).await;
    };
    let (reply, ()) = tokio::join!(working, trying);
    assert_eq!(reply.reason(), "cancelled");
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    assert!(!inner.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_does_not_follow_a_link_in_the_place_of_its_workspace() {
    let rig = Rig::start(ANSWERS, "").await;
    let first = rig.chat(&rig.body("go")).await;
    assert_eq!(first.status, 200);
    let workspace = rig.workspace();
    std::fs::rename(&workspace, rig.root().join("moved")).unwrap();
    std::os::unix::fs::symlink(rig.root().join("state"), &workspace).unwrap();
    let reply = rig.chat(&task(json!({"session_id": first.session}))).await;
    assert_eq!((reply.status, reply.reason()), (409, "workspace_gone"), "{:#}", reply.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_that_goes_while_a_run_waits_for_it_is_told() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "touch started; until test -e go; do sleep 0.02; done" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, "[workspace]\nbusy = \"queue\"\n").await;
    let (workspace, moved) = (rig.workspace(), rig.root().join("moved"));
    let body = rig.body("first");
    let first = rig.chat(&body);
    let others = async {
        until("the first works", || workspace.join("started").exists()).await;
        let body = rig.body("second");
        let second = rig.chat(&body);
        let moving = async {
            until("the second waits", || rig.log().contains("waits for run")).await;
            std::fs::rename(&workspace, &moved).unwrap();
            std::fs::write(moved.join("go"), "").unwrap();
        };
        tokio::join!(second, moving).0
    };
    let (first, second) = tokio::join!(first, others);
    assert_eq!(first.status, 200, "{:#}", first.body);
    assert_eq!((second.status, second.reason()), (409, "workspace_gone"), "{:#}", second.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_sessions_give_their_handles_back_when_there_are_few() {
    let script = "check = \"record\"\n[[turn]]\ntext = \"done\"\nrepeat = 200\n";
    let rig = Rig::start(script, "").await;
    let pid = rig.server.pid().to_string();
    let set = std::process::Command::new("prlimit")
        .args(["--pid", &pid, "--nofile=150:150"])
        .status()
        .unwrap();
    assert!(set.success());
    // Each session keeps two.
    for n in 0..100 {
        let reply = rig.chat(&task(json!({}))).await;
        assert_eq!(reply.status, 200, "{n}: {:#}", reply.body);
    }
}
