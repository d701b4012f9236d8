//! What the commands are pointed at: a project's folder, or a component file.
//!
//! A folder has a `plugin.toml` that names the plugin, and the component `NAME.wasm` once it was
//! built. Reads; makes nothing, and runs nothing.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use harness_jail::read_capped;

use super::manifest::Manifest;
use crate::plugin::{FILE_BYTES, Role};

/// A project's test table.
pub(super) const TABLE: &str = "tests.toml";

/// The largest file of text.
const TEXT_BYTES: u64 = 4 << 20;

/// One plugin on disk.
pub(super) struct Project {
    /// From `plugin.toml`; of a component file, its name without `.wasm`.
    pub(super) name: String,
    /// The role that `plugin.toml` says it has.
    pub(super) role: Option<Role>,
    /// The component.
    pub(super) bytes: Vec<u8>,
    /// The test table that belongs to it, as far as there is a folder.
    pub(super) table: Option<PathBuf>,
}

impl Project {
    /// Reads what is at `path`.
    ///
    /// # Errors
    ///
    /// For its author: what is missing, and how it comes about.
    pub(super) fn open(path: &Path) -> anyhow::Result<Project> {
        if !path.is_dir() {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let name = name.unwrap_or_default();
            let bytes = read_component(path)?;
            return Ok(Project { name, role: None, bytes, table: None });
        }
        let Manifest { name, role, .. } = Manifest::read(path)?;
        let component = path.join(format!("{name}.wasm"));
        let bytes = read_component(&component)?;
        Ok(Project { name, role: Some(role), bytes, table: Some(path.join(TABLE)) })
    }
}

/// Reads a file of a person's as text.
pub(super) fn read_text(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let bytes = read_capped(path, TEXT_BYTES).with_context(|| format!("cannot read `{shown}`"))?;
    String::from_utf8(bytes).map_err(|_| anyhow!("`{shown}` is not UTF-8"))
}

fn read_component(path: &Path) -> anyhow::Result<Vec<u8>> {
    let shown = path.display();
    read_capped(path, FILE_BYTES as u64).map_err(|err| match err.kind() {
        ErrorKind::NotFound => anyhow!(
            "there is no component `{shown}`\nhint: build the plugin first; the build leaves it there"
        ),
        _ => anyhow!("cannot read the component `{shown}`: {err}"),
    })
}
