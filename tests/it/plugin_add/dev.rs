//! `harness plugin dev`: round after round, by a toolchain that copies what the source names.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use super::{Place, component_of};
use crate::rig::{harness, until};

/// In place of a compiler: the source is the path of the component, or does not build.
const TOOLCHAIN: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo copies 1.0 && exit\n\
                         exec cp \"$(cat app.py)\" mine.wasm\n";

/// Ended when it is dropped.
struct Dev(Child);

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A whole file, in one step: what watches it sees no half.
fn put(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new~");
    std::fs::write(&new, bytes).unwrap();
    std::fs::rename(new, path).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_built_checked_tested_and_put_in_force() {
    let place = Place::with(Some(""));
    let first = place.offer("first", "repeat");
    let second = place.offer("second", "deadline");
    place.offer("wants", "search");
    let project = place.path("project");
    std::fs::create_dir_all(project.join(".venv/bin")).unwrap();
    let toolchain = project.join(".venv/bin/componentize-py");
    std::fs::write(&toolchain, TOOLCHAIN).unwrap();
    std::fs::set_permissions(&toolchain, std::fs::Permissions::from_mode(0o755)).unwrap();
    let manifest = "name = \"mine\"\nrole = \"guard\"\nlanguage = \"python\"\n";
    std::fs::write(project.join("plugin.toml"), manifest).unwrap();
    let source = project.join("app.py");
    let offer = |name: &str| place.path(&format!("offers/{name}.wasm")).display().to_string();
    put(&source, offer("first").as_bytes());

    let log = place.path("log");
    let file = std::fs::File::create(&log).unwrap();
    let child = harness()
        .args(["plugin", "dev"])
        .arg(&project)
        .args(["--yes", "--config"])
        .arg(place.path("harness.toml"))
        .env("HOME", place.path(""))
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let _dev = Dev(child);
    let said = || std::fs::read_to_string(&log).unwrap();
    let rounds = || said().matches("; Ctrl-C ends it").count();
    until("the first round is over", || rounds() == 1).await;
    assert!(place.config().contains(&format!("digest = \"{first}\"")), "{}", said());
    assert_eq!(std::fs::read(place.path("plugins/mine.wasm")).unwrap(), component_of("repeat"));

    // Each source, part of what is said, and the digest that is pinned then.
    for (number, (source_text, part, digest)) in [
        (offer("nowhere"), "the toolchain failed", &first),
        (offer("wants"), "`plugin.toml` says `guard`, the component is a tool", &first),
        (offer("second"), "`mine` is in force", &second),
    ]
    .into_iter()
    .enumerate()
    {
        let before = said().len();
        put(&source, source_text.as_bytes());
        until(part, || rounds() == number + 2).await;
        let said = said().split_off(before);
        assert!(said.contains(part), "no `{part}` in {said}");
        let stays = said.contains("not put in force, what was there stays");
        assert_eq!(stays, digest == &first, "{said}");
        assert!(place.config().contains(&format!("digest = \"{digest}\"")), "{}", place.config());
    }
    // A table that does not hold keeps it out.
    put(&source, offer("first").as_bytes());
    put(
        &project.join("tests.toml"),
        b"[[test]]\ncall = { tool = \"write\", input = {} }\nexpect = { denied = \"no-calls\" }\n",
    );
    until("it failed its table", || said().contains("row(s) do not hold")).await;
}
