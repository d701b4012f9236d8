//! `inspect`: what a component is, granted or not.

use super::Desk;

#[test]
fn a_tool_says_what_it_wants_and_offers() {
    Desk::with("files").run(&["inspect", "@/files.wasm"], &[]).is(
        "\
name       files
digest     _
size       _ kB
role       tool
contract   0.1.0 (this host has 0.1.0)
powers     workspace-read, workspace-write
imports    harness:plugin/log@0.1.0, harness:plugin/workspace-read@0.1.0, harness:plugin/workspace-write@0.1.0
runtime    none
names      there: a trap names its functions
compiling  _ ms
instance   _ ms
memory     _ KiB at the start
offers     tool `edit`: effects read, write; at most 30 s
offers     tool `read`: effects read; at most 30 s
offers     tool `write`: effects read, write; at most 30 s
",
        None,
    );
}

#[test]
fn a_guard_of_a_projects_folder() {
    let desk = Desk::with("deadline");
    let project = "name = \"deadline\"\nrole = \"guard\"\nlanguage = \"rust\"\n";
    desk.put("plugin.toml", project);
    desk.run(&["inspect", "@/"], &[]).is(
        "\
name       deadline
digest     _
size       _ kB
role       guard
contract   0.1.0 (this host has 0.1.0)
powers     none
imports    harness:plugin/log@0.1.0
runtime    none
names      there: a trap names its functions
compiling  _ ms
instance   _ ms
memory     _ KiB at the start
",
        None,
    );
}

#[test]
fn what_does_not_load_is_shown_as_far_as_it_goes() {
    Desk::with("old-contract").run(&["inspect", "@/old-contract.wasm"], &[]).is(
        "\
name       old-contract
digest     _
size       _ kB
role       tool
contract   0.0.9 (this host has 0.1.0)
powers     none
imports    harness:plugin/log@0.0.9
runtime    none
names      there: a trap names its functions
compiling  _ ms
loads      no: needs `tool` 0.0.9, this host has 0.1.0
           hint: rebuild the plugin with the contract in this host's `wit/`
",
        Some("it does not load"),
    );
}

#[test]
fn what_is_no_plugin_is_said() {
    let desk = Desk::with("deadline");
    let check = |args: &[&str], error: &str| {
        let said = desk.run(args, &[]);
        assert!(!said.ok && said.err.starts_with(&format!("error: {error}")), "{said:?}");
    };
    desk.put("notes.txt", "no WebAssembly at all");
    check(&["inspect", "@/notes.txt"], "not a component this host can run: the file is no Web");
    check(&["inspect", "@/gone.wasm"], "there is no component `@/gone.wasm`\nhint: build");
    check(
        &["inspect", "@/"],
        "cannot read `@/plugin.toml`, which every project has; `harness plugin new`",
    );
    desk.put("plugin.toml", "name = \"other\"\nrole = \"guard\"\nlanguage = \"rust\"\n");
    check(&["check", "@/"], "there is no component `@/other.wasm`\nhint: build the plugin first");
    desk.put("plugin.toml", "role = \"guard\"\n");
    check(&["test", "@/"], "`@/plugin.toml`: TOML parse error");
}
