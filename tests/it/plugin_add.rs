//! `harness plugin add`, `remove`, `list` and `dev`: what a person is shown and agrees to, what is
//! written, and what a server that runs makes of it.
//!
//! The real binary on real files; the server, where there is one, is never told.

mod agree;
mod apart;
mod dev;
mod swap;
mod update;
mod workspace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use harness_bundle::PLUGINS;
use harness_guests::GUESTS;
use tempfile::TempDir;

use crate::cli;

/// A directory with a configuration in it, and plugins to add under `offers`.
struct Place {
    root: TempDir,
}

/// What a command said, without the path of the place.
#[derive(Debug)]
struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Place {
    /// One with this configuration, if it is to have one.
    fn with(config: Option<&str>) -> Place {
        let place = Place { root: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() };
        std::fs::create_dir(place.path("offers")).unwrap();
        if let Some(config) = config {
            std::fs::write(place.path("harness.toml"), config).unwrap();
        }
        place
    }

    /// Offers the component of a default plugin or a guest under another name; gives its digest.
    fn offer(&self, name: &str, component: &str) -> String {
        let bytes = component_of(component);
        std::fs::write(self.path(&format!("offers/{name}.wasm")), bytes).unwrap();
        harness::plugin::digest(bytes)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn config(&self) -> String {
        std::fs::read_to_string(self.path("harness.toml")).unwrap()
    }

    /// Runs `harness plugin …` with this configuration; `@/` is the place.
    fn run(&self, args: &[&str]) -> Said {
        let here = self.root.path().to_str().unwrap();
        let args: Vec<String> =
            args.iter().map(|word| word.replace("@/", &format!("{here}/"))).collect();
        let config = self.path("harness.toml");
        let mut all: Vec<&str> = vec!["plugin"];
        all.extend(args.iter().map(String::as_str));
        all.extend(["--config", config.to_str().unwrap()]);
        let (ok, out, err) = cli::run(&all, &[]);
        Said { ok, out: out.replace(here, "@"), err: err.replace(here, "@") }
    }

    /// The same, and it must succeed.
    #[track_caller]
    fn do_it(&self, args: &[&str]) -> String {
        let said = self.run(args);
        assert!(said.ok, "{args:?}: {said:#?}");
        said.out
    }

    /// The same, and it must fail with all of `parts` in its error, and change nothing.
    #[track_caller]
    fn refuses(&self, args: &[&str], parts: &[&str]) {
        let before = self.files();
        let said = self.run(args);
        assert!(!said.ok, "{args:?}: {said:#?}");
        for part in parts {
            assert!(said.err.contains(part), "{args:?}: no `{part}` in {}", said.err);
        }
        assert!(before == self.files(), "{args:?} changed something: {said:#?}");
    }

    /// Every file of the place with its content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(self.root.path(), &mut files);
        files
    }
}

fn collect(directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.insert(path.clone(), std::fs::read(path).unwrap());
        }
    }
}

/// The component of a default plugin, a guest, or a golden guard.
fn component_of(name: &str) -> &'static [u8] {
    let ours = PLUGINS.iter().find(|plugin| plugin.name == name).map(|plugin| plugin.bytes);
    let guest = || GUESTS.iter().find(|guest| guest.name == name).map(|guest| guest.bytes);
    ours.or_else(guest).unwrap_or(include_bytes!("../../testdata/golden/0.1/rust-guard.wasm"))
}

/// Permission bits of a file.
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
