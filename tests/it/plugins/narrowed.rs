//! Plugins that are held to less than they were granted: default ones here, like anybody's.

use harness::event::CallEnding;

use super::{
    IS_REFUSED_A_FILE, assert_refused, ended, misbehave_guard, misbehave_tool, start, write_a_file,
};
use crate::rig::Rig;

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_reads_and_changes_no_more_than_its_table_says() {
    let script = r#"
        [[turn]]
        calls = [
            { tool = "read", input = { path = "open/a.txt" } },
            { tool = "read", input = { path = "shut/a.txt" } },
            { tool = "read", input = { path = "open/../shut/a.txt" } },
            { tool = "read", input = { path = "." } },
            { tool = "write", input = { path = "open/out/new.txt", content = "new" } },
            { tool = "write", input = { path = "open/new.txt", content = "new" } },
            { tool = "write", input = { path = "shut/new.txt", content = "new" } },
        ]
        [[turn]]
        text = "I went on."
    "#;
    let table = "[plugin.files]\nread = [\"open\"]\nwrite = [\"open/out/**\"]\n";
    let rig = Rig::start(script, table).await;
    rig.put("open/a.txt", "in the open\n");
    rig.put("shut/a.txt", "behind the door\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    let succeeded: Vec<bool> =
        ended.iter().map(|call| call.ending == CallEnding::Succeeded).collect();
    assert_eq!(succeeded, [true, false, false, true, true, false, false], "{ended:#?}");
    assert!(ended[0].text.contains("in the open"), "{ended:#?}");
    let outside = "`shut/a.txt` is outside what this plugin may read: `open`";
    assert!(ended[1].text.contains(outside), "{ended:#?}");
    assert!(ended[2].text.contains("is outside what this plugin may read"), "{ended:#?}");
    assert!(ended[3].text.contains("open") && !ended[3].text.contains("shut"), "{ended:#?}");
    assert!(ended[5].text.contains("may change: `open/out/**`"), "{ended:#?}");
    assert_eq!(rig.get("open/out/new.txt"), "new");
    assert!(!rig.workspace().join("open/new.txt").exists());
    assert!(!rig.workspace().join("shut/new.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_starts_no_other_programs_than_its_table_says() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "echo ran > ran.txt" } }]
        [[turn]]
        text = "I went on."
    "#;
    let check = async |run: &str, runs: bool| {
        let rig = Rig::start(script, &format!("[plugin.shell]\nrun = [{run}]\n")).await;
        let reply = rig.chat(&rig.body("go")).await;
        assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
        let ended = ended(&rig, &reply.run).await;
        assert_eq!(ended[0].ending == CallEnding::Succeeded, runs, "{run}: {ended:?}");
        assert_eq!(rig.workspace().join("ran.txt").exists(), runs, "{run}");
        let told = "this plugin may not start a shell";
        assert_eq!(ended[0].text.contains(told), !runs, "{run}: {ended:?}");
    };
    check("\"git\"", false).await;
    check("\"git\", \"bash\"", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_is_configured_holds() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "bash", input = { command = "sleep 60" } }]
        [[turn]]
        text = "I went on."
    "#;
    let rig = Rig::start(script, "[plugin.shell]\nlimits = { seconds = 1 }\n").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    let told = &ended[0].summary;
    let seconds = told.strip_prefix("timed out after ").and_then(|told| told.strip_suffix(" s"));
    let seconds: f64 = seconds.and_then(|seconds| seconds.parse().ok()).unwrap_or(f64::INFINITY);
    // Its own time-out is 120 s; how late a busy machine is says nothing.
    assert!(seconds < 60.0, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_has_no_more_instructions_and_memory_than_its_table_says() {
    let check = async |what: &str, limits: &str, says: &str| {
        let keys = format!("limits = {{ {limits} }}\nconfig = {{ do = \"{what}\" }}");
        let rig = start(IS_REFUSED_A_FILE, misbehave_guard::GUEST, &keys).await;
        let call = write_a_file(&rig).await;
        assert_refused(&rig, &call, "guard-broken");
        assert!(call.text.contains(says), "no `{says}` in {}", call.text);
    };
    check("loop", "fuel_millions = 20", "it used up its budget of 20 million").await;
    check("memory", "memory_mb = 8", "it needed more than 8 MiB of memory").await;

    let script =
        "[[turn]]\ncalls = [{ tool = \"memory\", input = {} }]\n[[turn]]\ntext = \"I went on.\"";
    let keys = format!("{}\nlimits = {{ memory_mb = 8 }}", misbehave_tool::GRANTS);
    let rig = start(script, misbehave_tool::GUEST, &keys).await;
    let reply = rig.chat(&rig.body("go")).await;
    let ended = ended(&rig, &reply.run).await;
    assert!(ended[0].text.contains("it needed more than 8 MiB of memory"), "{ended:?}");
}
