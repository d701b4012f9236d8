//! How much commands may use, and that they end.

use std::sync::OnceLock;

use harness_jail::{Command, Ending, Limits, Posture, Sandbox, Shell};

use super::world::{PATH, place, run, run_within, walls};
use crate::process::{in_each_posture, runs, seconds, shell_with, until};
use crate::workspace::Workspace;

in_each_posture! {
    processes memory files processor_time
    the_attendant_is_killed the_attendant_is_stopped the_init_is_killed
}

fn shell(w: &Workspace, posture: Posture, limits: Limits) -> Shell {
    let sandbox = Sandbox { limits, ..walls(posture) };
    shell_with(w, sandbox, vec![("PATH".to_owned(), PATH.to_owned())])
}

/// Asked once: two who ask at the same time would be in each other's way.
fn is_bounded() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    let answer = *ANSWER.get_or_init(|| walls(Posture::None).is_bounded());
    if !answer {
        println!("not bounded: no control group can be made");
    }
    answer
}

fn python(script: &str) -> Command {
    Command::Argv(vec!["python3".into(), "-c".into(), script.into()])
}

/// The bomb has an end of its own.
async fn processes(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits { processes: 30, ..Limits::default() });
    let bomb = "
import os, signal
children = []
for _ in range(60):
    try: pid = os.fork()
    except OSError: break
    if pid == 0: signal.pause()
    children.append(pid)
print(len(children), flush=True)
for pid in children: os.kill(pid, signal.SIGKILL)
";
    let done = run_within(&w, &shell, python(bomb), 20_000).await;
    let born: u32 = done.output.trim().parse().expect("a number");
    if is_bounded() {
        assert!(born < 30, "{born}");
        assert!(done.notes.iter().any(|note| note.contains("`shell.processes`")), "{done:?}");
    }
    assert_eq!(run(&w, &shell, "echo alive").await.output, "alive\n");
}

/// The hog has an end of its own.
async fn memory(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits { memory_bytes: 100 << 20, ..Limits::default() });
    let done = run_within(&w, &shell, python("print(len(b'x' * (300 << 20)))"), 20_000).await;
    if !is_bounded() {
        return;
    }
    assert_eq!((done.ending, done.output.as_str()), (Ending::Signalled(9), ""));
    assert!(done.notes.iter().any(|note| note.contains("`shell.memory_mb`")), "{done:?}");
    if posture == Posture::Full {
        // Files that lie in memory count, and go with the session.
        run(&w, &shell, "head -c 300000000 /dev/zero > /dev/shm/f").await;
        let size = run(&w, &shell, "stat -c %s /dev/shm/f || echo 0").await.output;
        let size = size.lines().last().and_then(|line| line.parse::<u64>().ok());
        assert!(size.is_some_and(|size| size < 100 << 20), "{size:?}");
    }
    assert_eq!(run(&w, &shell, "echo alive").await.output, "alive\n");
}

async fn files(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits { file_bytes: 1 << 20, ..Limits::default() });
    for script in [
        "head -c 4000000 /dev/zero > f",
        "for i in 1 2 3; do head -c 700000 /dev/zero >> g; done",
        "truncate -s 4000000 h",
        "fallocate -l 4000000 i",
    ] {
        let done = run(&w, &shell, script).await;
        assert_ne!(done.ending, Ending::Exited(0), "{script}");
    }
    for name in w.names(".") {
        let size = std::fs::metadata(w.host(&name)).expect("there").len();
        assert!(size <= 1 << 20, "{name}: {size}");
    }
}

async fn processor_time(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits { cpu_seconds: 1, ..Limits::default() });
    let done = run_within(&w, &shell, Command::Shell("while :; do :; done".into()), 60_000).await;
    assert_eq!(done.ending, Ending::Signalled(9));
}

async fn the_attendant_is_killed(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits::default());
    let word = seconds();
    let script = format!("setsid sleep {word} & touch started; kill -KILL $PPID; sleep {word}");
    let done = run(&w, &shell, &script).await;
    assert_eq!(done.ending, Ending::Signalled(9));
    assert_eq!(run(&w, &shell, "echo alive").await.output, "alive\n");
    assert!(w.host("started").exists());
    drop(shell);
    until("the end of the session ends all", || !runs(&word)).await;
}

async fn the_attendant_is_stopped(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits::default());
    let word = seconds();
    let script = format!("setsid sleep {word} & kill -STOP $PPID; touch started; sleep {word}");
    let done = run_within(&w, &shell, Command::Shell(script), 1000).await;
    assert_eq!(done.ending, Ending::TimedOut);
    assert!(w.host("started").exists());
    assert_eq!(run(&w, &shell, "echo alive").await.output, "alive\n");
    drop(shell);
    until("the end of the session ends all", || !runs(&word)).await;
}

/// With namespaces it is out of reach. Without, whoever kills it and the attendant is still in the
/// control group; where there is none it has got away.
async fn the_init_is_killed(posture: Posture) {
    let w = Workspace::new_in(&place());
    let shell = shell(&w, posture, Limits::default());
    let (kept, word) = (seconds(), seconds());
    run(&w, &shell, &format!("setsid sleep {kept} &")).await;
    let script = format!(
        "setsid sleep {word} & echo $! $$ > pids; init=$(ps -o ppid= -p $PPID); \
         kill -STOP $init; kill -KILL $init $PPID; [ $init = 1 ] && kill -KILL -1; exec sleep {word}"
    );
    assert_eq!(run(&w, &shell, &script).await.ending, Ending::Signalled(9));
    assert_eq!(run(&w, &shell, "echo alive").await.output, "alive\n");
    drop(shell);
    until("what was attended ends", || !runs(&kept)).await;
    if posture != Posture::Full && !is_bounded() {
        assert!(runs(&word));
        for pid in w.text("pids").split_whitespace() {
            let pid = nix::unistd::Pid::from_raw(pid.parse().expect("a number"));
            nix::sys::signal::kill(pid, nix::sys::signal::SIGKILL).expect("it runs");
        }
    }
    until("nothing of it is left", || !runs(&word)).await;
}
