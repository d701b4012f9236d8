//! Random trees with links of all kinds, and random paths: no operation touches a byte outside.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use proptest::prelude::*;

use crate::operations::{ALL, SECRET, above, snapshot, surrounded};
use crate::workspace::Workspace;

/// One thing of a random tree.
#[derive(Debug, Clone)]
enum Thing {
    Directory,
    File,
    Link(String),
    HardLink,
    Fifo,
}

/// Few names, so that paths meet things, and things each other.
fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "file", "secret", "only-outside"])
        .prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    let part = prop_oneof![8 => name(), 2 => Just("..".to_owned()), 1 => Just(".".to_owned()), 1 => Just(String::new())];
    prop::collection::vec(part, 1..6).prop_map(|parts| parts.join("/"))
}

/// `ROOT` and `OUTSIDE` stand for the absolute paths of this run.
fn target() -> impl Strategy<Value = String> {
    let ends = [
        "..",
        "../outside",
        "../outside/secret",
        "../../outside",
        ".",
        "/",
        "OUTSIDE",
        "OUTSIDE/only-outside",
        "OUTSIDE/new",
        "ROOT",
        "ROOT/a",
        "ROOT/../outside",
        "ROOTx",
        "/proc/self/root",
        "/proc/self/cwd",
        "/proc/self/fd",
        "../nowhere",
        "../w/a",
        "a/../../outside",
    ];
    prop_oneof![prop::sample::select(ends.to_vec()).prop_map(str::to_owned), path()]
}

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        4 => Just(Thing::Directory), 4 => Just(Thing::File), 6 => target().prop_map(Thing::Link),
        1 => Just(Thing::HardLink), 1 => Just(Thing::Fifo),
    ]
}

/// Puts it there if that can be without passing a link; random trees hold what they can.
fn plant(w: &Workspace, place: &[String], thing: &Thing) {
    let mut host = w.jail.root().to_owned();
    for (at, part) in place.iter().enumerate() {
        host.push(part);
        if at + 1 < place.len()
            && !fs::symlink_metadata(&host).is_ok_and(|found| found.is_dir())
            && fs::create_dir(&host).is_err()
        {
            return;
        }
    }
    if fs::symlink_metadata(&host).is_ok() {
        return;
    }
    match thing {
        Thing::Directory => fs::create_dir(host).expect("a directory"),
        Thing::File => fs::write(host, "inside").expect("a file"),
        Thing::Link(target) => {
            let text = |path: &Path| path.to_str().expect("text").to_owned();
            let target = target
                .replace("ROOT", &text(w.jail.root()))
                .replace("OUTSIDE", &text(&w.outside()));
            symlink(if target.is_empty() { "." } else { &target }, host).expect("a link");
        }
        Thing::HardLink => fs::hard_link(w.outside().join("shared"), host).expect("a hard link"),
        Thing::Fifo => {
            nix::unistd::mkfifo(&host, nix::sys::stat::Mode::S_IRWXU).expect("a fifo");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Whatever the tree, the paths and the order: nothing outside is told of or touched.
    #[test]
    fn random_trees_and_paths(
        things in prop::collection::vec((prop::collection::vec(name(), 1..4), thing()), 0..16),
        operations in prop::collection::vec((prop::sample::select(ALL.to_vec()), path()), 1..24),
    ) {
        let w = Workspace::in_memory();
        surrounded(&w);
        for (place, thing) in &things {
            plant(&w, place, thing);
        }
        let before = snapshot(above(&w), w.jail.root());
        for (operation, raw) in operations {
            let told = match operation.at(&w, &raw) {
                Ok(told) => told,
                Err(fault) => fault.to_string(),
            };
            prop_assert!(!told.contains(SECRET), "{operation:?} {raw}: {told}");
            let after = snapshot(above(&w), w.jail.root());
            prop_assert!(after == before, "{operation:?} {raw} touched what lies outside");
        }
    }
}
