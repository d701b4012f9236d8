//! `run`: one call, what it says, and what it used.

use super::{Desk, NO_WALLS, read};

/// The figures that follow every call.
const FIGURES: &str = "time       _ ms; instance _ ms, compiled in _ ms\nmemory     _ KiB at most\n\
                       fuel       _ million instructions\n";

/// Runs one call; what was said on both outputs, and whether it succeeded.
#[track_caller]
fn check(desk: &Desk, args: &[&str], out: &str, err: &str, ok: bool) {
    let said = desk.run(&[&["run"], args].concat(), &NO_WALLS);
    assert_eq!(said.out, out, "{}", said.err);
    assert_eq!(said.err, err.replace("{figures}", FIGURES));
    assert_eq!(said.ok, ok);
}

#[test]
fn a_call_shows_what_a_model_reads_and_what_it_used() {
    let desk = Desk::with("files");
    desk.put("ws/a.txt", "one\ntwo\n");
    let with = |call: &[&'static str]| {
        let rest = ["--workspace", "@/ws", "--grants", "workspace-read,workspace-write"];
        [&["@/files.wasm"], call, &rest].concat()
    };
    check(
        &desk,
        &with(&["read", r#"{"path": "a.txt", "limit": "1"}"#]),
        "1\tone\n[lines 1-1 of 2; go on with offset 2]\n",
        "mended     `limit` was read as integer\nsummary    read `a.txt`, 1 line\n{figures}\
         powers     workspace-read 3\n",
        true,
    );
    let write = r#"{"path": "a.txt", "content": "three\n"}"#;
    check(
        &desk,
        &with(&["write", write]),
        "error: `a.txt` has not been read in this session\n\
         hint: read it first, then send the change again\n",
        "{figures}powers     workspace-read 2, workspace-write 1\n\
         error: the tool says that it could not; a model reads this above\n",
        false,
    );
    assert_eq!(read(&desk.path("ws/a.txt")), "one\ntwo\n");
    let said = desk.run(&[&["run"], &*with(&["write", write, "--shown", "a.txt"])].concat(), &[]);
    assert!(said.ok, "{said:?}");
    assert_eq!(read(&desk.path("ws/a.txt")), "three\n");
    check(
        &desk,
        &with(&["read", r#"{"pth": 1}"#]),
        "the arguments of `read` do not fit, nothing was done: Additional properties are not \
         allowed ('pth' was unexpected); \"path\" is a required property\n\
         hint: call `read` again with {\"byte\"?: integer, \"limit\"?: integer, \"offset\"?: integer, \
         \"path\": string}\n",
        "error: the arguments do not fit; a model reads this above\n",
        false,
    );
}

#[test]
fn nothing_runs_without_a_grant() {
    let desk = Desk::with("files");
    let why = "error: the plugin `files` does not load: imports `workspace-read`, which it was not \
               granted\nhint: if you trust it with that, put this under `[plugin.files]`: grants = \
               [\"workspace-read\", \"workspace-write\"]; or give `--grants \
               workspace-read,workspace-write` to this command\n";
    check(&desk, &["@/files.wasm", "read"], "", why, false);
    desk.configure("files", "grants = [\"workspace-read\", \"workspace-write\"]");
    desk.put("ws/a.txt", "one\n");
    let call = ["@/files.wasm", "read", r#"{"path": "a.txt"}"#, "--workspace", "@/ws"];
    check(
        &desk,
        &[&call, &["--config", "@/harness.toml"][..]].concat(),
        "1\tone\n",
        "summary    read `a.txt`, 1 line\n{figures}powers     workspace-read 3\n",
        true,
    );
}

#[test]
fn a_plugin_that_breaks_says_so_in_its_own_words() {
    let desk = Desk::with("misbehave-tool");
    let rest = ["--workspace", "@/", "--grants", "workspace-write,process,state"];
    let said = desk.run(&[&["run", "@/misbehave-tool.wasm", "panic"], &rest[..]].concat(), &[]);
    assert!(
        said.out.starts_with("the tool's plugin `misbehave-tool` broke: it panicked"),
        "{said:?}"
    );
    let logged = said.err.lines().find(|line| line.starts_with("ERROR panicked at "));
    assert!(logged.is_some() && !said.ok, "{said:?}");
    check(
        &desk,
        &[&["@/misbehave-tool.wasm", "progress"], &rest[..]].concat(),
        "done in three steps\n",
        "progress   step one\nprogress   step two\nprogress   step three\nsummary    three steps\n\
         {figures}powers     none called\n",
        true,
    );
    check(
        &desk,
        &[&["@/misbehave-tool.wasm", "keep"], &rest[..]].concat(),
        "call 1; keys: count; a late writer: the value is at revision 1, not 0\n",
        "summary    counted\n{figures}powers     state 4\n",
        true,
    );
}

#[test]
fn commands_run_behind_the_walls_of_the_configuration() {
    let desk = Desk::with("shell");
    desk.put("ws/a.txt", "one\n");
    let call = |command: &'static str| {
        ["@/shell.wasm", "bash", command, "--workspace", "@/ws", "--grants", "process"]
    };
    let walls = "commands   posture `none`: commands run as the server's user, unconfined";
    let said =
        desk.run(&[&["run"], &call(r#"{"command": "cat a.txt; exit 3"}"#)[..]].concat(), &NO_WALLS);
    assert!(said.ok && said.out.starts_with("one\n") && said.err.starts_with(walls), "{said:?}");
    assert!(
        said.err.contains("\nexit code  3\n") && said.err.ends_with("\npowers     process 1\n")
    );
    // Without walls and without a word that it may be so, none runs.
    let said =
        desk.run(&[&["run"], &call(r#"{"command": "touch made"}"#)[..]].concat(), &NO_WALLS[..1]);
    assert!(!said.ok && said.err.starts_with("commands   no command is run: "), "{said:?}");
    assert!(!desk.path("ws/made").exists());
}

#[test]
fn what_cannot_be_called_is_said() {
    let desk = Desk::with("denylist");
    let error = "error: the plugin offers no tool; guards and profiles are tried out by `harness \
                 plugin test`\n";
    check(&desk, &["@/denylist.wasm", "x"], "", error, false);
    let desk = Desk::with("search");
    let error = "error: there is no tool `gerp`; there are: `glob`, `grep`\n";
    check(&desk, &["@/search.wasm", "gerp", "--grants", "workspace-read"], "", error, false);
}
