//! Changing: what is refused, what is kept, what is told.

use harness_jail::{Basis, Fault, FaultKind, Receipt, Replacement};

use crate::workspace::{Workspace, refused};

fn patch(
    w: &Workspace,
    raw: &str,
    offset: u64,
    remove: u64,
    insert: &str,
    basis: &Basis,
) -> Result<Receipt, Fault> {
    let replacement = Replacement { offset, remove, insert: insert.as_bytes().to_vec() };
    w.jail.patch(&w.path(raw), &[replacement], basis, &w.seen)
}

#[test]
fn a_new_file() {
    let w = Workspace::new();
    let receipt = w.write("a/b/new.txt", "one\n", &Basis::Absent).expect("written");
    assert!(receipt.created && receipt.note.is_none());
    assert_eq!(receipt.size_bytes, 4);
    assert_eq!(receipt.version, w.read("a/b/new.txt").expect("there").version);
    assert!(receipt.diff.contains("+one"), "{}", receipt.diff);
    assert_eq!(w.names("a/b"), ["new.txt"]);
    // What we wrote counts as shown.
    w.write("a/b/new.txt", "two\n", &Basis::ShownWhole).expect("written again");
    refused(
        w.write("a/b/new.txt", "x", &Basis::Absent),
        FaultKind::Conflict,
        "already exists\nhint: read it and use edit",
    );
    refused(w.write("none", "x", &Basis::Shown), FaultKind::NotFound, "does not exist");
    refused(w.write("none", "x", &Basis::Read("b3:0".into())), FaultKind::Conflict, "was removed");
}

#[test]
fn not_read_stale_and_partly_shown() {
    let w = Workspace::new();
    let text: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    w.put("f", &text);
    refused(
        w.write("f", "x", &Basis::Shown),
        FaultKind::Conflict,
        "has not been read in this session\nhint: read it first",
    );
    w.show("f", 3, 4);
    w.show("f", 7, 7);
    refused(
        w.write("f", "x", &Basis::ShownWhole),
        FaultKind::Conflict,
        "not shown were lines 1-2, 5-6, 8-10",
    );
    w.put("f", text.clone() + "more\n");
    refused(
        w.write("f", "x", &Basis::ShownWhole),
        FaultKind::Conflict,
        "has changed since it was read\nhint: re-read",
    );
    refused(patch(&w, "f", 0, 1, "L", &Basis::Shown), FaultKind::Conflict, "has changed");
    assert_eq!(w.text("f"), text + "more\n");
    w.show("f", 1, 11);
    w.write("f", "x", &Basis::ShownWhole).expect("a fresh read unlocks");
    w.seen.forget_all();
    refused(w.write("f", "y", &Basis::Shown), FaultKind::Conflict, "summarised away");

    w.put("empty", "");
    w.show("empty", 1, 0);
    w.write("empty", "x", &Basis::ShownWhole).expect("an empty file was seen whole");
}

#[test]
fn the_basis_of_a_plugin() {
    let w = Workspace::new();
    w.put("f", "one\n");
    let version = w.read("f").expect("there").version;
    w.put("f", "two\n");
    refused(w.write("f", "x", &Basis::Read(version)), FaultKind::Conflict, "has changed");
    let version = w.read("f").expect("there").version;
    w.write("f", "three\n", &Basis::Read(version)).expect("written");
}

#[test]
fn an_edit_moves_what_was_shown() {
    let w = Workspace::new();
    w.put("f", "1\n2\n3\n4\n5\n");
    w.show("f", 2, 3);
    patch(&w, "f", 2, 1, "two\nand a half", &Basis::Shown).expect("edited");
    assert_eq!(w.text("f"), "1\ntwo\nand a half\n3\n4\n5\n");
    refused(
        w.write("f", "x", &Basis::ShownWhole),
        FaultKind::Conflict,
        "not shown were lines 1, 5-6",
    );
    patch(&w, "f", 0, 1, "one", &Basis::Shown).expect("edited again without a read");
    refused(
        patch(&w, "f", 900, 1, "", &Basis::Shown),
        FaultKind::InvalidInput,
        "leads beyond the end",
    );
    refused(patch(&w, "g", 0, 0, "", &Basis::Absent), FaultKind::NotFound, "does not exist");
}

#[test]
fn bytes_outside_the_change_stay() {
    let w = Workspace::new();
    let before = b"\xEF\xBB\xBFx=1 # caf\xE9\r\ny=2\r\n\0";
    w.put("f", before);
    w.show("f", 1, 3);
    let at = before.windows(3).position(|window| window == b"y=2").expect("there") as u64;
    let receipt = patch(&w, "f", at + 2, 1, "3", &Basis::Shown).expect("edited");
    assert!(receipt.diff.starts_with("binary files differ"), "{}", receipt.diff);
    assert_eq!(
        std::fs::read(w.host("f")).expect("there"),
        b"\xEF\xBB\xBFx=1 # caf\xE9\r\ny=3\r\n\0"
    );
}

#[test]
fn identical_bytes_are_not_written() {
    let w = Workspace::new();
    w.put("f", "same\n");
    w.set_modified("f", 1000);
    w.show("f", 1, 1);
    let before = w.jail.stat(&w.path("f")).expect("there");
    let receipt = w.write("f", "same\n", &Basis::ShownWhole).expect("fine");
    assert_eq!(receipt.version, w.read("f").expect("there").version);
    assert_eq!((receipt.diff.as_str(), receipt.created), ("", false));
    assert_eq!(w.jail.stat(&w.path("f")).expect("there"), before);
}

#[test]
fn modes_are_kept() {
    let w = Workspace::new();
    for mode in [0o755, 0o600, 0o644, 0o4750, 0o440] {
        w.put("f", "old\n");
        w.set_mode("f", mode);
        w.show("f", 1, 1);
        let receipt = w.write("f", "new\n", &Basis::ShownWhole).expect("written");
        assert_eq!((w.mode("f"), receipt.note), (mode, None), "{mode:o}");
        w.set_mode("f", 0o644);
    }
    assert_eq!(w.names("."), ["f"]);
}

#[test]
fn attributes_are_kept() {
    let w = Workspace::new();
    w.put("f", "old\n");
    let file = std::fs::File::open(w.host("f")).expect("there");
    let flags = rustix::fs::XattrFlags::empty();
    if rustix::fs::fsetxattr(&file, "user.origin", b"here", flags).is_err() {
        // This file system has no attributes to keep.
        return;
    }
    w.show("f", 1, 1);
    let receipt = w.write("f", "new\n", &Basis::ShownWhole).expect("written");
    assert_eq!(receipt.note, None);
    let file = std::fs::File::open(w.host("f")).expect("there");
    let mut value = [0; 16];
    let len = rustix::fs::fgetxattr(&file, "user.origin", &mut value[..]).expect("kept");
    assert_eq!(&value[..len], b"here");
}

#[test]
fn links_survive() {
    let w = Workspace::new();
    w.put("dir/real", "old\n");
    w.link("dir/real", "one");
    w.link("one", "two");
    w.show("two", 1, 1);
    w.write("two", "new\n", &Basis::ShownWhole).expect("written");
    assert!(w.is_link("one") && w.is_link("two") && !w.is_link("dir/real"));
    assert_eq!(w.text("dir/real"), "new\n");
    // The alias and the file share what was shown.
    w.write("dir/real", "newer\n", &Basis::ShownWhole).expect("written");
    assert_eq!(w.names("dir"), ["real"]);
}

#[test]
fn a_hard_link_is_broken_and_named() {
    let w = Workspace::new();
    w.put("f", "old\n");
    w.hard_link("f", "g");
    w.show("f", 1, 1);
    let receipt = w.write("f", "new\n", &Basis::ShownWhole).expect("written");
    assert!(receipt.note.expect("a note").contains("hard link"));
    assert_eq!((w.text("f").as_str(), w.text("g").as_str()), ("new\n", "old\n"));
}

/// Another writer that never stops: its last word is either there or was replaced knowingly.
#[test]
fn a_concurrent_writer_is_not_lost() {
    let w = Workspace::new();
    w.put("f", "0");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 1..=300 {
                w.put(".other", n.to_string());
                std::fs::rename(w.host(".other"), w.host("f")).expect("renamed");
            }
        });
        for _ in 0..300 {
            let version = w.read("f").expect("there").version;
            match w.write("f", "ours", &Basis::Read(version)) {
                Ok(_) => {}
                Err(fault) => assert_eq!(fault.kind, FaultKind::Conflict, "{fault}"),
            }
        }
    });
    let left = w.names(".");
    assert!(left.iter().all(|name| !name.starts_with(".harness-tmp-")), "{left:?}");
}

#[test]
fn the_name_of_a_directory_is_no_file() {
    let w = Workspace::new();
    w.put("file", "x");
    w.put("dir/f", "x");
    w.link("dir", "link");
    let seen = &w.seen;
    for raw in ["new/", "new/.", "a/b/..", "new//"] {
        let path = w.path(raw);
        refused(w.write(raw, "x", &Basis::Absent), FaultKind::InvalidInput, "names a directory");
        w.show("file", 1, 1);
        let moved = w.jail.rename(&w.path("file"), &path, &Basis::Shown, seen);
        refused(moved, FaultKind::InvalidInput, "names a directory");
    }
    // What a file's name with a slash after it is to the system, it is to every operation.
    let slashed = w.path("file/");
    let words = "`file/` does not exist: `file` is not a directory";
    refused(w.read("file/"), FaultKind::NotFound, words);
    refused(w.jail.stat(&slashed), FaultKind::NotFound, words);
    refused(w.jail.entries(&slashed), FaultKind::NotFound, words);
    refused(w.write("file/", "y", &Basis::Shown), FaultKind::NotFound, words);
    refused(patch(&w, "file/.", 0, 1, "y", &Basis::Shown), FaultKind::NotFound, words);
    refused(w.jail.make_directory(&slashed), FaultKind::NotFound, words);
    refused(w.jail.remove(&slashed, &Basis::Shown, seen), FaultKind::NotFound, words);
    let moved = w.jail.rename(&slashed, &w.path("y"), &Basis::Shown, seen);
    refused(moved, FaultKind::NotFound, words);
    let removed = w.jail.remove(&w.path("link/"), &Basis::Shown, seen);
    refused(removed, FaultKind::NotFound, "`link` is not a directory");
    // A directory's name may have one.
    assert_eq!(w.jail.entries(&w.path("link/")).expect("followed").len(), 1);
    w.jail.make_directory(&w.path("made/")).expect("made");
    w.jail.rename(&w.path("made/"), &w.path("moved/"), &Basis::Shown, seen).expect("moved");
    for raw in ["new", "./new2", "a/../new3", "new.", "..."] {
        w.write(raw, "x", &Basis::Absent).expect(raw);
    }
    assert_eq!(w.text("file"), "x");
}

#[test]
fn directories_moves_and_removals() {
    let w = Workspace::new();
    w.jail.make_directory(&w.path("a/b/c")).expect("made");
    w.jail.make_directory(&w.path("a/b/c")).expect("fine twice");
    w.put("f", "x\n");
    refused(w.jail.make_directory(&w.path("f")), FaultKind::Conflict, "not a directory");
    let (f, g) = (w.path("f"), w.path("a/new/g"));
    refused(
        w.jail.rename(&f, &g, &Basis::Shown, &w.seen),
        FaultKind::Conflict,
        "has not been read",
    );
    w.show("f", 1, 1);
    w.jail.rename(&f, &g, &Basis::Shown, &w.seen).expect("moved");
    assert_eq!(w.text("a/new/g"), "x\n");
    w.put("f", "other");
    refused(
        w.jail.rename(&g, &f, &Basis::Shown, &w.seen),
        FaultKind::Conflict,
        "`f` already exists",
    );
    refused(
        w.jail.rename(&w.path("a"), &w.path("a/x"), &Basis::Shown, &w.seen),
        FaultKind::InvalidInput,
        "into itself",
    );
    w.jail.rename(&w.path("a"), &w.path("z"), &Basis::Shown, &w.seen).expect("a directory moves");
    refused(
        w.jail.remove(&w.path("z"), &Basis::Shown, &w.seen),
        FaultKind::Conflict,
        "is not empty",
    );
    // What was shown moved along.
    w.jail.remove(&w.path("z/new/g"), &Basis::ShownWhole, &w.seen).expect("removed");
    w.jail.remove(&w.path("z/new"), &Basis::Shown, &w.seen).expect("removed");
    w.link(w.outside().join("secret"), "link");
    w.jail.remove(&w.path("link"), &Basis::Shown, &w.seen).expect("the link itself goes");
    assert!(w.outside().join("secret").exists());
    refused(
        w.jail.remove(&w.path("gone"), &Basis::Shown, &w.seen),
        FaultKind::NotFound,
        "does not exist",
    );
    refused(
        w.jail.remove(&w.path("."), &Basis::Shown, &w.seen),
        FaultKind::Denied,
        "root of the workspace",
    );
}

#[test]
fn long_diffs_are_capped() {
    let w = Workspace::new();
    let text: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
    let receipt = w.write("f", &text, &Basis::Absent).expect("written");
    assert!(receipt.diff.len() < 9 * 1024 && receipt.diff.contains("more lines of this diff"));
}
