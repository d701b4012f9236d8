//! `check`: findings with their mends.

use super::Desk;

#[test]
fn a_sound_tool_without_a_grant() {
    Desk::with("files").run(&["check", "@/files.wasm"], &[]).is(
        "\
ok       file         _ kB, compiled in _ ms
ok       role         a tool of contract 0.1.0, this host has 0.1.0
ok       names        there: a trap names its functions
note     grants       it imports workspace-read, workspace-write, and there is no `[plugin.files]`
                      mend: put this under `[plugin.files]` when you install it: grants = [\"workspace-read\", \"workspace-write\"]
ok       load         it loads: exports and imports are the contract's
ok       same twice   it offers the same when it is asked again
ok       schema       tool `edit`: schema and description are sound
ok       schema       tool `read`: schema and description are sound
ok       schema       tool `write`: schema and description are sound
ok       memory       _ KiB at the start, _ KiB at most
",
        None,
    );
}

#[test]
fn a_sound_guard_and_profile() {
    Desk::with("denylist").run(&["check", "@/denylist.wasm"], &[]).is(
        "\
ok       file         _ kB, compiled in _ ms
ok       role         a guard of contract 0.1.0, this host has 0.1.0
ok       names        there: a trap names its functions
ok       load         it loads: exports and imports are the contract's
ok       same twice   the same proposal gets the same verdict
ok       fuel         an ordinary check takes _ million instructions, _ % of the limit
ok       memory       _ KiB at most
",
        None,
    );
    Desk::with("profiles").run(&["check", "@/profiles.wasm"], &[]).is(
        "\
ok       file         _ kB, compiled in _ ms
ok       role         a profile of contract 0.1.0, this host has 0.1.0
ok       names        there: a trap names its functions
ok       load         it loads: exports and imports are the contract's
ok       same twice   it describes the same when it is asked again
ok       matches      profile `generic`: *
ok       matches      profile `openai`: https://api.openai.com/*
ok       fuel         `describe` takes _ million instructions, _ % of the limit
ok       memory       _ KiB at the start, _ KiB at most
",
        None,
    );
}

/// The lines of `check` that are not `ok`, and the error.
fn check(guest: &str, args: &[&str], findings: &str, error: Option<&str>) {
    let desk = Desk::with(guest);
    let component = format!("@/{guest}.wasm");
    check_at(&desk, &[&["check", &component], args].concat(), findings, error);
}

#[track_caller]
fn check_at(desk: &Desk, args: &[&str], findings: &str, error: Option<&str>) {
    let mut said = desk.run(args, &[]);
    said.out = said.out.lines().filter(|line| !line.starts_with("ok ")).fold(
        String::new(),
        |mut out, line| {
            out.push_str(line);
            out.push('\n');
            out
        },
    );
    said.is(findings, error);
}

#[test]
fn grants_are_compared_with_imports() {
    check("files", &["--grants", "workspace-write,workspace-read"], "", None);
    check(
        "files",
        &["--grants", "workspace-read,workspace-write,process"],
        "\
advice   grants       granted and not imported: process
                      mend: grant what it imports: grants = [\"workspace-read\", \"workspace-write\"]
",
        None,
    );
    check(
        "files",
        &["--grants", "workspace-read"],
        "\
problem  load         imports `workspace-write`, which it was not granted
                      mend: if you trust it with that, put this under `[plugin.files]`: grants = [\"workspace-read\", \"workspace-write\"]
",
        Some("1 problem(s)"),
    );
    let desk = Desk::with("files");
    desk.configure("files", "grants = [\"workspace-read\", \"state\"]");
    check_at(
        &desk,
        &["check", "@/files.wasm", "--config", "@/harness.toml"],
        "\
advice   grants       granted and not imported: state
                      mend: grant what it imports: grants = [\"workspace-read\", \"workspace-write\"]
problem  load         imports `workspace-write`, which it was not granted
                      mend: if you trust it with that, put this under `[plugin.files]`: grants = [\"workspace-read\", \"workspace-write\"]
",
        Some("1 problem(s)"),
    );
}

#[test]
fn what_does_not_load_is_a_problem_with_its_mend() {
    check(
        "grabby-guard",
        &[],
        "problem  load         a guard may import the log and nothing else, this one imports `workspace-read`\n",
        Some("1 problem(s)"),
    );
    check(
        "old-contract",
        &[],
        "\
problem  load         needs `tool` 0.0.9, this host has 0.1.0
                      mend: rebuild the plugin with the contract in this host's `wit/`
",
        Some("1 problem(s)"),
    );
    let desk = Desk::with("deadline");
    desk.put("plugin.toml", "name = \"deadline\"\nrole = \"tool\"\nlanguage = \"rust\"\n");
    check_at(
        &desk,
        &["check", "@/"],
        "\
problem  role         `plugin.toml` says `tool`, the component is a guard
                      mend: write `role = \"guard\"`, or build the world of a tool
",
        Some("1 problem(s)"),
    );
}

#[test]
fn a_guard_that_breaks_on_an_ordinary_proposal() {
    let desk = Desk::with("misbehave-guard");
    let said = desk.run(&["check", "@/misbehave-guard.wasm"], &[]);
    let problem = "problem  check        shown a read, it broke: it panicked: ";
    assert!(said.out.contains(problem) && said.out.contains("`do` is in the configuration"));
    assert_eq!((said.ok, said.err.as_str()), (false, "error: 1 problem(s)\n"));
    // In a configuration that it can work with it does not.
    desk.configure("misbehave-guard", "config = { do = \"deny\" }");
    let args = ["check", "@/misbehave-guard.wasm", "--config", "@/harness.toml"];
    check_at(&desk, &args, "", None);
}

#[test]
fn a_tool_that_models_stumble_over() {
    let desk = Desk::with("misbehave-tool");
    let schema =
        r#"{"type":"object","required":["lines"],"properties":{"file":{"type":"string"}}}"#;
    let table = format!(
        "config = {{ offer = \"Odd\", schema = '{schema}' }}\n\
         grants = [\"workspace-write\", \"process\", \"state\"]"
    );
    desk.configure("misbehave-tool", &table);
    let args = ["check", "@/misbehave-tool.wasm", "--config", "@/harness.toml"];
    let said = desk.run(&args, &[]);
    let about_it: String = said
        .out
        .split_inclusive("\n")
        .skip_while(|line| !line.contains("`Odd`"))
        .take_while(|line| line.contains("`Odd`") || line.starts_with(' '))
        .collect();
    let expected = "\
advice   name         tool `Odd`: long or in capitals
                      mend: a short word in small letters: models write `odd` anyway
problem  schema       tool `Odd`: parameter `file` has no description
                      mend: add `\"description\"`: what it means, and an example where that helps
problem  schema       tool `Odd`: `required` names `lines`, which is no parameter
                      mend: describe `lines` in `properties`, or leave it out there
advice   schema       tool `Odd`: parameters that it does not know are let through
                      mend: add `\"additionalProperties\": false`, so that a misspelt one is told
advice   paths        tool `Odd`: `file` looks like a path, and guards are not told of it
                      mend: name `file` in `path-arguments`, if it is a path in the workspace
";
    assert_eq!(about_it, expected, "{}", said.out);
    assert!(said.out.contains("it imports `process`, and no tool declares `execute`"));
    assert_eq!((said.ok, said.err.as_str()), (false, "error: 2 problem(s)\n"));
    desk.configure("misbehave-tool", &table.replace("\"object\"", "\"objekt\""));
    check_at(
        &desk,
        &args,
        "problem  load         tool `Odd`: input schema must have `\"type\": \"object\"`\n",
        Some("1 problem(s)"),
    );
    desk.configure("misbehave-tool", &table.replace("\"string\"", "\"text\""));
    let said = desk.run(&args, &[]);
    let invalid = "tool `Odd`: input schema is not valid JSON Schema 2020-12: ";
    assert!(!said.ok && said.out.contains(invalid), "{}", said.out);
}

#[test]
fn a_tool_that_asks_servers_needs_hosts_where_it_is_installed() {
    check(
        "fetching-tool",
        &["--grants", "fetch"],
        "\
problem  load         granted `fetch`, and no host
                      mend: add the hosts under `[plugin.fetching-tool]`: fetch = [\"api.example.org\"]
",
        Some("1 problem(s)"),
    );
    let said = Desk::with("fetching-tool").run(&["check", "@/fetching-tool.wasm"], &[]);
    assert!(said.out.contains("ok       load         it loads"), "{said:?}");
}
