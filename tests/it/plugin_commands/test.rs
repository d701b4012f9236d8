//! `test`: rows that hold, rows that do not, and tables that are none.

use super::Desk;

/// What every guard is shown, with an empty table in every row.
const HOLDS: &str = "\
ok      holds: an empty input
ok      holds: an input of 1 MiB
ok      holds: letters of every kind
ok      holds: a tool it does not know
ok      holds: no effects
ok      holds: a path that leads nowhere
ok      holds: 64 calls before
ok      holds: an empty table
";

/// A table for the component `name`: what is said of it.
#[track_caller]
fn check(name: &str, table: &str, out: &str, error: Option<&str>) {
    let desk = Desk::with(name);
    desk.put("table.toml", table);
    let component = format!("@/{name}.wasm");
    let said = desk.run(&["test", &component, "--table", "@/table.toml"], &[]);
    said.is(out, error);
}

#[test]
fn rows_of_tools_that_hold() {
    check(
        "files",
        r#"
[[test]]
name = "reads a file"
tool = "read"
input = { path = "a.txt" }
files = { "a.txt" = "one\ntwo\n" }
expect = { outcome = "two" }

[[test]]
name = "the whole of it"
tool = "read"
input = '{"path": "a/link.txt"}'
files = { "a/b.txt" = "one\n", "a/link.txt" = { link = "b.txt" } }
expect = { outcome_is = "1\tone\n" }

[[test]]
name = "says what is missing"
tool = "read"
input = { path = "b.txt" }
expect = { fault = "not-found", text = "b.txt" }

[[test]]
name = "arguments that do not fit"
tool = "read"
input = { pth = "b.txt" }
expect = { fault = "invalid-input", text = "\"path\" is a required property" }

[[test]]
name = "writes what was shown"
tool = "write"
input = { path = "a.txt", content = "three\n" }
files = { "a.txt" = "one\n" }
shown = ["a.txt"]
expect = { outcome = "replaced", files = { "a.txt" = "three\n", "b.txt" = false } }

[[test]]
tool = "write"
input = { path = "a.txt", content = "three\n" }
files = { "a.txt" = "one\n" }
expect = { fault = "conflict", files = { "a.txt" = "one\n" } }
"#,
        "\
ok      reads a file
ok      the whole of it
ok      says what is missing
ok      arguments that do not fit
ok      writes what was shown
ok      row 6
6 held, 0 failed
",
        None,
    );
}

#[test]
fn rows_that_do_not_hold_say_what_came() {
    check(
        "files",
        r#"
[[test]]
name = "another text"
tool = "write"
input = { path = "a.txt", content = "one\ntwo\n" }
expect = { outcome_is = "done", files = { "a.txt" = "one\n2\n", "b.txt" = true } }

[[test]]
name = "no fault"
tool = "read"
input = { path = "a.txt" }
files = { "a.txt" = "one\n" }
expect = { fault = "not-found" }

[[test]]
name = "no such tool"
tool = "raed"
expect = { outcome = "x" }
"#,
        "\
FAILED  another text
        expected: the outcome as it is in the table
        got:      another one; `-` was expected, `+` came
        --- a/outcome
        +++ b/outcome
        @@ -1 +1 @@
        -done
        \\ No newline at end of file
        +created `a.txt` (8 bytes, 2 lines)
        expected: `a.txt` as it is in the table
        got:      another one; `-` was expected, `+` came
        --- a/a.txt
        +++ b/a.txt
        @@ -1,2 +1,2 @@
         one
        -2
        +two
        expected: a file `b.txt`
        got:      none
FAILED  no fault
        expected: the fault `not-found`
        got:      the outcome
        1\tone
FAILED  no such tool
        expected: a row that can be tried
        got:      there is no tool `raed`; there are: `edit`, `read`, `write`
0 held, 3 failed
",
        Some("3 row(s) do not hold"),
    );
}

#[test]
fn commands_have_scripted_results_or_none() {
    check(
        "shell",
        r#"
[[test]]
name = "as scripted"
tool = "bash"
input = { command = "git status" }
commands = [{ run = "git status", exit = 3, output = "clean\n" }]
expect = { outcome = "clean" }

[[test]]
name = "another command"
tool = "bash"
input = { command = "touch made" }
commands = [{ run = "git status" }]
expect = { fault = "unavailable", text = "`touch made` is not scripted", files = { made = false } }

[[test]]
name = "no script"
tool = "bash"
input = { command = "touch made" }
expect = { outcome = "x" }

[[test]]
name = "a job"
tool = "bash"
input = { command = "make", background = true }
commands = [{ run = "make", output = "made\n" }]
expect = { outcome = "made" }
"#,
        "\
ok      as scripted
ok      another command
FAILED  no script
        expected: an outcome with `x`
        got:      the fault `unavailable`
        error: no command is scripted
        hint: add this to the row's `commands`: { run = \"touch made\", exit = 0 }
ok      a job
3 held, 1 failed
",
        Some("1 row(s) do not hold"),
    );
}

#[test]
fn guards_judge_and_hold() {
    let rest = "\
ok      holds: deny = -7
ok      holds: deny = \"word\"
ok      holds: deny = [{}]
ok      holds: deny = {\"a\":[]}
";
    check(
        "denylist",
        r#"
[[test]]
name = "its own rule"
call = { tool = "bash", input = { command = "rm -rf /" }, effects = ["execute"] }
expect = { denied = "remove", text = "rm -r /" }

[[test]]
name = "a configured one"
call = { tool = "bash", input = { command = "terraform apply" }, effects = ["execute"] }
config = { deny = ["terraform *"] }
expect = { text = "terraform" }

[[test]]
name = "words are words"
call = { tool = "bash", input = { command = "echo 'rm -rf /'" }, effects = ["execute"] }
expect = { passes = true }

[[test]]
name = "no rule of that name"
call = { tool = "bash", input = { command = "rm -rf /" }, effects = ["execute"] }
expect = { denied = "delete" }
"#,
        &format!(
            "\
ok      its own rule
ok      a configured one
ok      words are words
FAILED  no rule of that name
        expected: denied by `delete`
        got:      denied by `remove`: `rm -r /` would remove far more than this work: name the files in the workspace that should go
{HOLDS}{rest}15 held, 1 failed
"
        ),
        Some("1 row(s) do not hold"),
    );
}

#[test]
fn the_examples_table_holds() {
    let table = include_str!("../../../plugins/examples/tests-first/tests.toml");
    let desk = Desk::with("tests-first");
    desk.put("table.toml", table);
    let said = desk.run(&["test", "@/tests-first.wasm", "--table", "@/table.toml"], &[]);
    assert!(said.ok, "{said:?}");
    let rows = table.matches("[[test]]").count();
    let held = said.out.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(held > rows, "the rows, and what every guard must hold against: {said:?}");
}

#[test]
fn guards_see_the_calls_before() {
    let earlier = "{ tool = \"read\", input = { path = \"a\" }, outcome = \"x\" }";
    let row = |earlier: &str, expect: &str| {
        format!(
            "[[test]]\ncall = {{ tool = \"read\", input = {{ path = \"a\" }}, effects = [\"read\"] }}\n\
             earlier = [{earlier}]\nexpect = {{ {expect} }}\n"
        )
    };
    let three = [earlier; 3].join(", ");
    let table = row(&three, "text = \"read\"")
        + &row(&[earlier; 2].join(", "), "passes = true")
        + &row(&three.replace("outcome", "changed_since = true, outcome"), "passes = true");
    let out = format!(
        "ok      row 1\nok      row 2\nok      row 3\n{HOLDS}\
         ok      holds: a table of something else\n12 held, 0 failed\n"
    );
    check("repeat", &table, &out, None);
}

#[test]
fn a_guard_that_breaks_does_not_hold() {
    let table = "[[test]]\nname = \"lets it pass\"\ncall = { tool = \"read\" }\n\
                 config = { do = \"pass\" }\nexpect = { passes = true }\n\
                 [[test]]\nname = \"loops\"\ncall = { tool = \"read\" }\n\
                 config = { do = \"memory\" }\nexpect = { passes = true }\n";
    let desk = Desk::with("misbehave-guard");
    desk.put("plugin.toml", "name = \"misbehave-guard\"\nrole = \"guard\"\nlanguage = \"rust\"\n");
    desk.put("tests.toml", table);
    let said = desk.run(&["test", "@/"], &[]);
    let loops = "FAILED  loops\n        expected: it passes\n        \
                 got:      the guard broke: it needed more than 64 MiB of memory\n";
    assert!(said.out.contains(loops), "{}", said.out);
    let table = "FAILED  holds: do = \"word\"\n        expected: a verdict\n        \
                 got:      it broke: it panicked: ";
    assert!(said.out.contains(table), "{}", said.out);
    assert!(said.out.ends_with("\n8 held, 6 failed\n"), "{}", said.out);
    assert_eq!((said.ok, said.err.as_str()), (false, "error: 6 row(s) do not hold\n"));
}

#[test]
fn profiles_are_compared_as_data() {
    check(
        "profiles",
        r#"
[[test]]
name = "as it is"
profile = "openai"
expect = { quirks = { images = true, strict = "" }, matches = ["https://api.openai.com/*"] }

[[test]]
name = "otherwise"
profile = "generic"
expect = { quirks = { images = true }, matches = [] }

[[test]]
name = "none"
profile = "opneai"
expect = { matches = [] }

[[test]]
name = "a quirk that is none"
profile = "openai"
expect = { quirks = { image = true } }
"#,
        "\
ok      as it is
FAILED  otherwise
        expected: images = true
        got:      images = false
        expected: matches []
        got:      matches [\"*\"]
FAILED  none
        expected: a profile `opneai`
        got:      profiles generic, openai
FAILED  a quirk that is none
        expected: a row that can be tried
        got:      `expect.quirks`: there is no quirk `image`, did you mean `images`?
1 held, 3 failed
",
        Some("3 row(s) do not hold"),
    );
}

#[test]
fn tables_that_are_none() {
    let misspelt = "[[test]]\nname = \"n\"\ntool = \"read\"\nexpect = { outcom = \"x\" }\n";
    let check = |table: &str, error: &str| check("files", table, "", Some(error));
    check("", "`@/table.toml`: the table has no rows; each begins with `[[test]]`");
    check(
        misspelt,
        "`@/table.toml`: row 1, `n`: `expect`: `outcom` is none of `fault`, `files`, `outcome`, \
         `outcome_is`, `text`, did you mean `outcome`?",
    );
    let desk = Desk::with("files");
    desk.run(&["test", "@/files.wasm"], &[])
        .is("", Some("there is no table\nhint: name one by `--table FILE`"));
}

#[test]
fn no_server_is_asked() {
    check(
        "fetching-tool",
        r#"
[[test]]
tool = "fetch"
input = { url = "http://127.0.0.1:9/" }
expect = { fault = "denied" }
"#,
        "ok      row 1\n1 held, 0 failed\n",
        None,
    );
}
