//! What lies outside the walls: files, and a neighbour, which is a program of the same user.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs};

use harness_jail::{Completion, Posture, Request, Sandbox, Shell};

use crate::process::{sandbox, shell_with};
use crate::workspace::Workspace;

/// Where programs are looked for, by the tests and by the commands in them.
pub(super) const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

/// The neighbour listens, has a terminal, shares memory, and tells where all that is.
const NEIGHBOUR: &str = r#"
import ctypes, os, pty, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
name, key = sys.argv[1], int(sys.argv[2])
four = socket.create_server(("127.0.0.1", 0))
facts = {"PORT": four.getsockname()[1], "PORT6": 0}
try:
    six = socket.create_server(("::1", 0), family=socket.AF_INET6)
    facts["PORT6"] = six.getsockname()[1]
except OSError:
    pass
sockets = []
for path in os.getcwd() + "/socket", "relative", "\0" + name:
    sockets.append(socket.socket(socket.AF_UNIX))
    sockets[-1].bind(path)
    sockets[-1].listen()
master, slave = pty.openpty()
facts["TERMINAL"] = os.ttyname(slave)
segment = libc.shmget(key, 4096, 0o1600)
queue = libc.mq_open(b"/" + name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
files = "/dev/shm/" + name, "/tmp/" + name
for file in files:
    open(file, "w").write("secret")
os.mkfifo("fifo")
fifo = os.open("fifo", os.O_RDWR)
def end(*_):
    libc.shmctl(segment, 0, None)
    libc.mq_unlink(b"/" + name.encode())
    for file in files:
        os.unlink(file)
    os._exit(0)
signal.signal(signal.SIGTERM, end)
print(*(f"{name}={value}" for name, value in facts.items()), flush=True)
while True:
    signal.pause()
"#;

/// Names of what the kernel keeps in one place for all.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A session, and all that is not its business.
pub(super) struct World {
    pub(super) w: Workspace,
    neighbour: Child,
    facts: Vec<(String, String)>,
    /// A handle that a careless parent of the server left open.
    _inherited: OwnedFd,
}

impl World {
    /// None, with the reason printed, where there is no Python.
    pub(super) fn new() -> Option<World> {
        let w = Workspace::new_in(&place());
        let outside = w.outside();
        fs::write(outside.join("plain"), "plain").expect("a file");
        fs::create_dir(outside.join("private")).expect("a directory");
        fs::write(outside.join("private/key"), "secret").expect("a file");
        for (name, mode) in [("secret", 0o600), ("plain", 0o644)] {
            fs::set_permissions(outside.join(name), fs::Permissions::from_mode(mode)).expect(name);
        }
        w.make_dir(".git/hooks");
        w.put(".git/HEAD", "ref: refs/heads/main\n");
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("harness-{}-{number}", std::process::id());
        let key = (std::process::id() << 8 | number & 0xff).to_string();
        let secret = fs::File::open(outside.join("secret")).expect("a secret");
        let inherited = nix::unistd::dup(&secret).expect("a handle");
        let mut neighbour = Command::new("python3")
            .args(["-c", NEIGHBOUR, &name, &key])
            .env_clear()
            .envs([("PATH", PATH), ("PLANTED", "secret")])
            .current_dir(&outside)
            .stdin(secret)
            .stdout(Stdio::piped())
            .spawn()
            .inspect_err(|err| println!("skipped, there is no python3: {err}"))
            .ok()?;
        let mut line = String::new();
        BufReader::new(neighbour.stdout.take().expect("piped")).read_line(&mut line).expect("told");
        let told = line.split_whitespace().filter_map(|fact| fact.split_once('='));
        let mut facts: Vec<_> = told.map(|(name, value)| (name.into(), value.into())).collect();
        for (fact, value) in [
            ("OUTSIDE", outside.display().to_string()),
            ("NEIGHBOUR", neighbour.id().to_string()),
            ("ABSTRACT", name),
            ("KEY", key),
            ("HANDLE", inherited.as_raw_fd().to_string()),
            ("ROOTED", place().join(ROOTED).display().to_string()),
        ] {
            facts.push((fact.to_owned(), value));
        }
        Some(World { w, neighbour, facts, _inherited: inherited })
    }

    /// Walls that mask the secrets.
    pub(super) fn walls(&self, posture: Posture) -> Sandbox {
        let masked = ["secret", "private"].map(|name| self.w.outside().join(name));
        Sandbox { masked: masked.into(), ..walls(posture) }
    }

    pub(super) fn shell_in(&self, sandbox: Sandbox) -> Shell {
        let mut environment = self.facts.clone();
        environment.push(("PATH".to_owned(), PATH.to_owned()));
        shell_with(&self.w, sandbox, environment)
    }

    /// A socket that is bound while the session runs.
    pub(super) fn late_socket(&self) -> UnixListener {
        UnixListener::bind(self.w.outside().join("late")).expect("a socket")
    }

    /// All that a command could have changed.
    pub(super) fn state(&self) -> String {
        let mut state = String::new();
        for top in [self.w.outside(), self.w.host(".git")] {
            describe(&top, &mut state);
        }
        let neighbour = PathBuf::from(format!("/proc/{}", self.neighbour.id()));
        for name in ["limits", "oom_score_adj"] {
            state += &fs::read_to_string(neighbour.join(name)).unwrap_or_default();
        }
        // Running and sleeping are alike, stopped and dead are not.
        let stat = fs::read_to_string(neighbour.join("stat")).unwrap_or_default();
        let is_well = [") S", ") R"].iter().any(|well| stat.contains(well));
        state + if is_well { "well" } else { "unwell" }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.neighbour.id().cast_signed());
        for signal in [nix::sys::signal::SIGTERM, nix::sys::signal::SIGCONT] {
            let _ = nix::sys::signal::kill(pid, signal);
        }
        let _ = self.neighbour.wait();
    }
}

/// The walls, with an init that every user may start.
pub(super) fn walls(posture: Posture) -> Sandbox {
    let copied = place().join(INIT);
    let walls = sandbox(posture);
    match copied.exists() {
        true => Sandbox { init: vec![copied.display().to_string()], ..walls },
        false => walls,
    }
}

/// A program and the init, copied beside the tests for another user.
pub(super) const INIT: &str = "sandbox-init-copy";
/// `id`, with the bit that makes it run as root.
pub(super) const ROOTED: &str = "rooted";

/// Beside the tests: a place that is nobody's temporary directory.
pub(super) fn place() -> PathBuf {
    let tests = env::current_exe().expect("it runs");
    tests.parent().expect("a directory").to_owned()
}

pub(super) async fn run(world: &Workspace, shell: &Shell, script: &str) -> Completion {
    let command = harness_jail::Command::Shell(script.to_owned());
    run_within(world, shell, command, 60_000).await
}

pub(super) async fn run_within(
    w: &Workspace,
    shell: &Shell,
    command: harness_jail::Command,
    timeout_ms: u32,
) -> Completion {
    let request =
        Request { command, workdir: None, timeout_ms, environment: Vec::new(), stdin: None };
    shell.run(&w.jail, request).await.expect("the sandbox stands")
}

fn describe(path: &Path, state: &mut String) {
    let Ok(metadata) = path.symlink_metadata() else {
        let _ = writeln!(state, "{} is gone", path.display());
        return;
    };
    let (mode, owner) = (metadata.mode(), (metadata.uid(), metadata.gid()));
    let _ = write!(state, "{} {mode:o} {owner:?}", path.display());
    if metadata.is_dir() {
        state.push('\n');
        let mut names: Vec<_> = fs::read_dir(path).expect("ours").flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        names.iter().for_each(|entry| describe(&entry.path(), state));
    } else {
        let bytes = if metadata.is_file() { fs::read(path).unwrap_or_default() } else { vec![] };
        let text = String::from_utf8_lossy(&bytes);
        let _ = writeln!(state, " {}.{} {text}", metadata.mtime(), metadata.mtime_nsec());
    }
}
