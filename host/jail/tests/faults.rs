//! Writes that go wrong: killed at any moment, without room, without the right to.
//!
//! Whatever happens, the file holds the old content or the new one, whole.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;

use harness_jail::{Basis, FaultKind, Jail, Observations, PrivateDir};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;

use crate::workspace::{Workspace, memory, refused};

/// How many writers are killed.
const KILLED: u32 = 1000;

/// Set for a child: the directory it works in.
const PLACE: &str = "HARNESS_JAIL_TEST_PLACE";

fn remembering(place: &Path) -> Jail {
    let own = PrivateDir::open(&place.join("own")).expect("a directory of our own");
    Jail::open(&place.join("w"), None).expect("a jail").remembering_writes(own)
}

/// Runs one test of this binary in a process of its own, with the place it works in.
fn child(test: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", test, "--nocapture"]).env(PLACE, place);
    command
}

pub(crate) fn place_of_child() -> Option<PathBuf> {
    std::env::var_os(PLACE).map(PathBuf::from)
}

/// Names in a directory of the host.
fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).expect("there");
    entries.map(|entry| entry.expect("there").file_name().into_string().expect("text")).collect()
}

fn is_leftover(name: &str) -> bool {
    name.starts_with(".harness-tmp-")
}

/// One letter, as often as the letter says: a mixture of two of them is seen.
fn content(number: u64) -> String {
    let letter = b'a' + (number % 26) as u8;
    String::from_utf8(vec![letter; usize::from(letter) * 50]).expect("text")
}

/// Writes over one file and makes others until it is killed.
fn write_for_ever(place: &Path) -> ! {
    let jail = remembering(place);
    let seen = Observations::new();
    let path = jail.parse("dir/file").expect("a path");
    println!("\nbegun");
    for number in 0.. {
        let version = jail.read(&path, 0, 0).expect("there").version;
        let bytes = content(number);
        jail.write(&path, bytes.as_bytes(), &Basis::Read(version), &seen).expect("written");
        let new = jail.parse(&format!("new/{}", number % 50)).expect("a path");
        if jail.stat(&new).is_err() {
            jail.write(&new, bytes.as_bytes(), &Basis::Absent, &seen).expect("written");
        } else {
            fs::remove_file(jail.root().join(new.as_str())).expect("removed");
        }
    }
    unreachable!("it is killed")
}

/// The old content or the new one, at whatever step the writer died; and at the next open nothing
/// of it is left.
#[test]
fn killed_at_any_moment() {
    if let Some(place) = place_of_child() {
        write_for_ever(&place);
    }
    // A process that is killed loses nothing of either memory or disk.
    let temp = memory();
    let (place, root) = (temp.path(), temp.path().join("w"));
    fs::create_dir_all(root.join("dir")).expect("a directory");
    fs::create_dir_all(root.join("new")).expect("a directory");
    fs::write(root.join("dir/file"), content(0)).expect("a file");
    let is_whole = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("there");
        let letter = u64::from(text.bytes().next().expect("never empty") - b'a');
        assert_eq!(text, content(letter), "{}", path.display());
    };
    let mut left_over = 0;
    for round in 0..KILLED {
        let mut writer = child("faults::killed_at_any_moment", place)
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut said = BufReader::new(writer.stdout.take().expect("its output")).lines();
        assert!(said.any(|line| line.expect("a line") == "begun"), "the child came to no write");
        // A moment that differs from round to round.
        for _ in 0..(round % 97) * 400 {
            std::hint::spin_loop();
        }
        writer.kill().expect("killed");
        writer.wait().expect("gone");
        is_whole(root.join("dir/file"));
        for name in names(&root.join("new")).iter().filter(|name| !is_leftover(name)) {
            is_whole(root.join("new").join(name));
        }
        for directory in ["dir", "new"] {
            let names = names(&root.join(directory));
            left_over += names.iter().filter(|name| is_leftover(name)).count();
        }
        remembering(place);
        for directory in ["w/dir", "w/new", "own"] {
            let names = names(&place.join(directory));
            assert!(
                !names.iter().any(|name| is_leftover(name)),
                "{directory} after round {round}: {names:?}"
            );
        }
    }
    println!("{KILLED} writers killed, {left_over} of them with a temporary file there");
    assert!(left_over > 0, "no writer was killed in the middle of a write");
}

/// What another process still writes is not swept, and neither is what it did not record.
#[test]
fn leftovers_and_the_living() {
    let temp = TempDir::new().expect("a temporary directory");
    let place = temp.path();
    let root = place.join("w").join("dir");
    fs::create_dir_all(&root).expect("a directory");
    fs::create_dir_all(place.join("outside")).expect("a directory");
    remembering(place);
    let canonical = place.canonicalize().expect("there");
    let inside = canonical.join("w/dir");
    std::os::unix::fs::symlink("../outside", place.join("w/link")).expect("a link");
    let record = |name: &str, text: String| {
        let path = place.join("own").join(name);
        fs::write(&path, text).expect("a record");
        fs::File::open(path).expect("a record")
    };
    let of = |directory: &Path, name: &str| format!("{}\0{name}\0", directory.display());
    for name in ["dead", "alive", "unknown"] {
        fs::write(root.join(format!(".harness-tmp-{name}")), "part").expect("a file");
    }
    fs::write(root.join("precious"), "x").expect("a file");
    fs::write(place.join("outside/.harness-tmp-1"), "x").expect("a file");
    record("1", of(&inside, ".harness-tmp-dead"));
    let writer = record("2", of(&inside, ".harness-tmp-alive"));
    flock(&writer, FlockOperation::LockExclusive).expect("locked");
    // Records that lie: whatever they say, nothing but a temporary file of this workspace goes.
    record("3", of(&inside, "precious"));
    record("4", of(&inside, ".harness-tmp-x/../precious"));
    record("5", of(&canonical.join("w/link"), ".harness-tmp-1"));
    record("6", of(&canonical.join("w/../outside"), ".harness-tmp-1"));
    record("7", of(&canonical.join("outside"), ".harness-tmp-1"));
    record("8", format!("{}\0.harness-tmp-unkno", inside.display()));
    record("9", String::new());
    remembering(place);
    let left = |path: &Path| {
        let mut names = names(path);
        names.sort();
        names
    };
    assert_eq!(left(&root), [".harness-tmp-alive", ".harness-tmp-unknown", "precious"]);
    assert_eq!(left(&place.join("outside")), [".harness-tmp-1"]);
    // Another workspace's record waits for that one to be opened.
    assert_eq!(left(&place.join("own")), ["2", "7"]);
    drop(writer);
    remembering(place);
    assert_eq!(left(&root), [".harness-tmp-unknown", "precious"]);
    assert_eq!(left(&place.join("own")), ["7"]);
}

/// A file system of one megabyte, in a mount namespace of the child's own.
#[test]
fn a_full_disk() {
    if let Some(place) = place_of_child() {
        let jail = Jail::open(&place, None).expect("a jail");
        let (path, seen) = (jail.parse("file").expect("a path"), Observations::new());
        let version = jail.read(&path, 0, 0).expect("there").version;
        let large = vec![b'n'; 2 * 1024 * 1024];
        let over = jail.write(&path, &large, &Basis::Read(version), &seen);
        refused(over, FaultKind::Unavailable, "could not write `file`: the disk is full");
        let new = jail.parse("a/b/new").expect("a path");
        refused(jail.write(&new, &large, &Basis::Absent, &seen), FaultKind::Unavailable, "is full");
        assert_eq!(jail.read(&path, 0, 0).expect("there").bytes, b"old");
        assert!(
            !names(&place).iter().chain(&names(&place.join("a/b"))).any(|name| is_leftover(name))
        );
        // There is room for little, and little is written.
        jail.write(&new, b"little", &Basis::Absent, &seen).expect("written");
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    in_namespace(
        temp.path(),
        "faults::a_full_disk",
        "mount -t tmpfs -o size=1m none \"$1\" && printf old > \"$1/file\"",
    );
}

/// Nothing is moved over the border of a mount, and everything else works in it.
#[test]
fn a_mount_inside() {
    if let Some(place) = place_of_child() {
        let jail = Jail::open(&place, None).expect("a jail");
        let seen = Observations::new();
        let path = |raw: &str| jail.parse(raw).expect(raw);
        let (there, back) = (path("mount/file"), path("file"));
        let version = jail.read(&there, 0, 0).expect("readable").version;
        let basis = Basis::Read(version);
        refused(
            jail.rename(&there, &back, &basis, &seen),
            FaultKind::Unsupported,
            "lies on another file system",
        );
        jail.write(&there, b"new", &basis, &seen).expect("written");
        jail.write(&path("mount/more/file"), b"x", &Basis::Absent, &seen).expect("written");
        assert_eq!(jail.entries(&path("mount")).expect("listed").len(), 2);
        assert!(jail.remove(&path("mount"), &basis, &seen).is_err(), "a mount is not removed");
        // A mount of the root of all is a directory like others, and `..` ends at its top.
        refused(jail.read(&path("bound/up/link"), 0, 0), FaultKind::Denied, "leads outside");
        refused(
            jail.write(&path("bound/f"), b"", &Basis::Absent, &seen),
            FaultKind::Denied,
            "read-only file system",
        );
        assert_eq!(fs::read_to_string(place.join("mount/file")).expect("there"), "new");
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    in_namespace(
        temp.path(),
        "faults::a_mount_inside",
        "mkdir \"$1/mount\" \"$1/bound\" \"$1/elsewhere\" \"$1/elsewhere/up\" \
         && ln -s ../../../../etc/passwd \"$1/elsewhere/up/link\" \
         && mount -t tmpfs none \"$1/mount\" && printf old > \"$1/mount/file\" \
         && mount --bind \"$1/elsewhere\" \"$1/bound\" && mount -o remount,bind,ro \"$1/bound\"",
    );
}

/// Prepares `place` by a script with a mount namespace of its own, and runs a test in it.
pub(crate) fn in_namespace(place: &Path, test: &str, prepare: &str) {
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        // As root of a namespace of its own, so that it takes no rights to make one.
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-ec", script, "sh"])
            .arg(place);
        command
    };
    let can = unshared("mount -t tmpfs none \"$1\"").output();
    if !can.is_ok_and(|output| output.status.success()) {
        println!("skipped: no namespace for a mount can be made here");
        return;
    }
    let exe = std::env::current_exe().expect("this binary");
    let run = format!("{prepare}\nexec \"$2\" --exact {test} --nocapture");
    let output = unshared(&run).arg(exe).env(PLACE, place).output().expect("started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
}

/// A directory that may not be written, and a file that may: nothing changes, nothing is left.
#[test]
fn without_the_right_to() {
    if let Some(place) = place_of_child() {
        let jail = Jail::open(&place, None).expect("a jail");
        let seen = Observations::new();
        let path = |raw: &str| jail.parse(raw).expect(raw);
        let basis = Basis::Read(jail.read(&path("shut/file"), 0, 0).expect("readable").version);
        let denied = "permissions do not allow it";
        let over = jail.write(&path("shut/file"), b"new", &basis, &seen);
        refused(over, FaultKind::Denied, denied);
        let new = jail.write(&path("shut/new"), b"new", &Basis::Absent, &seen);
        refused(new, FaultKind::Denied, denied);
        let made = jail.make_directory(&path("shut/dir"));
        refused(made, FaultKind::Denied, denied);
        let moved = jail.rename(&path("shut/file"), &path("moved"), &basis, &seen);
        refused(moved, FaultKind::Denied, denied);
        let removed = jail.remove(&path("shut/file"), &basis, &seen);
        refused(removed, FaultKind::Denied, denied);
        refused(jail.read(&path("secret"), 0, 0), FaultKind::Denied, denied);
        refused(jail.entries(&path("blind")), FaultKind::Denied, denied);
        // What may be entered but not listed is reached by name.
        assert_eq!(jail.read(&path("blind/file"), 0, 0).expect("by name").bytes, b"old");
        let basis = Basis::Read(jail.read(&path("blind/file"), 0, 0).expect("there").version);
        jail.write(&path("blind/file"), b"new", &basis, &seen).expect("written");
        return;
    }
    let temp = TempDir::new().expect("a temporary directory");
    let place = temp.path();
    let set_mode = |path: &str, mode| {
        fs::set_permissions(place.join(path), fs::Permissions::from_mode(mode)).expect(path);
    };
    for (dir, mode) in [("shut", 0o555), ("blind", 0o333)] {
        fs::create_dir(place.join(dir)).expect("a directory");
        fs::write(place.join(dir).join("file"), "old").expect("a file");
        set_mode(dir, mode);
    }
    fs::write(place.join("secret"), "old").expect("a file");
    set_mode("secret", 0o000);
    set_mode("blind/file", 0o666);
    set_mode("", 0o777);
    let mut command = if nix::unistd::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        // Nobody may look into the target directory, so the binary is handed over in the place.
        let binary = place.join("binary");
        fs::copy(std::env::current_exe().expect("this binary"), &binary).expect("copied");
        command.arg(binary).args(["--exact", "faults::without_the_right_to", "--nocapture"]);
        command.env(PLACE, place);
        command
    } else {
        child("faults::without_the_right_to", place)
    };
    let output = match command.output() {
        Ok(output) => output,
        Err(err) => return println!("skipped: `setpriv` could not be started: {err}"),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    for dir in ["shut", "blind"] {
        set_mode(dir, 0o755);
        assert_eq!(names(&place.join(dir)), ["file"], "{dir}");
    }
    assert_eq!(fs::read_to_string(place.join("shut/file")).expect("there"), "old");
    assert_eq!(fs::read_to_string(place.join("blind/file")).expect("there"), "new");
}

/// A program that saves its file while we write over it, thousands of times: the last word is its
/// own, or was written by us knowingly.
#[test]
fn a_word_said_between_reading_and_writing() {
    const ROUNDS: usize = 2000;
    const SAVES: usize = 20;
    let w = Workspace::in_memory();
    w.put("f", "0");
    let gate = Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..ROUNDS {
                gate.wait();
                for save in 1..=SAVES {
                    fs::write(w.host(".other"), (round * SAVES + save).to_string()).expect("put");
                    fs::rename(w.host(".other"), w.host("f")).expect("saved");
                }
                gate.wait();
            }
        });
        for round in 1..=ROUNDS {
            gate.wait();
            for _ in 0..8 {
                let content = w.read("f").expect("there");
                let text = String::from_utf8(content.bytes).expect("text");
                // What is written carries on what was read.
                let number = text.trim_start_matches("seen ");
                match w.write("f", &format!("seen {number}"), &Basis::Read(content.version)) {
                    Ok(_) => {}
                    Err(fault) => assert_eq!(fault.kind, FaultKind::Conflict, "{fault}"),
                }
            }
            gate.wait();
            let text = w.text("f");
            assert_eq!(text.trim_start_matches("seen "), (round * SAVES).to_string());
        }
    });
    assert_eq!(w.names("."), ["f"]);
}
