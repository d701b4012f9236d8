//! Ordinary work behind the walls, with the tools, the home and the masks of whoever runs the tests.

use std::time::Instant;

use harness_jail::{Ending, Posture, Sandbox, allowed_environment, secret_places};

use super::world::{place, run, walls};
use crate::process::shell_with;
use crate::workspace::Workspace;

/// Which walls it is done behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    /// Those and all lower ones.
    Full,
    /// It needs a loopback, or shared memory, of its own.
    FullOnly,
}

use Behind::{Full, FullOnly};

/// What is done, with which tools, behind which walls; calls of one session, which all succeed, and
/// the end of what the last one prints.
type Row = (&'static str, &'static str, Behind, &'static [&'static str], &'static str);

const CRATE: &str = "
mkdir -p src && cat > Cargo.toml <<'END' && cat > src/main.rs <<'END2'
[package]
name = 'x'
version = '0.1.0'
edition = '2021'
END
fn main() { println!(\"built\") }
#[test] fn passes() { std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap(); }
END2";

const ROWS: &[Row] = &[
    ("build a crate", "cargo", Full, &[CRATE, "cargo build && target/debug/x"], "built\n"),
    ("test a crate", "cargo", FullOnly, &[CRATE, "cargo test -q 2>&1 | grep -o '1 passed'"], "1 passed\n"),
    (
        "build with a crate that was fetched before",
        "cargo",
        Full,
        &[
            CRATE,
            "if ls ${CARGO_HOME:-$HOME/.cargo}/registry/cache/*/cfg-if-1.*; then \
             printf '[dependencies]\\ncfg-if = \"1\"\\n' >> Cargo.toml; fi; \
             cargo build --offline && target/debug/x",
        ],
        "built\n",
    ),
    (
        "install a package",
        "npm",
        Full,
        &[
            "mkdir p && cd p && echo '{\"name\":\"p\",\"version\":\"1.0.0\"}' > package.json && npm pack",
            "echo '{\"name\":\"a\",\"version\":\"1.0.0\"}' > package.json && npm install --offline \
             --no-audit --no-fund ./p/p-1.0.0.tgz && ls node_modules",
        ],
        "p\n",
    ),
    (
        "an environment of Python, and a test in it",
        "python3",
        Full,
        &[
            "python3 -m venv v && v/bin/python -m pip --version",
            "printf 'import unittest\\nclass T(unittest.TestCase):\\n def test(self): pass\\n' > \
             test_x.py; if python3 -c 'import pytest'; then python3 -m pytest -q; \
             else v/bin/python -m unittest; fi 2>&1 | grep -Eo 'OK|1 passed'; rm -r v; echo done",
        ],
        "done\n",
    ),
    (
        "a repository",
        "git",
        Full,
        &[
            "git init -q -b main r && cd r && git config user.name n && git config user.email e@x \
             && echo 1 > f && git add f && git commit -qm one",
            "cd r && git switch -qc side && echo 2 > g && git add g && git commit -qm two \
             && git switch -q main && echo 3 > h && git add h && git commit -qm three \
             && git switch -q side && git rebase -q main && git log --format=%s",
            "git clone -q r c && cd c && git log -1 --format=%s && cd ../r && \
             git worktree add -q ../t main && git stash list && git gc -q && \
             git -C ../t status --short && git branch --show-current",
        ],
        "side\n",
    ),
    (
        "the workspace's own repository",
        "git",
        Full,
        &[
            "git init -q -b main . && git config user.name n && git config user.email e@x && \
             echo 1 > f && git add f && git commit -qm one && git switch -qc side && \
             echo 2 > g && git add g && git commit -qm two && git commit -q --amend -m three && \
             git switch -q main && git merge -q --ff-only side && git log -1 --format=%s",
        ],
        "three\n",
    ),
    (
        "a server that runs on, used and ended by later calls",
        "python3",
        FullOnly,
        &[
            "python3 -m http.server --bind 127.0.0.1 8123 > log 2>&1 & echo $! > pid",
            "python3 -c \"
import time, urllib.request
for _ in range(500):
    try: break_ = urllib.request.urlopen('http://127.0.0.1:8123/pid'); break
    except OSError: time.sleep(0.01)
print(break_.status)\"",
            "ps -o args= -p $(cat pid) && kill $(cat pid) && \
             while kill -0 $(cat pid) 2>/dev/null; do sleep 0.01; done; echo gone",
        ],
        "gone\n",
    ),
    (
        "a server found by its port",
        "lsof fuser pkill",
        FullOnly,
        &[
            "python3 -m http.server --bind 127.0.0.1 8124 > log 2>&1 & \
             until lsof -ti :8124; do sleep 0.05; done",
            "fuser -s 8124/tcp && pkill -f '[h]ttp.server.*8124' && \
             while lsof -ti :8124; do sleep 0.05; done; echo gone",
        ],
        "gone\n",
    ),
    (
        "listeners of both versions",
        "python3",
        FullOnly,
        &["python3 -c \"
import socket
for host, family in ('127.0.0.1', socket.AF_INET), ('::1', socket.AF_INET6):
    one = socket.create_server((host, 0), family=family)
    two = socket.create_connection((host, one.getsockname()[1]))
    print(host)\""],
        "::1\n",
    ),
    (
        "a socket of the disk",
        "python3",
        Full,
        &["python3 -c \"
import os, socket
one, two = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
path = os.environ['TMPDIR'] + '/s'
one.bind(path); one.listen(); two.connect(path)
print('met')\""],
        "met\n",
    ),
    (
        "processes that share memory",
        "python3",
        FullOnly,
        &["cat > m.py <<'END'
import multiprocessing as m
from multiprocessing import shared_memory
def twice(x): return 2 * x
if __name__ == '__main__':
    s = shared_memory.SharedMemory(create=True, size=9); s.close(); s.unlink()
    with m.Manager() as manager: manager.dict()
    with m.Pool(2) as pool: print(sum(pool.map(twice, range(10))))
END
python3 m.py"],
        "90\n",
    ),
    (
        "a database",
        "python3",
        Full,
        &["python3 -c \"
import os, sqlite3
for place in '.', os.environ['TMPDIR']:
    one = sqlite3.connect(place + '/db'); one.execute('pragma journal_mode=wal')
    one.execute('create table t(x)'); one.commit()
print('kept')\""],
        "kept\n",
    ),
    (
        "a terminal",
        "python3 script",
        Full,
        &[
            "python3 -c 'import pty, sys; sys.exit(pty.spawn([\"test\", \"-t\", \"0\"]))' </dev/null",
            "script -qec 'test -t 0 && echo yes' /dev/null </dev/null | tr -d '\\r'",
        ],
        "yes\n",
    ),
    (
        "what a shell does",
        "bash",
        Full,
        &[
            "f=$(mktemp) && d=$(mktemp -d) && cat > $f <<'END' && diff $f <(echo here)
here
END
             echo a | cat /dev/stdin && echo b > /dev/stdout && echo c | tee >(cat > $d/c) && \
             cat < /dev/null && head -c 4 /dev/urandom | wc -c && mkfifo $d/p && \
             (echo d > $d/p &) && cat $d/p && rm -r $d $f && umask && ulimit -n",
            "ps -e | grep -q bash && getconf _NPROCESSORS_ONLN && nproc && date && locale && \
             id -un && hostname && df . && uptime && free && stat . && whoami",
            "(flock 9 && echo locked) 9> lock",
            "timeout 5 bash -c 'echo in time' && nice true && nohup true && setsid true && \
             env -i /bin/true && time true && xargs -P4 -n1 echo < <(seq 4) | sort | tail -1",
        ],
        "4\n",
    ),
    (
        "an archive with other owners",
        "tar",
        Full,
        &[
            "echo x > f && tar cf a.tar --owner=1234 --group=1234 f && mkdir o && tar xf a.tar -C o && \
             cp -a f g && install -m 755 f h && cmp o/f g && echo same",
        ],
        "same\n",
    ),
    (
        "a program in C, and many at once",
        "gcc make",
        Full,
        &[
            "printf 'int main(){return 0;}' > a.c && gcc a.c -o a && ./a && \
             printf 'all: 1 2 3 4\\n1 2 3 4:; @gcc a.c -o $@\\n' > Makefile && make -sj4 && ls 4",
        ],
        "4\n",
    ),
    (
        "a program of node",
        "node",
        FullOnly,
        &["node -e \"
const http = require('http'), {Worker} = require('worker_threads'), {execSync} = require('child_process');
new Worker('1', {eval: true});
execSync('true');
const server = http.createServer((_, answer) => answer.end('answered'));
server.listen(0, () => http.get({port: server.address().port}, answer => {
    answer.on('data', data => console.log(String(data))); server.close(); }));\""],
        "answered\n",
    ),
];

#[tokio::test]
async fn full() {
    all(Posture::Full, &[Full, FullOnly]).await;
}

#[tokio::test]
async fn partial() {
    all(Posture::Partial, &[Full]).await;
}

async fn all(posture: Posture, done_here: &[Behind]) {
    let environment: Vec<_> = allowed_environment(std::env::vars())
        .into_iter()
        .filter(|(name, _)| name != TARGET)
        .collect();
    let home = std::env::home_dir();
    let mut wrong = Vec::new();
    for (what, tools, behind, scripts, end) in ROWS {
        if !done_here.contains(behind) {
            continue;
        }
        let w = Workspace::new_in(&place());
        let sandbox = Sandbox { masked: secret_places(home.as_deref()), ..walls(posture) };
        let shell = shell_with(&w, sandbox, environment.clone());
        let started = Instant::now();
        let missing = run(&w, &shell, &format!("type -P {tools} > /dev/null")).await;
        if missing.ending != Ending::Exited(0) {
            println!("skipped, not all of these are there: {tools}");
            continue;
        }
        let mut last = String::new();
        for script in *scripts {
            let done = run(&w, &shell, script).await;
            if done.ending != Ending::Exited(0) {
                wrong.push(format!("{what}: {script}\n{:?} {}", done.ending, done.output));
            }
            last = done.output;
        }
        if !last.ends_with(end) {
            wrong.push(format!("{what}: {last}"));
        }
        println!("{:7} {what}: {} ms", posture.name(), started.elapsed().as_millis());
    }
    assert!(wrong.is_empty(), "posture {}:\n{}", posture.name(), wrong.join("\n"));
}

/// Where this crate's own tests are built; it is not in the workspaces.
const TARGET: &str = "CARGO_TARGET_DIR";

/// What is laid over `.git` is in nobody's way.
#[tokio::test]
async fn a_protected_repository() {
    let w = Workspace::new_in(&place());
    let open = || shell_with(&w, walls(Posture::Full), allowed_environment(std::env::vars()));
    let init = "type -P git && git init -qb main . && git config user.name n && \
                git config user.email e@x && echo 1 > f && git add f && git commit -qm one";
    if run(&w, &open(), init).await.ending != Ending::Exited(0) {
        println!("skipped: there is no git");
        return;
    }
    // A session that finds the repository there.
    let shell = open();
    for script in [
        "echo 2 >> f && git commit -qam two && git commit -q --amend -m 'two again'",
        "git switch -qc side HEAD~ && echo 3 > g && git add g && git commit -qm three",
        "git rebase -q main && git switch -q main && git merge -q --no-edit side",
        "echo 4 >> f && git stash -q && git stash pop -q && git checkout -q f && git status",
        "git tag v1 && git branch -D side && git reset -q --hard HEAD~ && git clean -qfdx",
        "git config user.name other && git remote add o . && git fetch -q o && git remote remove o",
        "git worktree add -q t -b t && git -C t log -1 --format=%s && git worktree remove t",
        "git clone -q . c && rm -r c && git gc -q --prune=now && git fsck",
        "git -c protocol.file.allow=always submodule add -q ./ s && git commit -qm submodule",
        "git init -q && git mv f h && git commit -qm moved && git rm -q h && git commit -qm gone",
        "! git config --global user.name x",
        "! mv .git gone && ! rm -r .git/hooks",
    ] {
        let done = run(&w, &shell, script).await;
        assert_eq!(done.ending, Ending::Exited(0), "{script}: {}", done.output);
    }
}
