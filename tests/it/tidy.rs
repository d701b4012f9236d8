//! The rules of the house, as far as a machine can see them.
//!
//! Reads the repository itself: which module names which (`floors`), what the manifests say
//! (`manifests`), how files are named, how long they are and what they mention (`files`), what a plugin's
//! table holds and which test shows it (`plugins`), and what tools say (`texts`).
//! Every test lists all offences at once, each with its file and line.

mod files;
mod floors;
mod manifests;
mod plugins;
mod texts;
mod tree;

use tree::Tree;

/// Fails with all of `offences`, if there are any.
#[track_caller]
fn none(rule: &str, offences: Vec<String>) {
    assert!(offences.is_empty(), "{rule}:\n  {}\n", offences.join("\n  "));
}

#[test]
fn the_tree_is_really_there() {
    let tree = Tree::read();
    for path in ["Cargo.toml", "host/src/lib.rs", "tests/it/tidy.rs", "wit/types.wit"] {
        assert!(tree.file(path).is_some(), "`{path}` was not read");
    }
}
