//! What is shown, who agrees, and what is refused before anybody is asked.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use super::{Place, component_of, mode};
use crate::rig::harness;

#[test]
fn what_is_agreed_to_is_what_is_written() {
    let place = Place::with(Some("# mine\n[log]\nlevel = 'info'\n"));
    let digest = place.offer("mine", "search");
    let out = place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    let size = component_of("search").len().div_ceil(1000);
    assert_eq!(
        out,
        format!(
            "tool `mine`, {size} kB\n    offers: glob, grep\n    asks for: workspace-read\n    \
             digest: {digest}\ninto `@/harness.toml`:\n    + [plugin.mine]\n    \
             + digest = \"{digest}\"\n    + grants = [\"workspace-read\"]\n\
             the file goes to `@/plugins/mine.wasm`\n\
             `mine` is in force; a server that runs takes it up by itself\n"
        )
    );
    assert_eq!(
        place.config(),
        format!(
            "# mine\n[log]\nlevel = 'info'\n\n[plugin.mine]\ndigest = \"{digest}\"\n\
             grants = [\"workspace-read\"]\n"
        )
    );
    assert_eq!(std::fs::read(place.path("plugins/mine.wasm")).unwrap(), component_of("search"));
    assert_eq!(
        (mode(&place.path("plugins")), mode(&place.path("plugins/mine.wasm"))),
        (0o700, 0o600)
    );
    let again = place.do_it(&["add", "@/offers/mine.wasm"]);
    assert_eq!(again, format!("`mine` is there already, pinned to {digest}\n"));
    let listed = place.run(&["list"]).out;
    assert!(listed.contains(&format!("digest: {digest} (pinned)")), "{listed}");
}

#[test]
fn a_new_configuration_is_private_and_a_link_stays_one() {
    let place = Place::with(None);
    place.offer("mine", "misbehave-guard");
    place.do_it(&["add", "@/offers/mine.wasm", "--name", "other", "--yes"]);
    assert_eq!(mode(&place.path("harness.toml")), 0o600);
    assert!(place.path("plugins/other.wasm").exists());
    std::fs::create_dir(place.path("elsewhere")).unwrap();
    std::fs::rename(place.path("harness.toml"), place.path("elsewhere/real.toml")).unwrap();
    std::os::unix::fs::symlink("elsewhere/real.toml", place.path("harness.toml")).unwrap();
    place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    assert!(place.path("harness.toml").is_symlink());
    assert!(place.config().contains("[plugin.mine]"));
}

#[test]
fn a_profile_is_a_table() {
    let place = Place::with(Some(""));
    let table = "matches = [\"*example.org*\"]\n[quirks]\nimages = true\n";
    std::fs::write(place.path("offers/mine.toml"), table).unwrap();
    place.do_it(&["add", "@/offers/mine.toml", "--yes"]);
    assert_eq!(std::fs::read_to_string(place.path("profiles/mine.toml")).unwrap(), table);
    std::fs::write(place.path("offers/mine.toml"), "[quirks]\nimage = true\n").unwrap();
    place.refuses(&["add", "@/offers/mine.toml", "--yes"], &["does not load", "unknown field"]);
    place.do_it(&["remove", "mine", "--yes"]);
    assert_eq!(place.config(), "");
    assert!(!place.path("profiles/mine.toml").exists());
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let place =
        Place::with(Some("[plugin.named]\npath = \"/nowhere/named.wasm\"\nenabled = false\n"));
    for (name, component) in [
        ("mine", "search"),
        ("guard", "misbehave-guard"),
        ("named", "search"),
        ("shell", "search"),
        ("fetching", "fetching-tool"),
        ("old", "old-contract"),
        ("a name", "search"),
    ] {
        place.offer(name, component);
    }
    std::fs::write(place.path("offers/module.wasm"), b"\0asm\x01\0\0\0").unwrap();
    place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    let check = |args: &[&str], parts: &[&str]| {
        let args: Vec<&str> = ["add"].into_iter().chain(args.iter().copied()).collect();
        place.refuses(&args, parts);
    };
    check(&["@/offers/guard.wasm"], &["nobody is there to ask", "hint: `--yes`"]);
    check(
        &["@/offers/shell.wasm", "--yes"],
        &["a default plugin is called `shell`", "`--name NAME`"],
    );
    check(
        &["@/offers/named.wasm", "--yes"],
        &["there is another plugin `named`: `/nowhere/named.wasm`", "`--name NAME`"],
    );
    check(
        &["@/offers/guard.wasm", "--name", "mine", "--yes"],
        &["`mine` is a tool, and this is a guard", "`--name NAME`"],
    );
    check(&["@/offers/a name.wasm", "--yes"], &["`a name` cannot name a plugin"]);
    check(&["@/offers/module.wasm", "--yes"], &["a core WebAssembly module, expected a component"]);
    check(&["@/offers/old.wasm", "--yes"], &["this host has 0.1.0"]);
    check(&["@/offers/gone.wasm", "--yes"], &["there is no component `@/offers/gone.wasm`"]);
    check(&["@/offers/fetching.wasm", "--yes"], &["no server is named", "`--fetch HOST,…`"]);
    check(&["@/offers/fetching.wasm", "--yes", "--fetch", "a/b"], &["a whole host is granted"]);
    check(
        &["@/offers/mine.wasm", "--name", "other", "--yes", "--grants", "process"],
        &["it asks for `workspace-read` besides", "`--grants workspace-read`"],
    );
    std::fs::create_dir(place.path("plugins/taken.wasm")).unwrap();
    check(
        &["@/offers/mine.wasm", "--name", "taken", "--yes", "--grants", "workspace-read"],
        &["cannot write `@/plugins/taken.wasm`"],
    );
    place.refuses(&["remove", "shell", "--yes"], &["is a default plugin", "`enabled = false`"]);
    place.refuses(
        &["remove", "mime", "--yes"],
        &["there is no plugin `mime`", "did you mean `mine`?"],
    );
    place.refuses(&["remove", "mine"], &["nobody is there to ask"]);
    std::fs::write(place.path("harness.toml"), "[plugin.mine]\ngrants = 1\n").unwrap();
    check(&["@/offers/guard.wasm", "--yes"], &["the configuration has 1 problem(s)"]);
}

#[test]
fn servers_are_written_as_they_were_named() {
    let place = Place::with(Some(""));
    place.offer("mine", "fetching-tool");
    let hosts = "api.example.org,*.example.com:8443";
    place.do_it(&["add", "@/offers/mine.wasm", "--yes", "--fetch", hosts]);
    let line = "fetch = [\"api.example.org\", \"*.example.com:8443\"]\n";
    assert!(place.config().contains(line), "{}", place.config());
    let listed = place.do_it(&["list"]);
    assert!(listed.contains("may ask: api.example.org, *.example.com:8443\n"), "{listed}");
}

/// A command at a terminal: what it wrote, after `meanwhile` and then `answer`.
fn at_a_terminal(place: &Place, answer: &str, meanwhile: impl FnOnce()) -> String {
    let mut child = Command::new("script");
    let home = tempfile::tempdir().unwrap();
    let program = harness().get_program().to_str().unwrap().to_owned();
    let (config, offer) = (place.path("harness.toml"), place.path("offers/mine.wasm"));
    let line = format!("{program} plugin add {} --config {}", offer.display(), config.display());
    let mut child = child
        .args(["-qec", &line, "/dev/null"])
        .env("HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    let mut said = Vec::new();
    while !String::from_utf8_lossy(&said).contains("add it so? [y/N]") {
        let mut byte = [0];
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
    meanwhile();
    let mut input = child.stdin.take().unwrap();
    input.write_all(answer.as_bytes()).unwrap();
    output.read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn a_person_is_asked() {
    let place = Place::with(Some("# mine\n"));
    place.offer("mine", "search");
    let before = place.files();
    for answer in ["n\n", "\n", "whatever\n"] {
        let said = at_a_terminal(&place, answer, || {});
        assert!(said.contains("nothing was changed"), "{said}");
        assert!(place.files() == before, "{answer}");
    }
    // Somebody else's change while the question stood there is not written over.
    let changed = || std::fs::write(place.path("harness.toml"), "# changed\n").unwrap();
    let said = at_a_terminal(&place, "y\n", changed);
    assert!(said.contains("was changed meanwhile"), "{said}");
    assert_eq!(place.config(), "# changed\n");
    let said = at_a_terminal(&place, "y\n", || {});
    assert!(said.contains("`mine` is in force"), "{said}");
    assert!(place.config().starts_with("# changed\n\n[plugin.mine]\n"), "{}", place.config());
    // A person may agree to more than a script.
    place.offer("mine", "files");
    let before = place.config();
    let said = at_a_terminal(&place, "n\n", || {});
    assert!(said.contains("against what it is granted: + workspace-write"), "{said}");
    assert_eq!(place.config(), before);
    at_a_terminal(&place, "y\n", || {});
    let granted = "grants = [\"workspace-read\", \"workspace-write\"]\n";
    assert!(place.config().ends_with(granted), "{}", place.config());
}
