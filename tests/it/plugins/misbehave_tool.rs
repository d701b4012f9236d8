//! A tool that breaks, reaches too far or says too much: one call that failed, and the run goes on.

use std::path::Path;

use harness::event::{CallEnding, Event};
use harness_guests::{Guest, guest};
use serde_json::Value;

use super::{EndedCall, ended, start};
use crate::rig::{Reply, Rig};

pub(super) const GUEST: Guest = guest("misbehave-tool");

/// Everything it imports: what is refused below was granted.
pub(super) const GRANTS: &str = "grants = [\"workspace-write\", \"process\", \"state\"]";

/// A script that makes each of `calls` in a turn of its own, then reads `present.txt` and answers.
fn script(calls: &[(&str, &str)]) -> String {
    let read = [("read", r#"path = "present.txt""#)];
    let turns = calls.iter().chain(&read).map(|(tool, input)| {
        format!("[[turn]]\ncalls = [{{ tool = \"{tool}\", input = {{ {input} }} }}]\n")
    });
    turns.collect::<String>() + "[[turn]]\ntext = \"I went on.\"\n"
}

/// Makes the calls; the run must get to its answer, and the last call, of another plugin, work.
async fn play(calls: &[(&str, &str)]) -> (Rig, Reply, Vec<EndedCall>) {
    let rig = start(&script(calls), GUEST, GRANTS).await;
    rig.put("present.txt", "still present\n");
    let reply = rig.chat(&rig.body("misbehave")).await;
    let told = (reply.status, reply.reason(), reply.answer());
    assert_eq!(told, (200, "completed", "I went on."), "{:#}", reply.body);
    rig.assert_clean_requests();
    let mut ended = ended(&rig, &reply.run).await;
    assert_eq!(ended.len(), calls.len() + 1, "{ended:?}");
    let last = ended.pop().unwrap();
    assert_eq!(last.ending, CallEnding::Succeeded, "{last:?}");
    assert!(last.text.contains("still present"), "{last:?}");
    (rig, reply, ended)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_breaks_is_one_failed_call() {
    let rows = [
        ("panic", "it panicked: panicked at"),
        ("loop", "it was stopped after"),
        ("memory", "it needed more than 64 MiB of memory"),
        ("recurse", "it ran out of stack"),
    ];
    let (rig, _, ended) = play(&rows.map(|(tool, _)| (tool, ""))).await;
    let log = rig.log();
    for ((tool, says), call) in rows.iter().zip(&ended) {
        let CallEnding::Broken { plugin, cause } = &call.ending else { panic!("{call:?}") };
        assert!(plugin == "mine" && cause.contains(says), "`{tool}`: {call:?}");
        let blames = "This is a fault of the plugin, not of your call.";
        let starts = format!("the tool's plugin `mine` broke: {cause}. {blames}");
        assert!(call.text.starts_with(&starts), "`{tool}`: {}", call.text);
        assert!(call.summary.starts_with("plugin `mine` broke in `run` after"), "{}", call.summary);
        assert!(call.summary.ends_with(cause), "{}", call.summary);
        assert_eq!(call.summary.lines().count(), 1, "a summary is one line: {}", call.summary);
        assert!(log.contains(call.summary.as_str()), "`{tool}` is not in the log");
    }
    let words = "the tool was told to panic";
    assert!(ended[0].summary.contains(words), "{ended:?}");
    let from_the_guest = log.lines().filter(|line| line.contains("panicked at")).count();
    assert!(from_the_guest >= 2, "the guest's own line is missing:\n{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fault_is_told_with_its_hint() {
    let (_, _, ended) = play(&[("fault", "")]).await;
    let [EndedCall { ending, text, summary, .. }] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!(*ending, CallEnding::Failed { fault: "unsupported".to_owned() });
    assert_eq!(text, "error: this tool only fails\nhint: do not call it");
    assert_eq!(summary, "unsupported: this tool only fails");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_granted_but_not_declared_is_denied() {
    let calls = [
        ("sneak-write", "how = \"write\""),
        ("sneak-write", "how = \"patch\""),
        ("sneak-write", "how = \"make-directory\""),
        ("sneak-write", "how = \"rename\""),
        ("sneak-write", "how = \"remove\""),
        ("sneak-run", "how = \"run\""),
        ("sneak-run", "how = \"start-job\""),
        ("sneak-run", "how = \"ask-job\""),
    ];
    let (rig, _, ended) = play(&calls).await;
    for ((tool, input), call) in calls.iter().zip(&ended) {
        let doing = if *tool == "sneak-run" { "run commands" } else { "change files" };
        let says = format!("error: this tool may not {doing}: it did not declare that effect");
        let denied = CallEnding::Failed { fault: "denied".to_owned() };
        assert_eq!((&call.ending, &call.text), (&denied, &says), "{tool} {input}");
    }
    let files = std::fs::read_dir(rig.workspace()).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(names, ["present.txt"]);
    assert_eq!(rig.get("present.txt"), "still present\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_outcome_is_cut_and_the_rest_can_be_read() {
    let path = ".harness/spill/001-outcome.txt";
    let read = format!("path = \"{path}\", offset = 38000, limit = 3");
    let (_, _, ended) = play(&[("big", ""), ("read", &read)]).await;
    let text = &ended[0].text;
    assert!(text.len() <= 64 << 10, "{} bytes", text.len());
    assert!(text.starts_with("row 000001 of far too many\nrow 000002"), "{text}");
    let note = text.lines().last().unwrap();
    assert!(note.starts_with("[cut after ") && note.contains(" of 10485"), "{note}");
    assert!(note.contains(&format!("the whole is in `{path}`")), "{note}");
    assert_eq!(ended[1].ending, CallEnding::Succeeded, "{:?}", ended[1]);
    assert!(ended[1].text.contains("row 038002 of far too many"), "{:?}", ended[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_plugin_keeps_is_kept_for_the_session() {
    let rig = start(&script(&[("keep", ""), ("keep", "")]), GUEST, GRANTS).await;
    rig.put("present.txt", "");
    let says = |count: u8| {
        let before = count - 1;
        let late = format!("the value is at revision {count}, not {before}");
        format!("call {count}; keys: count; a late writer: {late}")
    };
    // Each task is a conversation of its own to the upstream, which plays its script anew.
    let keep = async |task: &str, workspace: &Path| {
        let mut body = rig.body(task);
        body["harness"]["workspace"] = Value::from(workspace.to_str().unwrap());
        let reply = rig.chat(&body).await;
        assert_eq!(reply.answer(), "I went on.", "{:#}", reply.body);
        let ended = ended(&rig, &reply.run).await;
        (ended[0].text.clone(), ended[1].text.clone())
    };
    assert_eq!(keep("count", &rig.workspace()).await, (says(1), says(2)));
    assert_eq!(keep("go on in the same session", &rig.workspace()).await, (says(3), says(4)));
    let elsewhere = rig.root().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("present.txt"), "").unwrap();
    assert_eq!(keep("begin another session", &elsewhere).await, (says(1), says(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_while_the_call_runs() {
    let (rig, reply, ended) = play(&[("progress", "")]).await;
    assert_eq!(ended[0].ending, CallEnding::Succeeded, "{ended:?}");
    let events = rig.events(&reply.run).await;
    let of_the_call = events.iter().filter_map(|recorded| match &recorded.event {
        Event::CallStarted { tool, .. } if tool == "progress" => Some("started"),
        Event::Progress { message, .. } => Some(message.as_str()),
        Event::CallEnded { tool, .. } if tool == "progress" => Some("ended"),
        _ => None,
    });
    let of_the_call: Vec<&str> = of_the_call.collect();
    assert_eq!(of_the_call, ["started", "step one", "step two", "step three", "ended"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn images_and_long_summaries_are_put_into_words() {
    let (_, _, ended) = play(&[("bad-image", ""), ("talkative", "")]).await;
    let image = "here it is:\n[image/png, 13 bytes; not shown: no PNG, JPEG, GIF or WebP image that can be read]";
    assert_eq!(ended[0].text, image);
    assert_eq!(ended[1].summary, "first line");
}
