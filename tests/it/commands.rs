//! Commands through the whole line: reports of people who used such tools, one row each.

use std::fmt::Write as _;

use serde_json::json;

use crate::rig::{KEY, Rig, processes_with, until};

/// A command, what its outcome must hold, and what it must not.
struct Row {
    id: &'static str,
    command: &'static str,
    timeout: Option<u32>,
    holds: &'static [&'static str],
    lacks: &'static [&'static str],
}

const fn row(
    id: &'static str,
    command: &'static str,
    holds: &'static [&'static str],
    lacks: &'static [&'static str],
) -> Row {
    Row { id, command, timeout: None, holds, lacks }
}

const fn timed(id: &'static str, command: &'static str, holds: &'static [&'static str]) -> Row {
    Row { id, command, timeout: Some(1), holds, lacks: &[] }
}

/// Of the sleeps, each has a length of its own, so that what is left of it can be found.
const ROWS: [Row; 15] = [
    // A silent child that holds an output does not keep the call.
    row(
        "B27",
        "sleep 3271 </dev/null >/dev/null & echo hi",
        &["hi", "1 process that it started is still running"],
        &[],
    ),
    row("B27 chatty", "(while :; do echo x; sleep 0.1; done) & echo hi", &["hi"], &[]),
    row("B28", "setsid sleep 3281 & echo spawned", &["spawned"], &[]),
    // What a time-out ends, it ends whole.
    timed("B30", "bash -c 'sleep 3301 & wait'", &["timed out"]),
    timed("B31", "trap '' TERM; (trap '' TERM; sleep 3311) & wait", &["timed out"]),
    timed("B31 partial", "echo before; sleep 3312", &["before", "timed out"]),
    row(
        "B33",
        "git init -q r && cd r && git config user.email a@b.c && git config user.name a && \
         git commit -q --allow-empty -m one && git commit -q --allow-empty -m two && \
         git rebase -i HEAD~1; echo rc=$?; git log --format=%s | tr '\\n' ' '",
        &["an interactive rebase needs an editor", "two one"],
        &["rc=0"],
    ),
    row(
        "B33 tty",
        "(exec 3<>/dev/tty) 2>/dev/null && echo reached; echo asked",
        &["asked"],
        &["reached"],
    ),
    row("B34", "read x; echo got:$x:", &["got::"], &[]),
    row("B36", "printf 'a\\0b\\377\\n'; echo end", &["a", "b", "end"], &["\0", "\\u0000"]),
    row("B37", "for i in $(seq 300); do printf '\\r%d%%' $i; done; echo", &["300%"], &["299%"]),
    row(
        "B37 colour",
        "printf '\\033[31mred\\033[0m \\033]0;title\\007ok\\n'",
        &["red ok"],
        &["\u{1b}", "title"],
    ),
    row(
        "pipeline",
        "false | cat",
        &["[no output]", "[the parts of the last pipeline ended with exit codes 1, 0]"],
        &["exit code 1\n"],
    ),
    row("pipeline head", "yes | head -1", &["y"], &["exit code", "pipeline"]),
    row(
        "B39",
        "env; echo [$HARNESS_UPSTREAM_API_KEY]; tr '\\0' '\\n' </proc/$PPID/environ",
        &["[]", "PATH="],
        &[KEY],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn commands_come_back_whole_and_say_what_is_so() {
    let mut script = String::new();
    for row in &ROWS {
        let mut input = json!({"command": row.command});
        if let Some(timeout) = row.timeout {
            input["timeout"] = json!(timeout);
        }
        let input = input.to_string();
        writeln!(script, "[[turn]]\ncalls = [{{ tool = \"bash\", arguments = '''{input}''' }}]")
            .unwrap();
    }
    script.push_str("[[turn]]\ntext = \"done\"\n");
    let rig = Rig::start(&script, "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    assert_eq!(outcomes.len(), ROWS.len());
    for (row, (_, text)) in ROWS.iter().zip(&outcomes) {
        for part in row.holds {
            assert!(text.contains(part), "{}: no `{part}` in\n{text}", row.id);
        }
        for part in row.lacks {
            assert!(!text.contains(part), "{}: `{}` in\n{text}", row.id, part.escape_debug());
        }
    }
    // The next request was valid JSON text each time.
    rig.assert_clean_requests();
    for ended in ["3301", "3311", "3312"] {
        assert_eq!(processes_with(&format!("sleep\0{ended}")), 0, "{ended}");
    }
    // What was left in the background lives on until the session ends, and no longer.
    assert_eq!(processes_with("sleep\x003271"), 1);
    let path = format!("/v1/sessions/{}", reply.session);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    until("nothing is left", || {
        ["3271", "3281"].iter().all(|left| processes_with(&format!("sleep\0{left}")) == 0)
    })
    .await;
}

/// Jobs as a model meets them, one call after the other: the input, what its outcome must hold, and
/// what it must not.
const JOBS: [(&str, &[&str], &[&str]); 14] = [
    ("{}", &["error: neither `command` nor `job` was given", "hint: give `command`"], &[]),
    (r#"{"job":"job-1"}"#, &["error: there is no job `job-1`: none was started"], &[]),
    (
        r#"{"command":"echo up; until [ -e go ]; do sleep 0.01; done; echo gone; exit 3","background":true}"#,
        &["[`job-1` runs in the background; `{\"job\":\"job-1\"}` shows what it did since"],
        &["exit code"],
    ),
    (r#"{"job":"job-1"}"#, &["[`job-1` has been running for "], &["exit code"]),
    (r#"{"command":"echo x","job":"job-1"}"#, &["error: `command` and `job` were both given"], &[]),
    (r#"{"command":"echo go > go"}"#, &["[no output]"], &["still running"]),
    (r#"{"job":"job-1","wait":60}"#, &["gone\n[`job-1` ended after ", " s]\nexit code 3\n"], &[]),
    (r#"{"job":"job-1"}"#, &["[no new output]\n[`job-1` ended", "exit code 3"], &["gone"]),
    (
        r#"{"command":"trap '' TERM; (trap '' TERM; sleep 3401) & setsid sleep 3402 & wait; wait","background":true}"#,
        &["[`job-2` runs in the background"],
        &[],
    ),
    (
        r#"{"job":"job-7"}"#,
        &["error: there is no job `job-7`; there are `job-1` (ended), `job-2` (runs `trap"],
        &[],
    ),
    (r#"{"job":"job-2","wait":1}"#, &["[`job-2` has been running for "], &[]),
    (r#"{"job":"job-2","stop":true}"#, &["[`job-2` ended after "], &["still running"]),
    // A flood is cut, and lies in a file.
    (
        r#"{"command":"yes | head -c 300000; exec sleep 3403","background":true,"timeout":1}"#,
        &[],
        &["job-2"],
    ),
    (
        r#"{"job":"job-3","wait":60}"#,
        &["[`job-3` was killed at its time-out, after 1"],
        &["still running"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_started_asked_and_stopped() {
    let mut script = String::new();
    for (input, ..) in &JOBS {
        let input = json!(input);
        writeln!(script, "[[turn]]\ncalls = [{{ tool = \"bash\", arguments = {input} }}]").unwrap();
    }
    script.push_str(
        "[[turn]]\ncalls = [{ tool = \"bash\", input = { command = \"exec sleep 3404\", \
         background = true } }]\n[[turn]]\ntext = \"done\"\n",
    );
    let rig = Rig::start(&script, "").await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 200, "{:#}", reply.body);
    let outcomes = rig.outcomes(&reply.run).await;
    assert_eq!(outcomes.len(), JOBS.len() + 1);
    for ((input, holds, lacks), (_, text)) in JOBS.iter().zip(&outcomes) {
        for part in *holds {
            assert!(text.contains(part), "{input}: no `{part}` in\n{text}");
        }
        for part in *lacks {
            assert!(!text.contains(part), "{input}: `{part}` in\n{text}");
        }
    }
    // It comes as soon as it can, and once.
    let told = outcomes[2..7].iter().filter(|(_, text)| text.lines().any(|line| line == "up"));
    assert_eq!(told.count(), 1, "{outcomes:#?}");
    let flood: Vec<_> = outcomes[12..14].iter().map(|(_, text)| text).collect();
    let is_cut = |text: &&&String| text.contains("all of it is in `.harness/spill/001-yes.txt`");
    assert!(flood.iter().any(|text| is_cut(&text)), "{flood:?}");
    assert!(flood.iter().all(|text| text.len() < 32 * 1024));
    for ended in ["3401", "3402", "3403"] {
        assert_eq!(processes_with(&format!("sleep\0{ended}")), 0, "{ended}");
    }
    // A job lives on after its run, and can be asked about in the next.
    assert_eq!(processes_with("sleep\x003404"), 1);
    let path = format!("/v1/sessions/{}", reply.session);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    until("it ends with the session", || processes_with("sleep\x003404") == 0).await;
}
