//! The inner build: one cargo for all guests of a plan.
//!
//! It shares neither target folder nor environment with the build it runs in.

use std::env;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::target::TARGET;
use crate::{Plan, ancestor, variable};

/// A folder named by the plan beside the outer build's profile folder, whatever that is called.
/// Each checkout has its own: where several share a target folder, cargo takes one's guests for
/// another's if only their times suit.
pub(crate) fn target_folder(plan: &Plan, out: &Path, root: &Path) -> Result<PathBuf, String> {
    let mut hasher = DefaultHasher::new();
    root.hash(&mut hasher);
    // <target>/<profile>/build/<package>-<hash>/out
    Ok(ancestor(out, 4)?.join(plan.name).join(format!("{:016x}", hasher.finish())))
}

/// Builds all guests in one call and returns the folder of the core modules.
pub(crate) fn build(plan: &Plan, root: &Path, target_folder: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new(variable("CARGO")?);
    for (name, _) in env::vars_os() {
        if is_of_the_outer_build(&name.to_string_lossy()) {
            cargo.env_remove(name);
        }
    }
    cargo
        .current_dir(root)
        .env("RUSTFLAGS", "-Ctarget-feature=+simd128")
        .args(["build", "--profile", "guest", "--locked", "--target", TARGET])
        .arg("--target-dir")
        .arg(target_folder);
    for guest in plan.guests {
        cargo.args(["-p", guest.package]);
    }
    match cargo.status() {
        Ok(status) if status.success() => Ok(target_folder.join(TARGET).join("guest")),
        Ok(_) => {
            Err("the guests do not build; what the compiler said stands in this script's stderr"
                .into())
        }
        Err(err) => Err(format!("cargo does not run: {err}")),
    }
}

/// What the outer build sets for itself, and settings meant for it alone. What tells cargo where
/// its home, its registries and its network are stays.
fn is_of_the_outer_build(name: &str) -> bool {
    const KEPT: [&str; 6] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
        "CARGO_TERM_",
    ];
    const PREFIXES: [&str; 8] =
        ["CARGO", "__CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "CLIPPY_", "DEP_", "MIRI"];
    const NAMES: [&str; 9] = [
        "TARGET",
        "HOST",
        "OUT_DIR",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "NUM_JOBS",
        "MAKEFLAGS",
        "MFLAGS",
    ];
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    !starts(&KEPT) && (starts(&PREFIXES) || NAMES.contains(&name))
}
