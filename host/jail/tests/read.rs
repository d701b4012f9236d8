//! Looking: entries, contents, versions, nearest names, fingerprints.

use std::time::{Duration, Instant};

use harness_jail::{EntryKind, FaultKind, JailPath, MAX_READ_BYTES};

use crate::workspace::{Workspace, later, refused};

#[test]
fn contents_and_ranges() {
    let w = Workspace::new();
    w.put("a.txt", "0123456789");
    let path = w.path("a.txt");
    let read = |offset, length| w.jail.read(&path, offset, length).expect("readable");
    let whole = read(0, 0);
    assert_eq!(whole.bytes, b"0123456789");
    assert_eq!(whole.size_bytes, 10);
    assert!(whole.version.starts_with("b3:") && whole.version.len() == 67);
    assert_eq!(read(3, 4).bytes, b"3456");
    assert_eq!(read(8, 100).bytes, b"89");
    assert_eq!(read(10, 1).bytes, b"");
    assert_eq!(read(u64::MAX, u64::MAX).bytes, b"");
    assert_eq!(read(3, 4).version, whole.version);
}

#[test]
fn large_files_have_another_version() {
    let w = Workspace::new();
    w.put("large", vec![b'x'; 17 * 1024 * 1024]);
    let path = w.path("large");
    let content = w.jail.read(&path, 0, 0).expect("readable");
    assert_eq!(content.bytes.len() as u64, MAX_READ_BYTES);
    assert_eq!(content.size_bytes, 17 * 1024 * 1024);
    assert!(content.version.starts_with("st:"), "{}", content.version);
    w.set_modified("large", 1_000_000);
    let touched = w.jail.read(&path, 17 * 1024 * 1024 - 2, 10).expect("readable");
    assert_eq!(touched.bytes, b"xx");
    assert_ne!(touched.version, content.version);
}

#[test]
fn entries_are_sorted_and_plain() {
    let w = Workspace::new();
    w.put("b.txt", "bb");
    w.put("a/x", "");
    w.put(".hidden", "");
    w.put(".harness-tmp-1-1", "left over");
    w.link("b.txt", "link");
    let entries = w.jail.entries(&JailPath::root()).expect("a listing");
    let seen: Vec<(&str, EntryKind)> =
        entries.iter().map(|entry| (entry.path.as_str(), entry.kind)).collect();
    let expected = [
        (".hidden", EntryKind::File),
        ("a", EntryKind::Directory),
        ("b.txt", EntryKind::File),
        ("link", EntryKind::Symlink),
    ];
    assert_eq!(seen, expected);
    assert_eq!(entries[2].size_bytes, 2);
    let below = w.jail.entries(&w.path("a")).expect("a listing");
    assert_eq!(below[0].path.as_str(), "a/x");
    refused(w.jail.entries(&w.path("b.txt")), FaultKind::Unsupported, "is not a directory");
    assert_eq!(w.jail.stat(&w.path("link")).expect("there").kind, EntryKind::File);
}

#[test]
fn missing_names_the_nearest() {
    let w = Workspace::new();
    w.put("src/main.rs", "");
    w.put("src/README", "");
    for (raw, words) in [
        ("src/mian.rs", "`main.rs`"),
        ("src/readme", "`README`"),
        (
            "scr/main.rs",
            "no directory `scr` on the way to it; the nearest names beside it are `src`",
        ),
        ("qqqq", "search for the file with glob"),
    ] {
        refused(w.jail.stat(&w.path(raw)), FaultKind::NotFound, words);
    }
}

#[test]
fn the_fingerprint_sees_changes() {
    let w = Workspace::new();
    w.put("a", "1");
    w.put("ignored/b", "1");
    w.put(".gitignore", "ignored");
    w.put(".git/HEAD", "ref: refs/heads/main");
    w.put(".git/refs/heads/main", "1");
    w.put(".git/objects/aa", "1");
    let now = || w.jail.fingerprint(later()).expect("finished");
    let mut last = now();
    assert_eq!(last, now());
    w.put(".git/objects/bb", "1");
    assert_eq!(last, now(), "objects do not count");
    let changes: [&dyn Fn(); 5] = [
        &|| w.put("ignored/b", "22"),
        &|| w.put("c", ""),
        &|| w.put(".git/refs/heads/other", "1"),
        &|| w.set_mode("a", 0o755),
        &|| w.set_modified("a", 5),
    ];
    for (number, change) in changes.iter().enumerate() {
        change();
        let next = now();
        assert_ne!(last, next, "change {number}");
        last = next;
    }
    assert_eq!(w.jail.fingerprint(Instant::now() - Duration::from_millis(1)), None);
}
