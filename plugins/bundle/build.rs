//! Builds every default plugin for WebAssembly and wraps each into a component.
//!
//! One inner cargo builds all guests, in a target folder of its own (the outer build holds the
//! lock of the other) and with none of the outer build's environment. A plugin's folder that is
//! not in the table below stops the build, so that none is forgotten in silence. Never runs a
//! plugin and never judges one: the host does that when it loads them.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a build script reads the environment and runs cargo"
)]

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use wit_component::ComponentEncoder;

const TARGET: &str = "wasm32-unknown-unknown";

struct Guest {
    /// Under `plugins/`.
    folder: &'static str,
    package: &'static str,
    name: &'static str,
    /// A case of `Role` in `src/lib.rs`.
    role: &'static str,
}

const fn guest(
    folder: &'static str,
    package: &'static str,
    name: &'static str,
    role: &'static str,
) -> Guest {
    Guest { folder, package, name, role }
}

const GUESTS: &[Guest] = &[
    guest("tools/files", "harness-files", "files", "Tool"),
    guest("tools/search", "harness-search", "search", "Tool"),
    guest("tools/shell", "harness-shell", "shell", "Tool"),
    guest("guards/repeat", "harness-repeat", "repeat", "Guard"),
    guest("guards/denylist", "harness-denylist", "denylist", "Guard"),
    guest("guards/deadline", "harness-deadline", "deadline", "Guard"),
    guest("profiles/openai", "harness-profiles", "profiles", "Profile"),
];

fn main() -> ExitCode {
    match bundle() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={}", message.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn bundle() -> Result<(), String> {
    let manifest_folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let root = ancestor(&manifest_folder, 2)?;

    for path in ["wit", "plugins/sdk", "plugins/tools", "plugins/guards", "plugins/profiles"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    for path in ["Cargo.lock", "Cargo.toml", "plugins/bundle/build.rs"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }

    refuse_unlisted(&root.join("plugins"))?;
    ensure_target()?;
    let modules = build_guests(root, &target_folder(&out)?)?;

    let mut table = String::from("&[\n");
    for guest in GUESTS {
        let module = modules.join(format!("{}.wasm", guest.package.replace('-', "_")));
        let component = wrap(&module).map_err(|err| format!("plugin `{}`: {err}", guest.name))?;
        let file = format!("{}.wasm", guest.name);
        write_if_changed(&out.join(&file), &component)?;
        let Guest { name, role, .. } = guest;
        let _ = writeln!(
            table,
            "    Plugin {{ name: {name:?}, role: Role::{role}, \
             bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{file}\")) }},"
        );
    }
    table.push_str("]\n");
    write_if_changed(&out.join("plugins.rs"), table.as_bytes())
}

/// Every folder with a manifest must be in the table.
fn refuse_unlisted(plugins: &Path) -> Result<(), String> {
    for kind in ["tools", "guards", "profiles"] {
        let folder = plugins.join(kind);
        let entries = fs::read_dir(&folder).map_err(|err| cause("read", &folder, &err))?;
        for entry in entries {
            let path = entry.map_err(|err| cause("read", &folder, &err))?.path();
            let listed = GUESTS.iter().any(|guest| plugins.join(guest.folder) == path);
            if path.join("Cargo.toml").is_file() && !listed {
                return Err(format!(
                    "`{}` is not bundled: add it to `GUESTS` in plugins/bundle/build.rs",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

/// The standard library for the guests' target must be installed; if it is not, rustup adds it.
fn ensure_target() -> Result<(), String> {
    if is_target_installed()? {
        return Ok(());
    }
    println!(
        "cargo::warning=target {TARGET} is not installed: running `rustup target add {TARGET}`"
    );
    // `RUSTUP_TOOLCHAIN` is set by rustup's own cargo, and names the toolchain in use.
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if added.is_ok_and(|status| status.success()) && is_target_installed()? {
        return Ok(());
    }
    let toolchain =
        env::var("RUSTUP_TOOLCHAIN").map(|name| format!(" --toolchain {name}")).unwrap_or_default();
    Err(format!(
        "the plugins need the target {TARGET} and it could not be installed; \
         run: rustup target add {TARGET}{toolchain}"
    ))
}

fn is_target_installed() -> Result<bool, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|err| format!("`{}` does not run: {err}", rustc.display()))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).is_dir())
}

/// `plugins` beside the outer build's profile folder, whatever that folder is called.
fn target_folder(out: &Path) -> Result<PathBuf, String> {
    // <target>/<profile>/build/<package>-<hash>/out
    Ok(ancestor(out, 4)?.join("plugins"))
}

/// Builds all guests in one call and returns the folder of the core modules.
fn build_guests(root: &Path, target_folder: &Path) -> Result<PathBuf, String> {
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
    for guest in GUESTS {
        cargo.args(["-p", guest.package]);
    }
    match cargo.status() {
        Ok(status) if status.success() => Ok(target_folder.join(TARGET).join("guest")),
        Ok(_) => {
            Err("the plugins do not build; what the compiler said stands in this script's stderr"
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

/// Makes a component of a core module; validation finds a broken export at build time.
fn wrap(module: &Path) -> Result<Vec<u8>, String> {
    let core = fs::read(module).map_err(|err| cause("read", module, &err))?;
    ComponentEncoder::default()
        .validate(true)
        .module(&core)
        .and_then(|encoder| encoder.encode())
        .map_err(|err| format!("{err:#}"))
}

/// An unchanged file keeps its time, so that what includes it is not compiled again.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|err| cause("write", path, &err))
}

fn ancestor(path: &Path, steps: usize) -> Result<&Path, String> {
    path.ancestors()
        .nth(steps)
        .ok_or_else(|| format!("`{}` has no {steps} folders above it", path.display()))
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("`{name}` is not set; this script is run by cargo"))
}

fn cause(verb: &str, path: &Path, err: &std::io::Error) -> String {
    format!("could not {verb} `{}`: {err}", path.display())
}
