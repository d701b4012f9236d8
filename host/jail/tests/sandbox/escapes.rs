//! Attempts to get out, run for real behind all walls, some and none.
//!
//! A program ends with 0 when it got what it wanted. What it changed outside is looked at as well.

use std::path::Path;
use std::process::Command;

use harness_jail::{Ending, Posture, Sandbox};

use super::world::{INIT, PATH, ROOTED, World, place, run, run_within};

mod files;
mod processes;
mod system;

/// What comes of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Nothing.
    Held,
    /// It succeeds when the server runs as root.
    Root,
    /// It succeeds when the server does not run as root.
    User,
    /// It succeeds.
    Leaks,
    /// That depends on the machine.
    Depends,
    /// Not tried: it would do harm.
    Untried,
}

use Answer::{Depends, Held, Leaks, Root, Untried, User};

/// The attacking program.
#[derive(Debug, Clone, Copy)]
enum Program {
    Bash(&'static str),
    /// After [`PRELUDE`].
    Python(&'static str),
}

use Program::{Bash, Python};

/// What is tried, with what, and what comes of it in posture full, partial and none.
type Row = (&'static str, Program, Answer, Answer, Answer);

/// A call that is not there or not permitted was not reached.
const PRELUDE: &str = "
import ctypes, errno, fcntl, glob, mmap, os, resource, signal, socket, stat, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
class Facts:
    def __getattr__(self, name): return os.environ[name]
the = Facts()
neighbour = int(the.NEIGHBOUR)
def call(*arguments):
    ctypes.set_errno(0)
    whole = [ctypes.c_long(it) if isinstance(it, int) else it for it in arguments]
    return libc.syscall(*whole), ctypes.get_errno()
def reaches(*arguments):
    done, error = call(*arguments)
    return done >= 0 or error not in (errno.EPERM, errno.ENOSYS)
def parent(pid): return int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[1])
attendant = os.getppid()
init = parent(attendant)
";

/// Another user of this machine.
const NOBODY: u32 = 65534;

#[tokio::test(flavor = "multi_thread")]
async fn full() {
    all(Posture::Full).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn partial() {
    all(Posture::Partial).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn none() {
    all(Posture::None).await;
}

async fn all(posture: Posture) {
    let is_root = nix::unistd::geteuid().is_root();
    let (mut wrong, mut kept) = (Vec::new(), None);
    for (what, program, full, partial, none) in
        [files::ROWS, processes::ROWS, system::ROWS].into_iter().flatten()
    {
        let expected = match posture {
            Posture::Full => *full,
            Posture::Partial => *partial,
            Posture::None => *none,
        };
        if expected == Untried {
            continue;
        }
        let Some(world) = kept.take().or_else(World::new) else { return };
        let shell = world.shell_in(world.walls(posture));
        // The walls stand before it is bound.
        run(&world.w, &shell, "true").await;
        let late = world.late_socket();
        let before = world.state();
        let command = match program {
            Bash(script) => harness_jail::Command::Shell((*script).to_owned()),
            Python(script) => {
                let whole = format!("{PRELUDE}{script}");
                harness_jail::Command::Argv(vec!["python3".into(), "-c".into(), whole])
            }
        };
        let done = run_within(&world.w, &shell, command, 20_000).await;
        let is_out = done.ending == Ending::Exited(0) || world.state() != before;
        println!("{:7} {what}: {}", posture.name(), if is_out { "LEAKS" } else { "held" });
        let is_right = match expected {
            Held => !is_out,
            Root => is_out == is_root,
            User => is_out != is_root,
            Leaks => is_out,
            Depends | Untried => true,
        };
        // One that hangs shows nothing.
        if !is_right || done.ending == Ending::TimedOut {
            wrong
                .push(format!("{what}: expected {expected:?}, {:?}\n{}", done.ending, done.output));
        }
        drop(late);
        std::fs::remove_file(world.w.outside().join("late")).expect("it was bound");
        // One that nothing was done to serves again.
        kept = Some(world).filter(|world| !is_out && world.w.names(".") == [".git"]);
    }
    assert!(wrong.is_empty(), "posture {}:\n{}", posture.name(), wrong.join("\n"));
}

/// Names of sockets belong to the network, which is then the server's.
#[tokio::test]
async fn with_the_network() {
    for posture in [Posture::Full, Posture::Partial] {
        for (address, is_reached) in [
            ("socket.AF_INET).connect(('127.0.0.1', int(the.PORT)))", true),
            ("socket.AF_UNIX).connect('\\0' + the.ABSTRACT)", false),
            ("socket.AF_UNIX).connect(the.OUTSIDE + '/socket')", posture == Posture::Partial),
        ] {
            let Some(world) = World::new() else { return };
            let shell = world.shell_in(Sandbox { network: true, ..world.walls(posture) });
            let whole = format!("{PRELUDE}socket.socket({address}");
            let command = harness_jail::Command::Argv(vec!["python3".into(), "-c".into(), whole]);
            let done = run_within(&world.w, &shell, command, 20_000).await;
            let what = format!("{} {address}: {}", posture.name(), done.output);
            assert_eq!(done.ending == Ending::Exited(0), is_reached, "{what}");
        }
    }
}

/// The same from a copy that another user runs.
#[test]
fn as_another_user() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    let Some(home) = ["/srv", "/opt", "/var/lib"].iter().find_map(|place| {
        tempfile::Builder::new().prefix("harness-escapes").tempdir_in(place).ok()
    }) else {
        println!("skipped: no place that another user can reach");
        return;
    };
    let copy = |from: &Path, name: &str| std::fs::copy(from, home.path().join(name)).map(drop);
    copy(&std::env::current_exe().expect("it runs"), "tests").expect("copied");
    copy(Path::new(env!("CARGO_BIN_EXE_sandbox-init")), INIT).expect("copied");
    let rooted = home.path().join(ROOTED);
    copy(Path::new("/usr/bin/id"), ROOTED).expect("copied");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    std::fs::set_permissions(rooted, mode).expect("made");
    std::os::unix::fs::chown(home.path(), Some(NOBODY), Some(NOBODY)).expect("given away");
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let ran = Command::new("setpriv")
        .args(ids)
        .arg("--clear-groups")
        .arg(home.path().join("tests"))
        .args(["sandbox::", "--nocapture", "--skip", "sandbox::work"])
        .env_clear()
        .envs([("PATH", PATH), ("TMPDIR", "/tmp")])
        .current_dir("/")
        .output();
    let Ok(ran) = ran else {
        println!("skipped: there is no setpriv");
        return;
    };
    let said = String::from_utf8_lossy(&ran.stdout);
    println!("as another user, from {}:\n{said}", place().display());
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(said.contains("read a masked file: held"), "nothing ran: {said}");
}
