//! Plugins that change while the server runs: what is in force afterwards, and what is told.

use std::sync::atomic::{AtomicU32, Ordering};

use harness::event::{CallEnding, Event};
use harness_guests::Guest;

use super::{EndedCall, WRITES_A_FILE, ended, misbehave_guard, table};
use crate::rig::{Rig, until};

/// Waits until the server's log has said something once more than `before` times.
async fn until_logged(rig: &Rig, what: &str, before: usize) {
    until(what, || rig.log().matches(what).count() > before).await;
}

const ANEW: &str = "plugins were loaded anew";

/// Changes something, and waits until the server has taken it up.
async fn change(rig: &Rig, what: impl FnOnce()) {
    let before = rig.log().matches(ANEW).count();
    what();
    until_logged(rig, ANEW, before).await;
}

/// Asks once; how the one call ended.
async fn ask(rig: &Rig) -> EndedCall {
    ask_for(rig).await.0
}

/// The same, with the run.
async fn ask_for(rig: &Rig) -> (EndedCall, String) {
    // A conversation of its own each time: the script begins anew.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let _ = std::fs::remove_file(rig.workspace().join("made.txt"));
    let task = format!("write file {}", NEXT.fetch_add(1, Ordering::Relaxed));
    let reply = rig.chat(&rig.body(&task)).await;
    assert_eq!((reply.status, reply.answer()), (200, "I went on."), "{:#}", reply.body);
    let mut ended = ended(rig, &reply.run).await;
    assert_eq!(ended.len(), 1, "{ended:?}");
    (ended.remove(0), reply.run)
}

fn denied(call: &EndedCall) -> Option<&str> {
    match &call.ending {
        CallEnding::Denied { rule, .. } => Some(rule),
        _ => None,
    }
}

fn config_of(rig: &Rig) -> String {
    std::fs::read_to_string(rig.root().join("harness.toml")).unwrap()
}

fn set_config(rig: &Rig, text: &str) {
    std::fs::write(rig.root().join("harness.toml"), text).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_is_swapped_kept_missed_and_let_go() {
    let guest = misbehave_guard::GUEST;
    let rig =
        Rig::start_in(WRITES_A_FILE, |root| table(root, guest, "config = { do = \"deny\" }")).await;
    let file = rig.root().join(format!("{}.wasm", guest.name));
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));

    // Its table changes: the same file, another configuration.
    let with_pass = config_of(&rig).replace("do = \"deny\"", "do = \"pass\"");
    change(&rig, || set_config(&rig, &with_pass)).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);

    // A configuration that is not sound changes nothing.
    let before = rig.log().matches("plugins stay as they are").count();
    set_config(&rig, &format!("{with_pass}\n[nonsense]\n"));
    until_logged(&rig, "plugins stay as they are", before).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    let with_deny = with_pass.replace("do = \"pass\"", "do = \"deny\"");
    change(&rig, || set_config(&rig, &with_deny)).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));

    // Neither does one that is not there.
    let config = rig.root().join("harness.toml");
    let before = rig.log().matches("plugins stay as they are").count();
    std::fs::rename(&config, rig.root().join("elsewhere.toml")).unwrap();
    until_logged(&rig, "plugins stay as they are", before).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    change(&rig, || std::fs::rename(rig.root().join("elsewhere.toml"), &config).unwrap()).await;

    // The file becomes one that does not load: the version before stays in force, and that is said.
    change(&rig, || std::fs::write(&file, b"\0asm\x0d\0\x01\0 half a component").unwrap()).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    assert!(rig.log().contains("the version before stays in force"), "{}", rig.log());

    // A sound component of another role is not taken for the guard's next version.
    let tool = super::misbehave_tool::GUEST.bytes;
    change(&rig, || std::fs::write(&file, tool).unwrap()).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    assert!(rig.log().contains("a guard has this name, and the file is a tool"), "{}", rig.log());

    // The file goes: what it judged is refused, until the configuration says that it is gone.
    change(&rig, || std::fs::remove_file(&file).unwrap()).await;
    let call = ask(&rig).await;
    assert_eq!(denied(&call), Some("guard-broken"), "{call:?}");
    assert!(call.text.contains("cannot read"), "{}", call.text);
    change(&rig, || set_config(&rig, &format!("{with_deny}enabled = false\n"))).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_that_is_found_refuses_when_its_file_goes() {
    let Guest { bytes, .. } = misbehave_guard::GUEST;
    let rig = Rig::start_in(WRITES_A_FILE, |root| {
        std::fs::create_dir(root.join("plugins")).unwrap();
        std::fs::write(root.join("plugins/found.wasm"), bytes).unwrap();
        "[plugin.found]\nconfig = { do = \"deny\" }\n".to_owned()
    })
    .await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    let file = rig.root().join("plugins/found.wasm");
    // Its table needs the file: without it the configuration is not sound, and nothing changes.
    let before = rig.log().matches("plugins stay as they are").count();
    std::fs::remove_file(&file).unwrap();
    until_logged(&rig, "plugins stay as they are", before).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    // Without a table the guard is missed.
    let without = config_of(&rig).replace("[plugin.found]\nconfig = { do = \"deny\" }\n", "");
    change(&rig, || set_config(&rig, &without)).await;
    let call = ask(&rig).await;
    assert_eq!(denied(&call), Some("guard-broken"), "{call:?}");
    assert!(call.text.contains("its file is gone"), "{}", call.text);
    let gone = format!("{without}[plugin.found]\nenabled = false\n");
    change(&rig, || set_config(&rig, &gone)).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_file_than_the_pinned_one_is_not_taken_up() {
    let guest = misbehave_guard::GUEST;
    let digest = harness::plugin::digest(guest.bytes);
    let keys = format!("digest = \"{digest}\"\nconfig = {{ do = \"deny\" }}");
    let rig = Rig::start_in(WRITES_A_FILE, |root| table(root, guest, &keys)).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    // A sound component, and not the one that was pinned.
    let other = super::grabby_guard::GUEST.bytes;
    let file = rig.root().join(format!("{}.wasm", guest.name));
    change(&rig, || std::fs::write(&file, other).unwrap()).await;
    assert_eq!(denied(&ask(&rig).await), Some("no-calls"));
    assert!(rig.log().contains("is pinned"), "{}", rig.log());

    // A server that starts with it refuses.
    let other = harness::plugin::digest(other);
    let wrong = format!("digest = \"{other}\"\nconfig = {{ do = \"pass\" }}");
    let rig = Rig::start_in(WRITES_A_FILE, |root| table(root, guest, &wrong)).await;
    let call = ask(&rig).await;
    assert_eq!(denied(&call), Some("guard-broken"), "{call:?}");
    assert!(call.text.contains(&format!("its file has the digest `{digest}`")), "{}", call.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_is_a_file_beside_the_configuration() {
    let rig = Rig::start_in(WRITES_A_FILE, |root| {
        std::fs::create_dir(root.join("profiles")).unwrap();
        let table = "matches = [\"*127.0.0.1*\"]\n[quirks]\nstream_usage = true\n";
        std::fs::write(root.join("profiles/mine.toml"), table).unwrap();
        String::new()
    })
    .await;
    let asked = async || {
        let (call, run) = ask_for(&rig).await;
        assert_eq!(call.ending, CallEnding::Succeeded);
        let started =
            rig.events(&run).await.into_iter().find_map(|recorded| match recorded.event {
                Event::Started { profile, .. } => Some(profile),
                _ => None,
            });
        started.unwrap()
    };
    assert_eq!(asked().await, "mine");
    let file = rig.root().join("profiles/mine.toml");
    let renamed = "name = \"renamed\"\nmatches = [\"*127.0.0.1*\"]\n";
    change(&rig, || std::fs::write(&file, renamed).unwrap()).await;
    assert_eq!(asked().await, "renamed");
    change(&rig, || std::fs::write(&file, "[quirks]\nparalel = 1\n").unwrap()).await;
    assert_eq!(asked().await, "renamed");
    assert!(rig.log().contains("unknown field `paralel`"), "{}", rig.log());
    change(&rig, || std::fs::remove_file(&file).unwrap()).await;
    assert_eq!(asked().await, "generic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_whose_file_goes_is_left_out_and_stays_one() {
    let guest = super::misbehave_tool::GUEST;
    let keys = super::misbehave_tool::GRANTS;
    let rig = Rig::start_in(WRITES_A_FILE, |root| table(root, guest, keys)).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    let file = rig.root().join(format!("{}.wasm", guest.name));
    change(&rig, || std::fs::remove_file(&file).unwrap()).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
    // Nothing is known of a missing file but what it was before.
    let more = config_of(&rig) + "\n";
    change(&rig, || set_config(&rig, &more)).await;
    assert_eq!(ask(&rig).await.ending, CallEnding::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_where_the_configuration_begins_to_count_on_its_workspace() {
    let guest = misbehave_guard::GUEST;
    let rig = Rig::start(WRITES_A_FILE, "").await;
    let reply = rig.chat(&rig.body("write file first")).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    let more = config_of(&rig) + &table(&rig.workspace(), guest, "config = { do = \"pass\" }");
    change(&rig, || set_config(&rig, &more)).await;
    // By its id as by its path: the model could write what judges it.
    let body =
        serde_json::json!({ "messages": [{ "role": "user", "content": "write file again" }] });
    let by_id = rig.chat_with(&[("x-harness-session", &reply.session)], &body).await;
    assert_eq!(by_id.status, 400, "{:#}", by_id.body);
    assert_eq!(rig.chat(&rig.body("write file again")).await.status, 400);
}
