//! Running: what comes back, when, and what is left running.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use harness_jail::{
    Command, Completion, Ending, Fault, FaultKind, Limits, Posture, Request, Sandbox, Shell,
    allowed_environment,
};

use crate::workspace::{Workspace, refused};

/// Far more than any of the commands needs, far less than the sleeps they leave behind.
pub(crate) const SOON: Duration = Duration::from_secs(20);

pub(crate) fn request(script: &str) -> Request {
    Request {
        command: Command::Shell(script.to_owned()),
        workdir: None,
        timeout_ms: 60_000,
        environment: Vec::new(),
        stdin: None,
    }
}

/// Each of these, behind all walls, some and none.
macro_rules! in_each_posture {
    ($($test:ident)*) => {
        mod full { $(#[tokio::test] async fn $test() { super::$test(super::Posture::Full).await })* }
        mod partial { $(#[tokio::test] async fn $test() { super::$test(super::Posture::Partial).await })* }
        mod none { $(#[tokio::test] async fn $test() { super::$test(super::Posture::None).await })* }
    };
}

pub(crate) use in_each_posture;

in_each_posture! {
    what_comes_back where_and_with_what what_is_refused background_children_do_not_hold_the_call
    a_chatty_child_lives_on at_the_time_out_everything_goes term_leaves_time_for_last_words
    calls_do_not_end_each_other dropping_the_call_ends_it a_flood_is_bounded_and_spilled
    git_does_not_wait_for_an_editor a_sandbox_that_does_not_answer_is_given_up the_parts_of_a_pipeline_are_noted scripts_are_what_they_are
}

pub(crate) fn sandbox(posture: Posture) -> Sandbox {
    Sandbox {
        posture,
        network: false,
        read: Vec::new(),
        write: Vec::new(),
        masked: Vec::new(),
        limits: Limits::default(),
        init: vec![env!("CARGO_BIN_EXE_sandbox-init").to_owned()],
    }
}

pub(crate) fn shell(w: &Workspace, posture: Posture) -> Shell {
    let host =
        [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("OPENAI_API_KEY", "k1"), ("HOME", "/tmp")];
    let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
    shell_with(w, sandbox(posture), allowed_environment(host.into_iter()))
}

pub(crate) fn shell_with(
    w: &Workspace,
    sandbox: Sandbox,
    environment: Vec<(String, String)>,
) -> Shell {
    // The workspace's name is unlike any other's.
    let name = w.tmp().display().to_string().replace('/', "-");
    Shell::new(environment, &name, Arc::new(sandbox), w.tmp())
}

/// Whether a process runs whose command line holds this word.
pub(crate) fn runs(word: &str) -> bool {
    let entries = std::fs::read_dir("/proc").expect("/proc");
    entries.flatten().any(|entry| {
        let is_process = entry.file_name().to_string_lossy().parse::<u32>().is_ok();
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let is_dead =
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
        is_process
            && !is_dead
            && String::from_utf8_lossy(&line).split('\0').any(|argument| argument == word)
    })
}

/// Waits until a condition holds, and fails when it does not come to hold.
pub(crate) async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "did not happen: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A number of seconds nobody else sleeps for, to know the process by.
pub(crate) fn seconds() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    (1_000_000_000 + u64::from(std::process::id()) * 1000 + u64::from(next)).to_string()
}

/// The host runs calls as tasks on any thread.
#[test]
fn calls_can_move_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    fn sent<T: Send>(_: &T) {}
    let w = Workspace::new();
    let shell = shell(&w, Posture::None);
    shared(&w.jail);
    shared(&w.seen);
    shared(&shell);
    sent(&shell.run(&w.jail, request("true")));
}

async fn what_comes_back(posture: Posture) {
    let w = Workspace::new();
    w.put("sub/f", "x");
    for (script, ending, output) in [
        ("echo hi", Ending::Exited(0), "hi\n"),
        ("echo a; echo b >&2; echo c; exit 3", Ending::Exited(3), "a\nb\nc\n"),
        ("kill -9 $$", Ending::Signalled(9), ""),
        ("printf 'a\\0b\\xff\\n'", Ending::Exited(0), "ab\u{FFFD}\n"),
        ("for i in $(seq 500); do printf \"\\r%d%%\" $i; done", Ending::Exited(0), "500%"),
        ("printf '\\033[31mred\\033[0m'", Ending::Exited(0), "red"),
        ("read x; echo got:$x", Ending::Exited(0), "got:\n"),
        ("cat < /dev/tty || echo none", Ending::Exited(0), "none\n"),
        ("cd sub && cat f", Ending::Exited(0), "x"),
    ] {
        let done = shell(&w, posture).run(&w.jail, request(script)).await.expect("ran");
        assert_eq!(done.ending, ending, "{script}");
        assert!(done.output.ends_with(output), "{script}: {:?}", done.output);
        assert_eq!((done.omitted_bytes, done.spill, done.still_running), (0, None, 0), "{script}");
    }
}

async fn where_and_with_what(posture: Posture) {
    let w = Workspace::new();
    w.put("sub/f", "x");
    let shell = shell(&w, posture);
    let argv = Command::Argv(vec!["pwd".into()]);
    let there = Request { workdir: Some(w.path("sub")), command: argv, ..request("") };
    let done = shell.run(&w.jail, there).await.expect("ran");
    assert_eq!(done.output.trim_end(), w.host("sub").to_str().expect("utf-8"));
    let fed = Request { stdin: Some(b"fed".to_vec()), ..request("cat") };
    assert_eq!(shell.run(&w.jail, fed).await.expect("ran").output, "fed");
    let unread = Request { stdin: Some(vec![0; 1 << 20]), ..request("true") };
    assert_eq!(shell.run(&w.jail, unread).await.expect("ran").ending, Ending::Exited(0));
    let more = Request { environment: vec![("MORE".into(), "yes".into())], ..request("env") };
    let env = shell.run(&w.jail, more).await.expect("ran").output;
    assert!(env.contains("MORE=yes\n") && env.contains("GIT_TERMINAL_PROMPT=0\n"), "{env}");
    assert!(!env.contains("OPENAI") && !env.contains("CARGO_PKG"), "{env}");
}

async fn what_is_refused(posture: Posture) {
    let w = Workspace::new();
    w.put("f", "x");
    let shell = shell(&w, posture);
    let argv =
        |program: &str| Request { command: Command::Argv(vec![program.into()]), ..request("") };
    let at = |raw: &str| Request { workdir: Some(w.path(raw)), ..request("true") };
    let bad = vec![("A=B".to_owned(), String::new())];
    for (request, kind, words) in [
        (request(" "), FaultKind::InvalidInput, "is empty"),
        (request("a\0b"), FaultKind::InvalidInput, "NUL"),
        (request(&"x".repeat(200_000)), FaultKind::TooLarge, "write it to a file"),
        (argv("no-such-program"), FaultKind::NotFound, "program `no-such-program` was not found"),
        (Request { timeout_ms: 0, ..request("true") }, FaultKind::InvalidInput, "time-out"),
        (Request { environment: bad, ..request("true") }, FaultKind::InvalidInput, "variable"),
        (at("none"), FaultKind::NotFound, "does not exist"),
        (at("f"), FaultKind::Unsupported, "is not a directory"),
    ] {
        let got: Result<Completion, Fault> = shell.run(&w.jail, request).await;
        refused(got, kind, words);
    }
    let bare = shell_with(&w, sandbox(posture), vec![("PATH".into(), "/nowhere".into())]);
    refused(bare.run(&w.jail, request("true")).await, FaultKind::Unavailable, "bash was not found");
}

async fn background_children_do_not_hold_the_call(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let mut words = Vec::new();
    for script in [
        // Silent, with the pipe held by stderr alone.
        "sleep SECONDS </dev/null >/dev/null & echo hi",
        // In a session of its own.
        "setsid sleep SECONDS & echo hi",
        // Chatty.
        "(while :; do echo noise; sleep 0.01; done & exec sleep SECONDS) & echo hi",
        // Orphaned twice over, with closed outputs.
        "(setsid bash -c 'sleep SECONDS & exec >&- 2>&-' &); echo hi",
    ] {
        let word = seconds();
        let started = Instant::now();
        let script = script.replace("SECONDS", &word);
        let done = shell.run(&w.jail, request(&script)).await.expect("ran");
        assert!(started.elapsed() < SOON, "{script}");
        assert_eq!(done.ending, Ending::Exited(0), "{script}");
        assert!(done.output.contains("hi\n"), "{script}: {}", done.output);
        assert!(done.still_running >= 1 || !script.contains("hi"), "{script}");
        until("the child runs on", || runs(&word)).await;
        words.push(word);
    }
    drop(shell);
    for word in words {
        until("the end of the session ends it", || !runs(&word)).await;
    }
}

/// Its pipe stays open and empty, so it can write as much as it likes.
async fn a_chatty_child_lives_on(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let script =
        "(until [ -e go ]; do sleep 0.01; done; head -c 1000000 /dev/zero; echo > done) & echo hi";
    let done = shell.run(&w.jail, request(script)).await.expect("ran");
    assert!(done.still_running >= 1);
    w.put("go", "");
    until("it wrote and went on", || w.host("done").exists()).await;
}

async fn at_the_time_out_everything_goes(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let (plain, stubborn, away) = (seconds(), seconds(), seconds());
    let script = format!(
        "echo before; trap '' TERM; (trap '' TERM; exec sleep {stubborn}) & sleep {plain} & \
         setsid sleep {away} & wait; wait; wait"
    );
    let started = Instant::now();
    let limited = Request { timeout_ms: 3000, ..request(&script) };
    let done = shell.run(&w.jail, limited).await.expect("ran");
    assert!(started.elapsed() < SOON);
    assert_eq!((done.ending, done.output.as_str()), (Ending::TimedOut, "before\n"));
    assert_eq!(done.still_running, 0);
    for word in [plain, stubborn, away] {
        assert!(!runs(&word), "{word}");
    }
}

async fn term_leaves_time_for_last_words(posture: Posture) {
    let w = Workspace::new();
    let script = "trap 'echo bye; exit 0' TERM; echo on; while :; do sleep 0.02; done";
    let limited = Request { timeout_ms: 3000, ..request(script) };
    let done = shell(&w, posture).run(&w.jail, limited).await.expect("ran");
    assert_eq!(done.ending, Ending::TimedOut);
    // bash itself may say what became of the sleep in between.
    let said = &done.output;
    assert!(said.starts_with("on\n") && said.ends_with("bye\n"), "{said}");
}

/// A time-out in one call leaves alone what an earlier one left running.
async fn calls_do_not_end_each_other(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let script = format!("setsid sleep {word} >/dev/null 2>&1 &");
    shell.run(&w.jail, request(&script)).await.expect("ran");
    until("it runs", || runs(&word)).await;
    let limited = Request { timeout_ms: 300, ..request("sleep 60") };
    let done = shell.run(&w.jail, limited).await.expect("ran");
    assert_eq!(done.ending, Ending::TimedOut);
    assert!(runs(&word));
    drop(shell);
    until("dropping the shell ends the session", || !runs(&word)).await;
}

async fn dropping_the_call_ends_it(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let (inner, away) = (seconds(), seconds());
    let script = format!("setsid sleep {away} & sleep {inner} & touch started; wait");
    {
        let call = shell.run(&w.jail, request(&script));
        let started = until("it started", || w.host("started").exists() && runs(&away));
        tokio::select! {
            done = call => panic!("it ended by itself: {done:?}"),
            () = started => {}
        }
    }
    until("both are gone", || !runs(&inner) && !runs(&away)).await;
    // No zombie stays: the runtime reaps what was dropped.
    let own = std::process::id().to_string();
    until("all children are reaped", || {
        let children = std::fs::read_dir("/proc").expect("/proc").flatten();
        !children.map(|entry| entry.path().join("stat")).any(|stat| {
            let stat = std::fs::read_to_string(stat).unwrap_or_default();
            let rest = stat.rsplit(')').next().unwrap_or_default().to_owned();
            let mut fields = rest.split_ascii_whitespace();
            stat.contains("(bash)") && fields.next() == Some("Z") && fields.next() == Some(&own)
        })
    })
    .await;
}

async fn a_flood_is_bounded_and_spilled(posture: Posture) {
    let w = Workspace::new();
    let script =
        "echo first; yes 0123456789012345678901234567890123456789 | head -c 100000000; echo last";
    let done = shell(&w, posture).run(&w.jail, request(script)).await.expect("ran");
    assert!(done.output.len() <= 30 * 1024 && done.output.ends_with("last\n"));
    assert!(done.output.starts_with("0123"), "the cut falls on a line");
    assert_eq!(done.omitted_bytes + done.output.len() as u64, 100_000_011);
    let spill = done.spill.expect("a spill");
    assert!(spill.starts_with(".harness/spill/001-echo"), "{spill}");
    let path = w.path(&spill);
    let size = w.jail.stat(&path).expect("there").size_bytes;
    assert!((64 << 20..(64 << 20) + 200).contains(&size), "{size}");
    assert!(w.jail.read(&path, 0, 10).expect("readable").bytes.starts_with(b"first\n0123"));
}

async fn git_does_not_wait_for_an_editor(posture: Posture) {
    let w = Workspace::new();
    let script = "git init -q . && git config user.email a@b && git config user.name n && \
        for i in 1 2 3; do echo $i > f && git add f && git commit -q -m c$i || exit 9; done; \
        before=$(git rev-parse HEAD); git rebase -i HEAD~2; echo code:$?; \
        git rebase --abort 2>/dev/null; [ $before = $(git rev-parse HEAD) ] && echo same; \
        git commit -q --amend && echo amended";
    let done = shell(&w, posture).run(&w.jail, request(script)).await.expect("ran");
    if done.output.contains("git: command not found") {
        return;
    }
    assert!(done.output.contains("needs an editor"), "{}", done.output);
    assert!(!done.output.contains("code:0"), "{}", done.output);
    assert!(done.output.contains("same\namended\n"), "{}", done.output);
}

/// A script, and the exit codes of its last pipeline where they are noted.
const PIPELINES: [(&str, Option<&str>); 19] = [
    ("false | cat", Some("1, 0")),
    ("true | cat", None),
    // `head` ends the one before it, as it should.
    ("yes | head -1", None),
    ("seq 1000000 | (exit 3) | cat >/dev/null", Some("141, 3, 0")),
    ("no-such-program 2>/dev/null | cat", Some("127, 0")),
    ("sh -c 'kill -9 $$' | cat", Some("137, 0")),
    ("printf text; (exit 2) | cat # and a comment", Some("2, 0")),
    ("if true; then false | cat; fi", Some("1, 0")),
    ("for i in 1 2; do false | cat; done\n\n", Some("1, 0")),
    ("set -eux; false | cat", Some("1, 0")),
    ("IFS=0; false | cat", Some("1, 0")),
    ("printf() { exit 9; }; false | cat", Some("1, 0")),
    // A failure speaks for itself.
    ("true | false", None),
    ("set -o pipefail; false | cat", None),
    ("false | cat; exit 4", None),
    // It is not the last one.
    ("false | cat; echo after", None),
    ("false | cat || echo other", Some("1, 0")),
    // Somebody else has the end of the script, or its output.
    ("trap 'echo bye' EXIT; false | cat", None),
    ("exec > log; false | cat", None),
];

async fn the_parts_of_a_pipeline_are_noted(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    for (script, codes) in PIPELINES {
        let done = shell.run(&w.jail, request(script)).await.expect("ran");
        let words = "the parts of the last pipeline ended with exit codes ";
        let noted = codes.map(|codes| format!("{words}{codes}"));
        assert_eq!(done.notes, Vec::from_iter(noted), "{script}: {}", done.output);
        assert!(!done.output.contains("pipeline"), "{script}: {}", done.output);
    }
    assert_eq!(w.text("log"), "");
}

/// Whatever bash is told before a script, the script is none the wiser.
async fn scripts_are_what_they_are(posture: Posture) {
    let w = Workspace::new();
    // As whoever starts the server may leave one open; of `ls` below it is none.
    let inherited = std::fs::File::open("/dev/null").expect("it is there");
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).expect("set");
    let shell = shell(&w, posture);
    for (script, code, output) in [
        ("echo $LINENO; echo $0 $# $-", 0, "1\nbash 0 hBc\n"),
        ("echo ${BASH_ENV-none}; env | grep -c BASH_ENV", 1, "none\n0\n"),
        ("echo \"$BASH_EXECUTION_STRING\"", 0, "echo \"$BASH_EXECUTION_STRING\"\n"),
        ("[ -c /dev/stdin ] && read x; echo $?", 0, "1\n"),
        ("ls /proc/self/fd | tr '\\n' ' '", 0, "0 1 2 3 "),
        ("true\nno-such", 127, "bash: line 2: no-such: command not found\n"),
        ("echo (", 2, "bash: -c: line 1: `echo ('\n"),
        ("if true; then\n", 2, "bash: -c: line 2: syntax error: unexpected end of file\n"),
        ("cat <<X\nin\nX", 0, "in\n"),
        ("echo a\\", 0, "a\\\n"),
        ("set -e; false | cat; echo on; false; echo off", 1, "on\n"),
        ("false | cat; echo $? ${PIPESTATUS[@]}", 0, "0 1 0\n"),
        ("false | true; echo ${PIPESTATUS[@]}", 0, "1 0\n"),
        ("set -x; true", 0, "+ true\n"),
        ("trap 'echo E' ERR; false", 1, "E\n"),
        ("trap 'echo T; exit 5' EXIT; false | cat", 5, "T\n"),
        ("exec bash -c 'exit 6'", 6, ""),
        ("bash -c 'false | cat'; sh -c 'echo x | cat'", 0, "x\n"),
    ] {
        let done = shell.run(&w.jail, request(script)).await.expect("ran");
        assert_eq!(done.ending, Ending::Exited(code), "{script}: {}", done.output);
        assert!(done.output.ends_with(output), "{script}: {:?}", done.output);
        assert_eq!(done.notes, Vec::<String>::new(), "{script}");
    }
}

/// A command that stops what attends it, and the init where it can, costs its own sandbox and no
/// other command.
async fn a_sandbox_that_does_not_answer_is_given_up(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let script = format!("kill -STOP $(ps -o ppid= -p $PPID) $PPID 2>/dev/null; exec sleep {word}");
    let limited = Request { timeout_ms: 1000, ..request(&script) };
    let done = shell.run(&w.jail, limited).await.expect("ran");
    assert_eq!(done.ending, Ending::TimedOut);
    assert!(done.notes.join("").contains("no longer answered"), "{:?}", done.notes);
    until("it is gone", || !runs(&word)).await;
    let done = shell.run(&w.jail, request("echo on")).await.expect("ran");
    assert_eq!((done.ending, done.output.as_str()), (Ending::Exited(0), "on\n"));
}
