//! Builds guests for WebAssembly, wraps each into a component and lists them in a table: what the
//! build scripts of the bundle and of the tests' guests have in common.
//!
//! One inner cargo builds all guests of a plan, in a target folder of its own (the outer build
//! holds the lock of the other) and with none of the outer build's environment. A guest's folder
//! that is not in the plan stops the build, so that none is forgotten in silence. Never runs a
//! guest and never judges one: the host does that when it loads them.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a build script's work: it reads the environment, runs cargo and speaks to it by stdout"
)]

mod inner;
mod table;
mod target;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a build script asks for.
pub struct Plan {
    /// The inner target folder's name beside the outer build's profile folder.
    pub name: &'static str,
    /// From the build script's package to the repository's root: how many folders up.
    pub root: usize,
    /// What is built again when it changes, from the root; the guests' own folders are known.
    pub sources: &'static [&'static str],
    /// Folders, from the root, in which every folder with a manifest is a guest of this plan.
    pub folders: &'static [&'static str],
    /// The type of the table's rows. It has the fields `name` and `bytes`.
    pub row: &'static str,
    /// The guests, in the order of the table.
    pub guests: &'static [Guest],
}

/// One guest.
pub struct Guest {
    /// From the root.
    pub folder: &'static str,
    /// Its package.
    pub package: &'static str,
    /// Its name in the table, and its component's file name without the ending.
    pub name: &'static str,
    /// What its row says besides `name` and `bytes`, as Rust: `role: Role::Tool`.
    pub fields: &'static str,
}

/// Builds a plan's guests. The components and `table.rs`, a slice of rows, stand in `OUT_DIR`
/// afterwards. What goes wrong is told to cargo.
pub fn build(plan: &Plan) -> ExitCode {
    match try_build(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={}", message.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn try_build(plan: &Plan) -> Result<(), String> {
    let package = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let root = ancestor(&package, plan.root)?;
    let manifests = ["Cargo.lock", "Cargo.toml"];
    for path in manifests.iter().chain(plan.sources).chain(plan.folders) {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-changed={}", package.join("build.rs").display());

    refuse_unlisted(plan, root)?;
    target::ensure()?;
    let modules = inner::build(plan, root, &inner::target_folder(plan, &out, root)?)?;
    table::write(plan, &modules, &out)
}

/// Every folder with a manifest must be in the plan.
fn refuse_unlisted(plan: &Plan, root: &Path) -> Result<(), String> {
    for folder in plan.folders {
        let folder = root.join(folder);
        let entries = fs::read_dir(&folder).map_err(|err| cause("read", &folder, &err))?;
        for entry in entries {
            let path = entry.map_err(|err| cause("read", &folder, &err))?.path();
            let listed = plan.guests.iter().any(|guest| root.join(guest.folder) == path);
            if path.join("Cargo.toml").is_file() && !listed {
                return Err(format!(
                    "`{}` is in no table: add it to the `build.rs` that builds its neighbours",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

fn ancestor(path: &Path, steps: usize) -> Result<&Path, String> {
    path.ancestors()
        .nth(steps)
        .ok_or_else(|| format!("`{}` has no {steps} folders above it", path.display()))
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name)
        .ok_or_else(|| format!("`{name}` is not set; this is called by a build script"))
}

fn cause(verb: &str, path: &Path, err: &std::io::Error) -> String {
    format!("could not {verb} `{}`: {err}", path.display())
}
