//! No tool lets a model change which plugins there are.

use serde_json::json;

use super::component_of;
use crate::rig::Rig;

/// What a model would write there, and what it would give to have.
const EVIL: &str = "[plugin.shell]\nenabled = true\n";

#[tokio::test(flavor = "multi_thread")]
async fn no_call_reaches_the_configuration_or_what_lies_beside_it() {
    // In each, `@` is the directory of the configuration, as is `..` of the workspace.
    let calls = [
        json!({"tool": "write", "input": {"path": "@/plugins/evil.wasm", "content": EVIL}}),
        json!({"tool": "write", "input": {"path": "../plugins/evil.wasm", "content": EVIL}}),
        json!({"tool": "write", "input": {"path": "plugins/evil.wasm", "content": EVIL}}),
        json!({"tool": "write", "input": {"path": "profile.toml", "content": EVIL}}),
        json!({"tool": "read", "input": {"path": "@/harness.toml"}}),
        json!({"tool": "edit", "input": {"path": "harness.toml", "old": "[state]", "new": EVIL}}),
        json!({"tool": "bash", "input": {"command": "echo evil > ../plugins/evil.wasm"}}),
        json!({"tool": "bash", "input": {"command": "echo evil > ../plugins/mine.wasm"}}),
        json!({"tool": "bash", "input": {"command": "rm -f ../plugins/mine.wasm"}}),
        json!({"tool": "bash", "input": {"command": "mkdir -p ../profiles && echo > ../profiles/evil.toml"}}),
        json!({"tool": "bash", "input": {"command": "echo evil >> ../harness.toml"}}),
        json!({"tool": "bash", "input": {"command": "echo evil > plugins/evil.wasm; mv harness.toml gone"}}),
        json!({"tool": "bash", "input": {"command": "cp /etc/hostname ../new; mv ../new ../harness.toml"}}),
    ];
    let mut script = String::new();
    for call in &calls {
        let (tool, input) = (&call["tool"], &call["input"]);
        script += &format!("[[turn]]\ncalls = [{{ tool = {tool}, arguments = '''{input}''' }}]\n");
    }
    script += "[[turn]]\ntext = \"done\"\n";
    let rig = start(&script).await;
    let workspace = rig.workspace();
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(rig.root().join(to), workspace.join(name)).unwrap();
    };
    link("plugins", "plugins");
    link("harness.toml", "harness.toml");
    link("profiles/evil.toml", "profile.toml");
    let config = std::fs::read(rig.root().join("harness.toml")).unwrap();
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    assert_eq!(outcomes.len(), calls.len(), "{outcomes:#?}");
    for (tool, text) in outcomes.iter().filter(|(tool, _)| tool != "bash") {
        let is_out = ["outside the workspace", "leads above the root of the workspace"];
        assert!(is_out.iter().any(|part| text.contains(part)), "{tool}: {text}");
    }
    for (tool, text) in &outcomes {
        assert!(!text.contains("base_url"), "{tool} shows the configuration: {text}");
    }
    assert_eq!(std::fs::read(rig.root().join("harness.toml")).unwrap(), config, "{outcomes:#?}");
    let placed = std::fs::read(rig.root().join("plugins/mine.wasm")).unwrap();
    assert!(placed == component_of("deadline"), "{outcomes:#?}");
    let beside: Vec<_> = std::fs::read_dir(rig.root().join("plugins")).unwrap().collect();
    assert_eq!(beside.len(), 1, "{beside:?}: {outcomes:#?}");
    assert!(!rig.root().join("profiles/evil.toml").exists(), "{outcomes:#?}");

    // Nor may a workspace hold them, or lie in them.
    for directory in [rig.root().to_owned(), rig.root().join("plugins")] {
        let reply = rig.chat(&rig.body_in(&directory, "go")).await;
        assert_eq!(reply.status, 400, "{}: {:#}", directory.display(), reply.body);
    }
}

/// A server with a guard beside its configuration. `@` in the script is its root, which is known
/// only once it is there: so the script names it by a link at a fixed place.
async fn start(script: &str) -> Rig {
    let link = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("apart-{}", std::process::id()));
    let script = script.replace("@/", &format!("{}/", link.display()));
    Rig::start_in(&script, |root| {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(root, &link).unwrap();
        std::fs::create_dir(root.join("plugins")).unwrap();
        std::fs::write(root.join("plugins/mine.wasm"), component_of("deadline")).unwrap();
        let digest = harness::plugin::digest(component_of("deadline"));
        format!("[plugin.mine]\ndigest = \"{digest}\"\n")
    })
    .await
}
