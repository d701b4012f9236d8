//! Plugins that a workspace brings along: listed, and never loaded.

use harness::event::CallEnding;

use super::{Place, component_of};
use crate::plugins::{FEWER, ended};
use crate::rig::Rig;

#[test]
fn they_are_listed_by_digest() {
    let place = Place::with(Some(""));
    let brought = place.path("project/.harness/plugins");
    std::fs::create_dir_all(&brought).unwrap();
    let bytes = component_of("misbehave-guard");
    for name in ["mine.wasm", "odd\nname.wasm", "notes.txt"] {
        std::fs::write(brought.join(name), bytes).unwrap();
    }
    std::fs::write(brought.join("provider.toml"), "not even TOML").unwrap();
    let out = place.do_it(&["list", "--workspace", "@/project"]);
    let (_, own) = out.split_once("mine  ").unwrap();
    let digest = harness::plugin::digest;
    assert_eq!(
        format!("mine  {own}"),
        format!(
            "mine         in `.harness/plugins/mine.wasm` of the workspace\n    \
             not loaded: `harness plugin add @/project/.harness/plugins/mine.wasm` trusts it\n    \
             digest: {}\n\
             provider     in `.harness/plugins/provider.toml` of the workspace\n    \
             not loaded: `harness plugin add @/project/.harness/plugins/provider.toml` trusts it\n    \
             digest: {}\n",
            digest(bytes),
            digest(b"not even TOML")
        )
    );
    assert!(!place.do_it(&["list", "--workspace", "@/offers"]).contains(".harness"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_not_changed_by_them() {
    let script = r#"
        [[turn]]
        calls = [{ tool = "write", input = { path = "made.txt", content = "made\n" } }]
        [[turn]]
        text = "done"
    "#;
    let rig = Rig::start(script, FEWER).await;
    let brought = rig.workspace().join(".harness/plugins");
    std::fs::create_dir_all(&brought).unwrap();
    // One that is no component refuses every call, where a server takes it for a plugin.
    std::fs::write(brought.join("mine.wasm"), b"\0asm\x01\0\0\0").unwrap();
    std::fs::write(brought.join("guard.wasm"), component_of("misbehave-guard")).unwrap();
    rig.put("harness.toml", "[plugin.guard]\nconfig = { do = \"deny\" }\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(ended(&rig, &reply.run).await.remove(0).ending, CallEnding::Succeeded);
    assert_eq!(rig.get("made.txt"), "made\n");
}
