//! A narrowed workspace: what it leaves out is neither told nor changed, by any operation or path.

use std::fs;
use std::os::unix::fs::symlink;

use harness_jail::{FaultKind, Globs, Scope};

use crate::operations::{ALL, Operation, SECRET};
use crate::workspace::Workspace;

fn globs(patterns: &[&str]) -> Option<Globs> {
    let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    Some(Globs::parse(&patterns).unwrap())
}

/// `open/` may be reached, `closed/` may not, and there are ways from one to the other.
fn narrowed() -> Workspace {
    let mut w = Workspace::new();
    for directory in ["open/deep", "closed/deep"] {
        fs::create_dir_all(w.host(directory)).unwrap();
    }
    fs::write(w.host("open/a.txt"), "in the open\n").unwrap();
    fs::write(w.host("closed/secret.txt"), SECRET).unwrap();
    fs::write(w.host("closed/deep/secret.txt"), SECRET).unwrap();
    symlink("../closed", w.host("open/way")).unwrap();
    symlink("../closed/secret.txt", w.host("open/link.txt")).unwrap();
    symlink("open/a.txt", w.host("in.txt")).unwrap();
    let scope = Scope { read: globs(&["open/**"]), write: globs(&["open/**"]) };
    w.jail = w.jail.narrowed(scope).unwrap();
    w
}

#[test]
fn nothing_outside_is_told_or_changed() {
    let w = narrowed();
    let ways = [
        "closed",
        "closed/",
        "closed/secret.txt",
        "closed/new.txt",
        "closed/deep/secret.txt",
        "open/way",
        "open/way/secret.txt",
        "open/way/deep/secret.txt",
        "open/way/new.txt",
        "open/link.txt",
        "open/../closed/secret.txt",
        "open/deep/../../closed/secret.txt",
        "new.txt",
        ".",
        "",
    ];
    for operation in ALL {
        for way in ways {
            // A listing and a search of the root tell what is open.
            if let Ok(told) = operation.at(&w, way) {
                assert!(!told.contains("secret"), "{operation:?} at `{way}` tells {told}");
            }
            let secret = fs::read_to_string(w.host("closed/secret.txt")).unwrap();
            assert_eq!(secret, SECRET, "{operation:?} at `{way}`");
            assert!(!w.host("closed/new.txt").exists(), "{operation:?} at `{way}`");
            assert!(!w.host("new.txt").exists(), "{operation:?} at `{way}`");
        }
    }
}

#[test]
fn what_is_open_is_reached_from_everywhere() {
    let w = narrowed();
    for way in ["open/a.txt", "in.txt", "closed/../open/a.txt"] {
        let told = Operation::Read.at(&w, way).unwrap();
        assert!(told.contains("in the open"), "{way}: {told}");
    }
    assert!(Operation::WriteNew.at(&w, "open/deep/new.txt").is_ok());
    let fault = Operation::Read.at(&w, "closed/secret.txt").unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
    assert_eq!(
        fault.message,
        "`closed/secret.txt` is outside what this plugin may read: `open/**`"
    );
}
