//! The attack table: ways out of the workspace, and what each is answered.

use std::os::unix::net::UnixListener;

use harness_jail::{Basis, FaultKind, Jail, OpenError, Replacement};
use proptest::prelude::*;

use crate::workspace::{Workspace, refused};

#[test]
fn reading_out() {
    let w = Workspace::new();
    let outside = w.outside();
    w.put("dir/inside", "inside");
    w.link(outside.join("secret"), "absolute");
    w.link("../outside/secret", "relative");
    w.link("relative", "hop");
    w.link("hop", "hop-again");
    w.link(&outside, "dir/way-out");
    w.link("../nowhere", "dangling-out");
    w.link("nowhere", "dangling-in");
    w.link("loop-b", "loop-a");
    w.link("loop-a", "loop-b");
    w.link("../w/dir/inside", "out-and-in");
    w.link("/proc/self/root", "proc");
    let secret = outside.join("secret");
    let secret = secret.to_str().expect("utf-8");
    let long = "n".repeat(300);
    let deep = "d/".repeat(3000);
    for (raw, kind, words) in [
        ("../outside/secret", FaultKind::Denied, "leads above the root"),
        ("dir/../../outside/secret", FaultKind::Denied, "leads above the root"),
        (secret, FaultKind::Denied, "absolute path outside the workspace"),
        ("/etc/passwd", FaultKind::Denied, "absolute path outside the workspace"),
        ("absolute", FaultKind::Denied, "`absolute` is a symbolic link that leads outside"),
        ("relative", FaultKind::Denied, "`relative` is a symbolic link that leads outside"),
        ("hop-again", FaultKind::Denied, "leads outside the workspace"),
        ("dir/way-out/secret", FaultKind::Denied, "`dir/way-out` is a symbolic link that leads"),
        ("dangling-out", FaultKind::Denied, "leads outside the workspace"),
        ("dangling-in", FaultKind::NotFound, "is a symbolic link to nothing"),
        ("loop-a", FaultKind::Denied, "in a loop"),
        ("out-and-in", FaultKind::Denied, "leads outside the workspace"),
        ("proc/etc/passwd", FaultKind::Denied, "leads outside the workspace"),
        ("dir/inside/more", FaultKind::NotFound, "`dir/inside` is not a directory"),
        ("a\0b", FaultKind::InvalidInput, "NUL"),
        (&long, FaultKind::InvalidInput, "over the limit of 255"),
        (&deep, FaultKind::InvalidInput, "over the limit of 4096"),
        ("dir", FaultKind::Unsupported, "is a directory"),
        ("", FaultKind::Unsupported, "is a directory"),
    ] {
        refused(w.read(raw), kind, words);
        let written = w.write(raw, "gotcha", &Basis::Absent);
        if raw != "dangling-in" {
            let fault = written.expect_err(raw);
            assert!(!fault.to_string().contains(w.jail.root().to_str().expect("utf-8")));
        }
    }
    assert_eq!(std::fs::read_to_string(secret).expect("still there"), "secret");
}

#[test]
fn links_that_stay_inside() {
    let w = Workspace::new();
    w.put("dir/inside", "inside");
    w.link("dir/inside", "relative");
    w.link("../dir/../dir/inside", "dir/up");
    w.link(w.host("dir"), "absolute");
    w.link(".", "dir/self");
    w.link("..", "dir/parent");
    for raw in ["relative", "dir/up", "absolute/inside", "dir/self/inside", "dir/parent/relative"] {
        assert_eq!(w.read(raw).expect(raw).bytes, b"inside", "{raw}");
    }
    let absolute = w.host("dir/inside");
    assert_eq!(w.read(absolute.to_str().expect("utf-8")).expect("absolute").bytes, b"inside");
}

#[test]
fn things_that_are_no_files() {
    let w = Workspace::new();
    let fifo = w.host("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
    let _listener = UnixListener::bind(w.host("socket")).expect("a socket");
    refused(w.read("fifo"), FaultKind::Unsupported, "is a FIFO");
    refused(w.read("socket"), FaultKind::Unsupported, "is a socket");
    refused(w.write("fifo", "x", &Basis::Absent), FaultKind::Unsupported, "is a FIFO");
    w.link("/dev/zero", "zero");
    refused(w.read("zero"), FaultKind::Denied, "leads outside");
    let device = nix::sys::stat::mknod(
        &w.host("null"),
        nix::sys::stat::SFlag::S_IFCHR,
        nix::sys::stat::Mode::S_IRWXU,
        nix::sys::stat::makedev(1, 3),
    );
    // Only root may make one.
    if device.is_ok() {
        refused(w.read("null"), FaultKind::Unsupported, "is a device");
    }
}

#[test]
fn git_and_spill_are_read_only() {
    let w = Workspace::new();
    w.put(".git/config", "[core]");
    w.put("sub/.git", "gitdir: elsewhere");
    w.put("file", "x");
    w.link(".git", "alias");
    w.link(".git/config", "config");
    let spilled = w.jail.spill("cargo test", b"long output").expect("a spill");
    assert_eq!(spilled, ".harness/spill/001-cargo-test.txt");
    assert_eq!(w.read(&spilled).expect("readable").bytes, b"long output");
    assert_eq!(w.read(".git/config").expect("readable").bytes, b"[core]");
    refused(w.read(".harness/spill/002-x.txt"), FaultKind::NotFound, "no spilled output");
    refused(w.read(".harness/spill/../../../outside/secret"), FaultKind::Denied, "above the root");

    let any = Basis::Read(w.read(".git/config").expect("readable").version);
    let file = Basis::Read(w.read("file").expect("readable").version);
    let git = "which is read-only to the file tools";
    for raw in
        [".git/config", ".git/hooks/pre-commit", "alias/config", "config", "sub/.git", ".GIT/x"]
    {
        let path = w.path(raw);
        refused(w.write(raw, "x", &any), FaultKind::Denied, git);
        let insert = [Replacement { offset: 0, remove: 0, insert: b"x".to_vec() }];
        refused(w.jail.patch(&path, &insert, &any, &w.seen), FaultKind::Denied, git);
        // A name that is a link is itself no part of `.git`, only taken.
        let (kind, words) = match raw {
            "config" => (FaultKind::Conflict, "already exists"),
            _ => (FaultKind::Denied, git),
        };
        refused(w.jail.rename(&w.path("file"), &path, &file, &w.seen), kind, words);
    }
    for raw in [".git", ".git/config/d", ".git/new/d", "alias/new/d"] {
        refused(w.jail.make_directory(&w.path(raw)), FaultKind::Denied, git);
    }
    for raw in [".git/config", ".git", "alias/config"] {
        refused(w.jail.remove(&w.path(raw), &any, &w.seen), FaultKind::Denied, git);
        refused(w.jail.rename(&w.path(raw), &w.path("y"), &any, &w.seen), FaultKind::Denied, git);
    }
    refused(w.write(&spilled, "x", &any), FaultKind::Denied, "read-only view");
    refused(w.jail.remove(&w.path(&spilled), &any, &w.seen), FaultKind::Denied, "read-only view");
    let into_view = w.path(".harness/spill/new");
    refused(w.jail.make_directory(&into_view), FaultKind::Denied, "read-only view");
    assert_eq!(w.text(".git/config"), "[core]");
}

#[test]
fn what_is_no_workspace() {
    let w = Workspace::new();
    w.put("file", "x");
    let open = |path: &std::path::Path| Jail::open(path, None);
    assert!(matches!(open(&w.host("missing")), Err(OpenError::NotFound(_))));
    assert!(matches!(open(&w.host("file")), Err(OpenError::NotADirectory(_))));
    assert!(matches!(open("/".as_ref()), Err(OpenError::FilesystemRoot)));
    assert!(matches!(open("/usr/..".as_ref()), Err(OpenError::FilesystemRoot)));
    for system in ["/proc", "/proc/self", "/proc/sys/kernel", "/sys", "/dev"] {
        assert!(matches!(open(system.as_ref()), Err(OpenError::SystemDirectory(_))), "{system}");
    }
    let home = std::env::home_dir().expect("a home directory");
    if home.is_dir() {
        assert!(matches!(open(&home), Err(OpenError::HomeDirectory(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_path_reads_outside(parts in proptest::collection::vec(
        prop_oneof![
            Just("..".to_owned()), Just(".".to_owned()), Just("dir".to_owned()), Just("up".to_owned()),
            Just("out".to_owned()), Just("secret".to_owned()), Just("outside".to_owned()),
            Just("".to_owned()), "[a-z./]{0,6}",
        ],
        0..8,
    )) {
        let w = Workspace::new();
        w.put("dir/file", "inside");
        w.link("..", "dir/up");
        w.link("../..", "dir/out");
        let raw = parts.join("/");
        if let Ok(content) = w.read(&raw) {
            prop_assert_eq!(content.bytes, b"inside".to_vec(), "{}", raw);
        }
    }
}
