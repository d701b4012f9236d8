//! What the manifests may say: versions at the root only, and few know the dangerous crates.

use toml::Table;

use super::none;
use super::tree::Tree;

/// A crate, and the only manifests that may ask for it.
const OWNED: [(&str, &[&str]); 6] = [
    ("cap-std", &["host/jail/Cargo.toml"]),
    ("nix", &["host/jail/Cargo.toml"]),
    ("landlock", &["host/jail/Cargo.toml"]),
    ("wasmtime", &["host/Cargo.toml"]),
    ("reqwest", &["host/Cargo.toml"]),
    ("rusqlite", &["host/Cargo.toml"]),
];

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Every manifest but the root's, with its dependencies: path, kind, name, what is asked.
fn dependencies(tree: &Tree) -> Vec<(String, &'static str, String, toml::Value)> {
    let mut found = Vec::new();
    for (path, text) in tree.texts(&["host/", "plugins/"], "Cargo.toml") {
        let manifest: Table = text.parse().unwrap();
        let for_targets = manifest.get("target").and_then(toml::Value::as_table);
        let tables = for_targets.into_iter().flat_map(Table::values);
        let tables = tables.filter_map(toml::Value::as_table).chain([&manifest]);
        for table in tables {
            for kind in KINDS {
                for (name, asked) in
                    table.get(kind).and_then(toml::Value::as_table).into_iter().flatten()
                {
                    found.push((path.to_owned(), kind, name.clone(), asked.clone()));
                }
            }
        }
    }
    found
}

#[test]
fn versions_stand_at_the_root_only() {
    let mut offences = Vec::new();
    for (path, kind, name, asked) in dependencies(&Tree::read()) {
        if asked.get("workspace").and_then(toml::Value::as_bool) != Some(true) {
            offences.push(format!("{path}: {kind}.{name} is not `workspace = true`"));
        }
    }
    none("a version outside the root", offences);
}

#[test]
fn every_version_at_the_root_is_used() {
    let tree = Tree::read();
    let root = tree.file("Cargo.toml").and_then(|file| file.text.as_deref()).unwrap();
    let manifest: Table = root.parse().unwrap();
    let declared = manifest["workspace"]["dependencies"].as_table().unwrap();
    let used = dependencies(&tree);
    let unused = declared.keys().filter(|name| !used.iter().any(|(_, _, used, _)| used == *name));
    none("a version that nobody uses", unused.cloned().collect());
}

#[test]
fn dangerous_crates_have_one_owner() {
    let mut offences = Vec::new();
    for (path, kind, name, _) in dependencies(&Tree::read()) {
        let owners = OWNED.iter().find(|(owned, _)| *owned == name).map(|(_, owners)| owners);
        if owners.is_some_and(|owners| !owners.contains(&path.as_str())) {
            offences.push(format!("{path}: {kind}.{name}"));
        }
        if path == "host/jail/Cargo.toml" && name.starts_with("harness") {
            offences.push(format!("{path}: {kind}.{name}: the jail stands below everybody"));
        }
        if path.starts_with("plugins/") && matches!(name.as_str(), "harness" | "harness-jail") {
            offences.push(format!("{path}: {kind}.{name}: a plugin knows the contract only"));
        }
    }
    none("a crate in the wrong manifest", offences);
}
