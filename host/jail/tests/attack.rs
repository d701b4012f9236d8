//! Every operation against every way out: by table, and by a thread that swaps names.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use harness_jail::{Basis, FaultKind, Jail, Observations};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::operations::{ALL, Operation, SECRET, above, snapshot, surrounded};
use crate::workspace::{Workspace, refused};

/// How often each operation meets a thread that swaps names, at each of six places.
const ROUNDS: usize = 200;

#[test]
fn every_operation_on_every_way_out() {
    let w = Workspace::in_memory();
    surrounded(&w);
    let outside = w.outside();
    let text = |path: &Path| path.to_str().expect("text").to_owned();
    w.put("dir/file", "inside");
    w.link(&outside, "absolute");
    w.link("../outside", "relative");
    w.link("../../outside", "dir/relative");
    w.link("relative", "hop");
    w.link("./dir/../hop", "hop-again");
    w.link("../nowhere", "dangling");
    w.link("/nowhere/at/all", "dangling-absolute");
    w.link("..", "up");
    w.link("/", "slash");
    w.link(format!("{}/../outside", text(w.jail.root())), "through-the-root");
    w.link(format!("{}x", text(w.jail.root())), "like-the-root");
    // Magic links lead where no text of theirs says.
    w.link("/proc/self/root", "proc-root");
    w.link("/proc/self/cwd", "proc-cwd");
    w.link("/proc/self/fd/0", "proc-fd");
    w.link("/dev/fd", "dev-fd");
    w.link("/proc/self/environ", "environ");
    w.link("/dev/null", "null");
    let mut paths: Vec<String> = [
        "..",
        "../outside/secret",
        "dir/../../outside/secret",
        "dir/../..",
        "./../outside",
        "absolute",
        "absolute/secret",
        "absolute/only-outside/file",
        "absolute/new",
        "relative/secret",
        "dir/relative/trash",
        "hop/secret",
        "hop-again/only-outside",
        "dangling",
        "dangling/new",
        "dangling-absolute",
        "dangling-absolute/a/b",
        "up",
        "up/outside/secret",
        "up/new",
        "slash",
        "slash/etc/passwd",
        "slash/proc/self/root",
        "through-the-root/secret",
        "like-the-root",
        "like-the-root/new",
        "proc-root",
        "proc-root/etc/passwd",
        "proc-cwd",
        "proc-cwd/Cargo.toml",
        "proc-fd",
        "dev-fd/0",
        "environ",
        "null",
        "/etc/passwd",
        "/proc/self/environ",
        "/",
        "/dev/null",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend([text(&outside), text(&outside.join("secret")), text(above(&w))]);
    paths.push(format!("{}/../outside/secret", text(w.jail.root())));
    paths.push(format!("{}x/secret", text(w.jail.root())));
    let before = snapshot(above(&w), w.jail.root());
    for raw in &paths {
        // A link in the last place is a thing of the workspace, whatever it leads to: it is moved
        // and removed itself, and takes a name.
        let link = fs::read_link(w.host(raw)).ok().filter(|_| !raw.contains('/'));
        for operation in ALL {
            let words = format!("{operation:?} {raw}");
            match (operation, operation.at(&w, raw), &link) {
                (Operation::RenameFrom | Operation::Remove, got, Some(target)) => {
                    got.expect(&words);
                    assert!(!w.is_link(raw), "{words}");
                    if operation == Operation::RenameFrom {
                        fs::remove_file(w.host("moved-here")).expect("moved");
                    }
                    w.link(target, raw);
                }
                (Operation::RenameTo, got, Some(_)) => {
                    refused(got, FaultKind::Conflict, "already exists");
                }
                // A pattern names what lies inside: the link itself, or nothing.
                (Operation::GlobPattern, Ok(told), _) => {
                    let is_inside = told.contains("total: 0") || told.contains("kind: Symlink");
                    assert!(is_inside, "{words}: {told}");
                }
                (_, got, _) => {
                    let fault = got.expect_err(&words);
                    let kinds = [FaultKind::Denied, FaultKind::InvalidInput];
                    assert!(kinds.contains(&fault.kind), "{words}: {fault:?}");
                    assert!(!fault.to_string().contains(SECRET), "{words}: {fault}");
                }
            }
            let after = snapshot(above(&w), w.jail.root());
            assert!(after == before, "{words} touched what lies outside");
        }
    }
    assert_eq!(w.text("dir/file"), "inside");
}

/// What is no file and no directory is told of and never opened, whatever is asked.
#[test]
fn every_operation_on_what_is_no_file() {
    let w = Workspace::in_memory();
    nix::unistd::mkfifo(&w.host("fifo"), nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
    let _listener = UnixListener::bind(w.host("socket")).expect("a socket");
    let mut names = vec!["fifo", "socket"];
    let (mode, device) = (nix::sys::stat::Mode::S_IRWXU, nix::sys::stat::makedev(1, 5));
    match nix::sys::stat::mknod(&w.host("zero"), nix::sys::stat::SFlag::S_IFCHR, mode, device) {
        Ok(()) => names.push("zero"),
        Err(err) => println!("no device here, which takes root: {err}"),
    }
    for name in names {
        w.link(name, &format!("to-{name}"));
        for raw in [name.to_owned(), format!("to-{name}")] {
            for operation in ALL {
                let words = format!("{operation:?} {raw}");
                match (operation, operation.at(&w, &raw)) {
                    (Operation::Stat | Operation::GlobPattern, got) => {
                        got.expect(&words);
                    }
                    (Operation::RenameFrom, got) => {
                        got.expect(&words);
                        fs::rename(w.host("moved-here"), w.host(&raw)).expect("back");
                    }
                    (Operation::Remove, got) => {
                        got.expect(&words);
                        if raw == name {
                            nix::unistd::mkfifo(&w.host(name), mode).expect("something like it");
                        } else {
                            w.link(name, &raw);
                        }
                    }
                    (_, got) => {
                        let fault = got.expect_err(&words);
                        let kinds = [FaultKind::Unsupported, FaultKind::Conflict];
                        assert!(kinds.contains(&fault.kind), "{words}: {fault:?}");
                    }
                }
            }
        }
    }
}

/// A file with a second name outside: what is written inside is written to the inside alone.
#[test]
fn hard_links_to_the_outside() {
    for operation in ALL {
        let w = Workspace::in_memory();
        surrounded(&w);
        fs::hard_link(w.outside().join("shared"), w.host("hard")).expect("a hard link");
        let before = snapshot(above(&w), w.jail.root());
        let _ = operation.at(&w, "hard");
        assert!(snapshot(above(&w), w.jail.root()) == before, "{operation:?}");
    }
}

/// Names that a person takes for one are two wherever the file system says so.
#[test]
fn names_that_look_alike() {
    let w = Workspace::new();
    let names =
        ["name", "Name", "NAME", "\u{e9}", "e\u{301}", "name ", " name", "name.", "n\u{430}me"];
    for name in names {
        if w.write(name, &format!("this is `{name}`"), &Basis::Absent).is_err() {
            println!("skipped: the file system takes `{name}` for another name");
            return;
        }
    }
    // One that was written is known; it says nothing about the others.
    w.seen.forget_all();
    w.show("name", 1, 1);
    for name in names {
        assert_eq!(w.read(name).expect(name).bytes, format!("this is `{name}`").as_bytes());
        let got = w.write(name, "x", &Basis::Shown);
        assert_eq!(got.is_ok(), name == "name", "{name}");
    }
    assert_eq!(w.names(".").len(), names.len());
}

#[test]
fn a_workspace_under_a_link_that_moves() {
    let w = Workspace::in_memory();
    surrounded(&w);
    let (alias, decoy) = (above(&w).join("alias"), above(&w).join("decoy"));
    fs::create_dir(&decoy).expect("a directory");
    fs::write(decoy.join("file"), SECRET).expect("a file");
    symlink(w.jail.root(), &alias).expect("a link");
    w.put("file", "inside");
    w.link(alias.join("file"), "by-alias");
    let jail = Jail::open(&alias, None).expect("a jail");
    let seen = Observations::new();
    let read = |raw: &str| jail.read(&jail.parse(raw).expect(raw), 0, 0).map(|read| read.bytes);
    let absolute = alias.join("file");
    let absolute = absolute.to_str().expect("text");
    for raw in ["file", absolute, "by-alias"] {
        assert_eq!(read(raw).expect(raw), b"inside");
    }
    // From here on the names lead elsewhere, and the open workspace stays where it was.
    fs::remove_file(&alias).expect("removed");
    symlink(&decoy, &alias).expect("a link");
    let moved = above(&w).join("moved-away");
    fs::rename(w.jail.root(), &moved).expect("renamed");
    symlink(&decoy, w.jail.root()).expect("a link in place of the root");
    for raw in ["file", absolute, "by-alias"] {
        assert_eq!(read(raw).expect(raw), b"inside");
    }
    let file = jail.parse("file").expect("a path");
    let version = jail.read(&file, 0, 0).expect("there").version;
    jail.write(&file, b"new", &Basis::Read(version), &seen).expect("written");
    jail.write(&jail.parse("a/b").expect("a path"), b"", &Basis::Absent, &seen).expect("written");
    assert!(!jail.is_current(), "the root is elsewhere now");
    assert_eq!(fs::read_to_string(moved.join("file")).expect("there"), "new");
    assert_eq!(fs::read_to_string(decoy.join("file")).expect("there"), SECRET);
    assert_eq!(fs::read_dir(&decoy).expect("there").count(), 1);
    // A root that is gone is no reason to look for another.
    fs::remove_dir_all(&moved).expect("removed");
    let gone = jail.read(&file, 0, 0);
    refused(gone, FaultKind::NotFound, "does not exist");
    assert!(jail.write(&file, b"x", &Basis::Absent, &seen).is_err());
    assert!(jail.entries(&jail.parse(".").expect("a path")).expect("listed").is_empty());
}

/// A directory and a file that change places with links to the outside, in one step, all the time.
#[test]
fn every_operation_against_a_thread_that_swaps() {
    const PLACES: [&str; 6] =
        ["door/file", "door/trash", "door/deep/file", "door", "last", "door/new/a"];
    let w = Workspace::in_memory();
    surrounded(&w);
    let prepare = || {
        // What an operation moved, made or removed comes back; nothing is swapped meanwhile.
        for name in ["door", "last", "parent-link", "last-link", "moved-here"] {
            let _ = fs::remove_dir_all(w.host(name)).or_else(|_| fs::remove_file(w.host(name)));
        }
        for path in ["door/file", "door/trash", "door/deep/file", "last"] {
            w.put(path, "inside");
        }
        w.make_dir("door/empty");
        w.link(w.outside(), "parent-link");
        w.link("../outside/secret", "last-link");
    };
    let before = snapshot(above(&w), w.jail.root());
    let swapper = Swapper::default();
    let (mut came_through, mut refused) = (0_u64, 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| swapper.swap(&w, &[("door", "parent-link"), ("last", "last-link")]));
        let _stop = StopOnDrop(&swapper);
        for round in 0..ROUNDS {
            for (operation, raw) in ALL.iter().flat_map(|one| PLACES.map(|raw| (*one, raw))) {
                swapper.while_paused(prepare);
                let Ok(told) = operation.at(&w, raw) else {
                    refused += 1;
                    continue;
                };
                came_through += 1;
                let words = format!("{operation:?} {raw} in round {round}: {told}");
                assert!(!told.contains(SECRET), "{words}");
                assert!(!told.contains("only-outside"), "{words}");
                let size = format!("size_bytes: {}", SECRET.len());
                assert!(operation != Operation::Stat || !told.contains(&size), "{words}");
            }
            assert!(
                snapshot(above(&w), w.jail.root()) == before,
                "round {round} touched the outside"
            );
        }
    });
    let swaps = swapper.swaps.load(Ordering::Relaxed);
    println!("{came_through} operations came through, {refused} did not, {swaps} swaps");
    assert!(came_through > 0 && refused > 0 && swaps > ROUNDS as u64);
}

/// A thread that makes names change places until it is told to stop.
#[derive(Default)]
struct Swapper {
    is_stopped: AtomicBool,
    /// Somebody waits for the lock, which a loop would hardly ever let go of.
    is_paused: AtomicBool,
    swapping: Mutex<()>,
    swaps: AtomicU64,
}

impl Swapper {
    fn swap(&self, w: &Workspace, pairs: &[(&str, &str)]) {
        while !self.is_stopped.load(Ordering::SeqCst) {
            if self.is_paused.load(Ordering::SeqCst) {
                std::thread::yield_now();
                continue;
            }
            let _swapping = self.swapping.lock().expect("not poisoned");
            for (one, other) in pairs {
                let (one, other) = (w.host(one), w.host(other));
                let done = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
                self.swaps.fetch_add(u64::from(done.is_ok()), Ordering::Relaxed);
            }
        }
    }

    fn while_paused(&self, work: impl Fn()) {
        self.is_paused.store(true, Ordering::SeqCst);
        let _paused = self.swapping.lock().expect("not poisoned");
        work();
        self.is_paused.store(false, Ordering::SeqCst);
    }
}

/// A test that fails must not wait for its swapper for ever.
struct StopOnDrop<'a>(&'a Swapper);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.is_stopped.store(true, Ordering::SeqCst);
    }
}
