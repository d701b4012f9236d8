//! No secret leaves: not to commands, the model, the record, the log or the client.

use crate::rig::{KEY, Rig};

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_key_is_seen_nowhere() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "env; cat /proc/$PPID/environ | tr '\\0' '\\n'" } }]
        [[turn]]
        calls = [{ tool = "read", input = { path = "leak.txt" } }]
        [[turn]]
        status = 500
        body = "the key sk-test-0123456789abcdef is wrong"
        repeat = 3
    "#;
    let rig = Rig::start(script, "").await;
    rig.put("leak.txt", &format!("key = {KEY}\n"));
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 502, "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    let environment = &outcomes[0].1;
    assert!(environment.contains("PATH="), "{environment}");
    assert!(!environment.lines().any(|line| line == format!("HARNESS_UPSTREAM_API_KEY={KEY}")));
    assert!(outcomes[1].1.contains("key = [redacted]"), "{outcomes:?}");

    let events = serde_json::to_string(&rig.events(&reply.run).await).unwrap();
    let ledger = std::fs::read_dir(rig.root().join("state")).unwrap().filter_map(Result::ok);
    let ledger = ledger.filter_map(|entry| std::fs::read(entry.path()).ok());
    let files: Vec<u8> = ledger.flatten().collect();
    for (place, text) in [
        ("reply", reply.body.to_string()),
        ("events", events),
        ("log", rig.log()),
        ("ledger", String::from_utf8_lossy(&files).into_owned()),
    ] {
        assert!(!text.contains(KEY), "the key is in the {place}");
    }
}
