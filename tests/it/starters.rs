//! Every starter from nothing to a plugin: `plugin new`, `plugin build`, `plugin list`, and with the
//! guard of each language a run through the real server that it changes.
//!
//! A language whose toolchain is not here is skipped, and the test says what is missing. Where
//! `HARNESS_TOOLCHAINS` names a folder with toolchains (`venv`, `npm`), nothing may be missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::event::CallEnding;

use crate::plugins::{EndedCall, FEWER, ended};
use crate::rig::{Rig, harness};

/// A write outside `src`, one that leads out of it, one that stays, and a large one outside.
fn writes() -> String {
    let large = "TODO ".repeat(LARGE / 5);
    format!(
        r#"
    [[turn]]
    calls = [{{ tool = "write", input = {{ path = "docs/a.md", content = "x\n" }} }}]
    [[turn]]
    expect = ["refused by guard `mine` (rule `outside-src`)", "`path` leads to `docs/a.md`"]
    calls = [{{ tool = "write", input = {{ path = "src/../b.md", content = "x\n" }} }}]
    [[turn]]
    expect = ["`path` leads to `b.md`, and only files below `src/` may be written"]
    calls = [{{ tool = "write", input = {{ path = "src/c.rs", content = "x\n" }} }}]
    [[turn]]
    calls = [{{ tool = "write", input = {{ path = "d.md", content = "{large}" }} }}]
    [[turn]]
    expect = ["`path` leads to `d.md`"]
    text = "I went on."
"#
    )
}

/// How many bytes of a call's text a guard of any language must take.
const LARGE: usize = 300_000;

/// The example of a tool, called in a workspace with three TODOs.
const COUNTS: &str = r#"
    [[turn]]
    calls = [{ tool = "todos", input = {} }]
    [[turn]]
    expect = ["src/\"b\".rs: 2", "a.txt: 1", "3 in 2 files"]
    calls = [{ tool = "todos", input = { path = "src" } }]
    [[turn]]
    expect = ["2 in 1 file"]
    calls = [{ tool = "todos", input = { path = "mi\"ssing" } }]
    [[turn]]
    expect = ["mi\"ssing"]
    text = "I went on."
"#;

/// A project's folder, and what its commands are called with.
struct Project {
    /// Its parent.
    folder: PathBuf,
    language: &'static str,
    role: &'static str,
}

impl Project {
    /// A new one; none when the language's toolchain is not here.
    #[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
    fn make(language: &'static str, role: &'static str) -> Option<Project> {
        // A fixed place: what a toolchain remembers of it is of use the next time.
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("starters").join(language).join(role);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        if let Some(toolchains) = toolchains() {
            let modules = toolchains.join("npm/node_modules");
            std::os::unix::fs::symlink(modules, folder.join("node_modules")).unwrap();
        }
        let project = Project { folder, language, role };
        let (ok, said) = project.harness(&["doctor", "--lang", language]);
        if !ok {
            assert!(toolchains().is_none(), "not in the toolchains' folder:\n{said}");
            eprintln!("skipped, {language} {role}:\n{said}");
            return None;
        }
        let (ok, said) = project.harness(&["new", role, "mine", "--lang", language]);
        assert!(ok && said.contains("next: harness plugin build mine"), "{said}");
        Some(project)
    }

    /// Runs `harness plugin …` beside the project: whether it succeeded, and what it said.
    fn harness(&self, arguments: &[&str]) -> (bool, String) {
        said(harness().arg("plugin").args(arguments).current_dir(&self.folder).envs(environment()))
    }

    /// Builds it, and gives the component's path.
    fn build(&self) -> PathBuf {
        let (ok, said) = self.harness(&["build", "mine"]);
        assert!(ok, "{} {}:\n{said}", self.language, self.role);
        let next = format!("built {} `mine/mine.wasm`", self.role);
        assert!(said.contains(&next) && said.contains("next: harness plugin check mine"), "{said}");
        self.folder.join("mine/mine.wasm")
    }
}

/// Where toolchains were put for these tests.
fn toolchains() -> Option<PathBuf> {
    std::env::var_os("HARNESS_TOOLCHAINS").map(PathBuf::from)
}

/// What toolchains need of the environment; nothing of it leads to the network.
fn environment() -> Vec<(String, String)> {
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let kept = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let kept = kept.into_iter().filter(|name| std::env::var_os(name).is_some());
    let mut all: Vec<(String, String)> = kept.map(|name| (name.to_owned(), of(name))).collect();
    let caches = Path::new(env!("CARGO_TARGET_TMPDIR")).join("starters/caches");
    for (name, folder) in
        [("CARGO_TARGET_DIR", "cargo"), ("ZIG_GLOBAL_CACHE_DIR", "zig"), ("GOCACHE", "go")]
    {
        all.push((name.to_owned(), caches.join(folder).display().to_string()));
    }
    for (name, value) in
        [("CARGO_NET_OFFLINE", "true"), ("GOPROXY", "off"), ("GOTOOLCHAIN", "local")]
    {
        all.push((name.to_owned(), value.to_owned()));
    }
    if let Some(folder) = toolchains() {
        all.push((
            "PATH".to_owned(),
            format!("{}:{}", folder.join("venv/bin").display(), of("PATH")),
        ));
    }
    all
}

fn said(command: &mut Command) -> (bool, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.success(), text.into_owned())
}

/// The configuration's table of the component.
fn table(component: &Path, keys: &str) -> String {
    format!("[plugin.mine]\npath = \"{}\"\n{keys}", component.display())
}

/// What `harness plugin list` says of the component.
fn listed(component: &Path, keys: &str) -> String {
    let config = component.with_file_name("harness.toml");
    std::fs::write(&config, FEWER.to_owned() + &table(component, keys)).unwrap();
    let mut command = harness();
    command.args(["plugin", "list", "--config"]).arg(&config).env("HOME", config.parent().unwrap());
    let (ok, said) = said(&mut command);
    assert!(ok, "{said}");
    said
}

/// The guard refuses what it should, as much as it is given, and nothing else.
async fn check_guard(language: &'static str) {
    let Some(project) = Project::make(language, "guard") else { return };
    let component = project.build();
    let rig = Rig::start_in(&writes(), |_| FEWER.to_owned() + &table(&component, "")).await;
    let reply = rig.chat(&rig.body("write some files")).await;
    assert_eq!((reply.reason(), reply.answer()), ("completed", "I went on."), "{:#}", reply.body);
    let calls = ended(&rig, &reply.run).await;
    let is_denied = |call: &EndedCall| matches!(call.ending, CallEnding::Denied { .. });
    let denied: Vec<bool> = calls.iter().map(is_denied).collect();
    let texts: Vec<&str> = calls.iter().map(|call| call.text.as_str()).collect();
    assert_eq!(denied, [true, true, false, true], "{language}: {texts:#?}");
    assert_eq!(rig.get("src/c.rs"), "x\n");
    for path in ["docs/a.md", "b.md", "d.md"] {
        assert!(!rig.workspace().join(path).exists(), "{language}: `{path}` was written");
    }
}

/// The tool counts, and a fault of the host's reaches the model.
async fn check_tool(language: &'static str) {
    let Some(project) = Project::make(language, "tool") else { return };
    let keys = "grants = [\"workspace-read\"]\n";
    let component = project.build();
    let rig = Rig::start_in(COUNTS, |_| FEWER.to_owned() + &table(&component, keys)).await;
    rig.put("a.txt", "TODO one\nTODONT\n");
    rig.put("src/\"b\".rs", "// TODO two\n// TODO three\n");
    let reply = rig.chat(&rig.body("count")).await;
    assert_eq!((reply.reason(), reply.answer()), ("completed", "I went on."), "{:#}", reply.body);
    let calls = ended(&rig, &reply.run).await;
    let summaries: Vec<&str> = calls.iter().map(|call| call.summary.as_str()).collect();
    assert_eq!(summaries[..2], ["3 in 2 files", "2 in 1 file"], "{language}: {calls:?}");
}

/// The profile loads, with its quirks understood.
fn check_profile(language: &'static str) {
    let Some(project) = Project::make(language, "profile") else { return };
    let said = listed(&project.build(), "");
    assert!(said.contains("offers: example; may use: sink only"), "{language}: {said}");
}

/// The component is built; its language's own compiler holds it against the contract. To load it
/// takes a compiler many seconds, and the guard of the language shows that.
fn check_build(language: &'static str, role: &'static str) {
    if let Some(project) = Project::make(language, role) {
        project.build();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rust_from_nothing() {
    check_guard("rust").await;
    check_tool("rust").await;
    check_profile("rust");
}

#[tokio::test(flavor = "multi_thread")]
async fn c_from_nothing() {
    check_guard("c").await;
    check_tool("c").await;
    check_profile("c");
}

#[tokio::test(flavor = "multi_thread")]
async fn go_from_nothing() {
    check_guard("go").await;
    check_tool("go").await;
    check_profile("go");
}

#[tokio::test(flavor = "multi_thread")]
async fn javascript_from_nothing() {
    check_guard("javascript").await;
    check_build("javascript", "tool");
    check_build("javascript", "profile");
}

#[tokio::test(flavor = "multi_thread")]
async fn python_from_nothing() {
    check_guard("python").await;
    check_build("python", "tool");
    check_build("python", "profile");
}

/// What the commands say when they cannot do it.
#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = harness();
        // No toolchain is here.
        command.arg("plugin").args(arguments).current_dir(folder.path()).env("PATH", "/nowhere");
        said(&mut command)
    };
    let check = |arguments: &[&str], expected: &str| {
        let (ok, said) = run(arguments);
        assert!(!ok && said.contains(expected), "no `{expected}` in\n{said}");
    };
    let (ok, said) = run(&["new", "guard", "mine", "--lang", "c"]);
    assert!(ok && said.contains("zig is missing; in `mine/`: python3 -m venv"), "{said}");
    check(&["new", "guard", "mine", "--lang", "c"], "is there already, and nothing is overwritten");
    check(&["new", "guard", "Mine", "--lang", "c"], "`Mine` is none");
    check(&["new", "guard", "..", "--lang", "c"], "`..` is none");
    check(&["new", "hook", "other", "--lang", "c"], "`hook` is none of `tool`, `guard`, `profile`");
    check(&["new", "guard", "other", "--lang", "cobol"], "`cobol` is none of `rust`");
    check(&["build", "mine"], "c needs `zig`, which is not here\nhint: in `mine`: python3 -m venv");
    check(&["build", "nowhere"], "cannot read `nowhere/plugin.toml`");
    check(&["doctor", "--lang", "python"], "missing  python      componentize-py; get it: python3");
    let (ok, said) = run(&["doctor"]);
    assert!(ok && said.contains("missing  javascript"), "{said}");
    std::fs::write(folder.path().join("mine/plugin.toml"), "role = \"guard\"\ngrants = []\n")
        .unwrap();
    check(&["build", "mine"], "unknown field `grants`");
}

/// As the examples are: beside another plugin, which comes first in every list.
#[test]
fn a_member_of_a_workspace_is_a_project_too() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let put = |path: &str, text: &str| {
        let path = place.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let root = "[workspace]\nresolver = \"3\"\nmembers = [\"another\", \"mine\"]\n\
                [profile.guest]\ninherits = \"release\"\n";
    put("Cargo.toml", root);
    for name in ["another", "mine"] {
        let package = format!("[package]\nname = \"{name}-plugin\"\nedition = \"2024\"\n");
        put(&format!("{name}/Cargo.toml"), &(package + "[lib]\ncrate-type = [\"cdylib\"]\n"));
        put(&format!("{name}/src/lib.rs"), "");
    }
    put("mine/plugin.toml", "name = \"mine\"\nrole = \"tool\"\nlanguage = \"rust\"\n");
    let mut build = harness();
    build.args(["plugin", "build", "mine"]).current_dir(place.path()).envs(environment());
    // A folder of its own: names of packages are not unique in the others' one.
    let (ok, said) = said(build.env("CARGO_TARGET_DIR", place.path().join("target")));
    assert!(ok && said.contains("built tool `mine/mine.wasm`"), "{said}");
    let component = std::fs::read(place.path().join("mine/mine.wasm")).unwrap();
    let names = |name: &str| component.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(names("mine_plugin.wasm") && !names("another_plugin.wasm"), "another plugin's module");
}
