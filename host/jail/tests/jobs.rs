//! Jobs: what is told of them and when, how many there are, and that they end.

use std::sync::Arc;
use std::time::Duration;

use harness_jail::{Ask, Command, Completion, Ending, FaultKind, Posture, Request, Shell};

use crate::process::{SOON, in_each_posture, request, runs, seconds, shell, until};
use crate::workspace::{Workspace, refused};

in_each_posture! {
    it_is_told_piece_by_piece what_fails_at_once_is_told what_is_refused waiting_and_stopping
    stopping_ends_all_of_it what_its_command_left_is_its_own its_time_out_ends_it
    eight_and_no_more the_oldest_that_are_over_are_forgotten a_flood_is_bounded
    the_end_of_the_session_is_its_end nobody_needs_to_ask
}

const TO_ITS_END: Ask = Ask::Wait(SOON);

async fn start(shell: &Shell, w: &Workspace, script: &str) -> (String, Completion) {
    let job = shell.start_job(&w.jail, request(script)).await.expect("started");
    (job.id, job.completion)
}

/// Asks until it printed what ends like this, and gives all it printed.
async fn until_printed(shell: &Shell, id: &str, mut printed: String, end: &str) -> String {
    let deadline = std::time::Instant::now() + SOON;
    while !printed.ends_with(end) {
        assert!(std::time::Instant::now() < deadline, "{printed:?} does not end with {end:?}");
        printed += &shell.ask_job(id, Ask::Look).await.expect("there").output;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    printed
}

async fn it_is_told_piece_by_piece(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let wait_for = |file: &str| format!("until [ -e {file} ]; do sleep 0.01; done");
    let script = format!(
        "printf 'one\\ntw'; {}; printf 'o\\n'; {}; echo three >&2; exit 3",
        wait_for("first"),
        wait_for("second")
    );
    let (id, job) = start(&shell, &w, &script).await;
    assert_eq!((id.as_str(), job.ending), ("job-1", Ending::Running));
    assert_eq!(until_printed(&shell, &id, job.output, "tw").await, "one\ntw");
    w.put("first", "");
    assert_eq!(until_printed(&shell, &id, String::new(), "o\n").await, "o\n");
    w.put("second", "");
    let done = shell.ask_job(&id, TO_ITS_END).await.expect("there");
    assert_eq!((done.ending, done.output.as_str()), (Ending::Exited(3), "three\n"));
    assert_eq!((done.omitted_bytes, &done.spill, done.still_running), (0, &None, 0));
    // Its end is told as often as it is asked for, what it printed once.
    let again = shell.ask_job(&id, Ask::Stop).await.expect("there");
    assert_eq!(again, Completion { output: String::new(), ..done });
}

/// On a machine that is busy enough the first moment may be over before.
async fn what_fails_at_once_is_told(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let (id, mut job) = start(&shell, &w, "echo no; exit 7").await;
    if job.ending == Ending::Running {
        let first = job.output;
        job = shell.ask_job(&id, TO_ITS_END).await.expect("there");
        job.output.insert_str(0, &first);
    }
    assert_eq!((job.ending, job.output.as_str()), (Ending::Exited(7), "no\n"));
    let argv = Command::Argv(vec!["no-such-program".into()]);
    match shell.start_job(&w.jail, Request { command: argv, ..request("") }).await {
        Ok(job) => {
            let done = shell.ask_job(&job.id, TO_ITS_END).await.expect("there");
            assert_eq!(done.ending, Ending::Exited(127));
        }
        missing => refused(missing, FaultKind::NotFound, "program `no-such-program`"),
    }
}

async fn what_is_refused(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let asked = shell.ask_job("job-1", Ask::Look).await;
    refused(
        asked,
        FaultKind::NotFound,
        "no job `job-1`: none was started since the session was opened here",
    );
    let away = Request { workdir: Some(w.path("none")), ..request("true") };
    refused(shell.start_job(&w.jail, away).await, FaultKind::NotFound, "does not exist");
    refused(shell.start_job(&w.jail, request(" ")).await, FaultKind::InvalidInput, "is empty");
    let long = seconds();
    start(&shell, &w, &format!("sleep {long}\n# and more")).await;
    let asked = shell.ask_job("job-2", Ask::Stop).await;
    let words = format!("there is no job `job-2`; there are `job-1` (runs `sleep {long}`)");
    refused(asked, FaultKind::NotFound, &words);
    assert!(runs(&long));
}

async fn waiting_and_stopping(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let (id, job) = start(&shell, &w, &format!("echo on; exec sleep {word}")).await;
    assert_eq!(until_printed(&shell, &id, job.output, "on\n").await, "on\n");
    let waited = Ask::Wait(Duration::from_millis(20));
    let job = shell.ask_job(&id, waited).await.expect("there");
    assert_eq!((job.ending, job.output.as_str()), (Ending::Running, ""));
    assert!(runs(&word));
    let done = shell.ask_job(&id, Ask::Stop).await.expect("there");
    assert_eq!((done.ending, done.still_running), (Ending::Signalled(15), 0));
    assert!(!runs(&word));
    // What it says when it is asked to end is still heard.
    let script = "trap 'echo bye; exit 0' TERM; echo on; while :; do sleep 0.02; done";
    let (id, job) = start(&shell, &w, script).await;
    until_printed(&shell, &id, job.output, "on\n").await;
    let done = shell.ask_job(&id, Ask::Stop).await.expect("there");
    assert_eq!(done.ending, Ending::Exited(0));
    assert!(done.output.ends_with("bye\n"), "{}", done.output);
}

async fn stopping_ends_all_of_it(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let words = [seconds(), seconds(), seconds()];
    let [plain, stubborn, away] = &words;
    let script = format!(
        "trap '' TERM; (trap '' TERM; exec sleep {stubborn}) & sleep {plain} & setsid sleep {away} & \
         echo on; wait; wait; wait"
    );
    let (id, job) = start(&shell, &w, &script).await;
    until_printed(&shell, &id, job.output, "on\n").await;
    for word in &words {
        until("it runs", || runs(word)).await;
    }
    let done = shell.ask_job(&id, Ask::Stop).await.expect("there");
    assert!(matches!(done.ending, Ending::Signalled(9) | Ending::Exited(_)), "{done:?}");
    assert_eq!(done.still_running, 0);
    assert!(words.iter().all(|word| !runs(word)));
}

/// A job whose command is over while a child holds its pipe.
async fn what_its_command_left_is_its_own(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let script = format!(
        "(until [ -e go ]; do sleep 0.01; done; echo late; exec sleep {word}) & echo hi; exit 4"
    );
    let (id, job) = start(&shell, &w, &script).await;
    let mut done = shell.ask_job(&id, TO_ITS_END).await.expect("there");
    done.output.insert_str(0, &job.output);
    assert_eq!((done.ending, done.output.as_str()), (Ending::Exited(4), "hi\n"));
    assert!(done.still_running >= 1);
    w.put("go", "");
    assert_eq!(until_printed(&shell, &id, String::new(), "late\n").await, "late\n");
    until("the child runs on", || runs(&word)).await;
    let done = shell.ask_job(&id, Ask::Stop).await.expect("there");
    assert_eq!((done.ending, done.still_running), (Ending::Exited(4), 0));
    assert!(!runs(&word));
}

async fn its_time_out_ends_it(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let script = format!("sleep {word} & sleep {word}");
    let limited = Request { timeout_ms: 700, ..request(&script) };
    let job = shell.start_job(&w.jail, limited).await.expect("started");
    let done = shell.ask_job(&job.id, TO_ITS_END).await.expect("there");
    assert_eq!((done.ending, done.still_running), (Ending::TimedOut, 0));
    assert!(!runs(&word));
}

async fn eight_and_no_more(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let word = seconds();
    let script = format!("exec sleep {word}");
    for number in 1..=8 {
        assert_eq!(start(&shell, &w, &script).await.0, format!("job-{number}"));
    }
    let ninth = shell.start_job(&w.jail, request("touch ninth")).await;
    let words = format!("8 jobs run already, and no more may at one time: `job-1` (`{script}`), ");
    refused(ninth, FaultKind::Unavailable, &words);
    assert!(!w.host("ninth").exists());
    // A command in between is not in the way.
    let done = shell.run(&w.jail, request("echo hi")).await.expect("ran");
    assert_eq!((done.output.as_str(), done.still_running), ("hi\n", 0));
    shell.ask_job("job-3", Ask::Stop).await.expect("there");
    assert_eq!(start(&shell, &w, "true").await.0, "job-9");
}

async fn the_oldest_that_are_over_are_forgotten(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let (lasting, _) = start(&shell, &w, &format!("exec sleep {}", seconds())).await;
    for number in 2..=19 {
        let (id, _) = start(&shell, &w, "true").await;
        assert_eq!(id, format!("job-{number}"));
        shell.ask_job(&id, TO_ITS_END).await.expect("there");
    }
    assert_eq!(shell.ask_job(&lasting, Ask::Look).await.expect("kept").ending, Ending::Running);
    for (id, is_known) in [("job-2", false), ("job-3", false), ("job-4", true), ("job-19", true)] {
        let asked = shell.ask_job(id, Ask::Look).await;
        assert_eq!(asked.is_ok(), is_known, "{id}: {asked:?}");
    }
    let unknown = shell.ask_job("job-2", Ask::Look).await;
    refused(unknown, FaultKind::NotFound, "`), `job-4` (ended), `job-5` (ended), ");
}

async fn a_flood_is_bounded(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    let script = "echo first; yes 01234567890123456789012345678901234567890123456 | \
                  head -c 100000000; until [ -e go ]; do sleep 0.01; done; echo last";
    let (id, job) = start(&shell, &w, script).await;
    let (mut bytes, mut seen) = (job.omitted_bytes + job.output.len() as u64, vec![job]);
    let deadline = std::time::Instant::now() + SOON;
    while bytes < 100_000_006 {
        assert!(std::time::Instant::now() < deadline, "{bytes} came");
        let part = shell.ask_job(&id, Ask::Wait(Duration::from_millis(20))).await.expect("there");
        bytes += part.omitted_bytes + part.output.len() as u64;
        seen.push(part);
    }
    for part in &seen {
        assert!(part.output.len() <= 30 * 1024);
        assert_eq!(part.spill.is_some(), part.omitted_bytes > 0);
        if let Some(spill) = &part.spill {
            let size = w.jail.stat(&w.path(spill)).expect("there").size_bytes;
            let whole = part.omitted_bytes + part.output.len() as u64;
            assert!(size == whole || size >= 64 << 20, "{size} of {whole}");
        }
    }
    w.put("go", "");
    let done = shell.ask_job(&id, TO_ITS_END).await.expect("there");
    assert_eq!((done.ending, done.output.as_str()), (Ending::Exited(0), "last\n"));
    assert_eq!((done.omitted_bytes, done.spill), (0, None));
}

async fn the_end_of_the_session_is_its_end(posture: Posture) {
    let w = Workspace::new();
    let shell = Arc::new(shell(&w, posture));
    let (first, second) = (seconds(), seconds());
    let (id, _) = start(&shell, &w, &format!("setsid sleep {first} & exec sleep {first}")).await;
    until("it runs", || runs(&first)).await;
    let ended = Arc::clone(&shell);
    tokio::task::spawn_blocking(move || ended.end()).await.expect("no panic");
    assert!(!runs(&first));
    let done = shell.ask_job(&id, TO_ITS_END).await.expect("there");
    assert_eq!((done.ending, done.still_running), (Ending::Signalled(9), 0));
    // The next one is in a new sandbox, and has a new name.
    let (id, _) = start(&shell, &w, &format!("exec sleep {second}")).await;
    assert_eq!(id, "job-2");
    until("it runs", || runs(&second)).await;
    drop(shell);
    until("it ends with the session", || !runs(&second)).await;
}

/// A job that nobody asks about ends all the same, and is no part of a later call.
async fn nobody_needs_to_ask(posture: Posture) {
    let w = Workspace::new();
    let shell = shell(&w, posture);
    start(&shell, &w, "echo unseen; until [ -e go ]; do sleep 0.01; done; echo > done").await;
    let done = shell.run(&w.jail, request("echo > go; echo seen")).await.expect("ran");
    assert_eq!((done.output.as_str(), done.still_running), ("seen\n", 0));
    until("it came to its end", || w.host("done").exists()).await;
}

/// A server that was started in one call is used in the next. Behind partial walls there are no
/// sockets for that.
#[tokio::test]
async fn a_server_is_there_for_the_next_call() {
    let serve = "exec python3 -c '
import socketserver
class Hello(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(b\"hello\\n\")
with socketserver.TCPServer((\"127.0.0.1\", 0), Hello) as server:
    print(server.server_address[1], flush=True)
    open(\"port\", \"w\").write(str(server.server_address[1]))
    server.serve_forever()
'";
    let ask = "until [ -s port ]; do sleep 0.01; done; exec 3<>/dev/tcp/127.0.0.1/$(cat port) && \
               cat <&3";
    for posture in [Posture::Full, Posture::None] {
        let w = Workspace::new();
        let shell = shell(&w, posture);
        let (id, job) = start(&shell, &w, serve).await;
        if job.output.contains("python3: not found") || job.ending == Ending::Exited(127) {
            return;
        }
        let done = shell.run(&w.jail, request(ask)).await.expect("ran");
        assert_eq!((done.ending, done.output.as_str()), (Ending::Exited(0), "hello\n"));
        shell.ask_job(&id, Ask::Stop).await.expect("there");
        let done = shell.run(&w.jail, request(ask)).await.expect("ran");
        assert_eq!(done.ending, Ending::Exited(1), "{}", done.output);
    }
}
