//! The guests' target: its standard library must be installed; if it is not, rustup adds it.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// What guests are built for.
pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Succeeds when the target is there or could be added.
pub(crate) fn ensure() -> Result<(), String> {
    if is_installed()? {
        return Ok(());
    }
    println!(
        "cargo::warning=target {TARGET} is not installed: running `rustup target add {TARGET}`"
    );
    // `RUSTUP_TOOLCHAIN` is set by rustup's own cargo, and names the toolchain in use.
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    if added.is_ok_and(|status| status.success()) && is_installed()? {
        return Ok(());
    }
    let toolchain =
        env::var("RUSTUP_TOOLCHAIN").map(|name| format!(" --toolchain {name}")).unwrap_or_default();
    Err(format!(
        "the guests need the target {TARGET} and it could not be installed; \
         run: rustup target add {TARGET}{toolchain}"
    ))
}

fn is_installed() -> Result<bool, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .map_err(|err| format!("`{}` does not run: {err}", rustc.display()))?;
    let folder = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success() && Path::new(folder.trim()).is_dir())
}
