//! Where plugins come from: the bundle, and the files that the configuration names or that lie in
//! its directory.
//!
//! A source is bytes with a name and what was configured for it. Nothing is compiled here, and
//! nothing judged but that the bytes are those whose digest was pinned.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use bytes::Bytes;
use harness_bundle as bundle;
use wasmtime::component::Component;

use super::anatomy::Anatomy;
use super::load::{LoadError, Role};
use crate::config::{Found, PluginConfig};

/// Where a default plugin comes from.
pub(super) const BUILT_IN: &str = "built in";

/// A plugin to load.
pub struct Source {
    pub(super) name: String,
    /// `built in`, or the path.
    pub(super) origin: String,
    /// What it must be; None where it may be anything.
    pub(super) role: Option<Role>,
    pub(super) kind: Kind,
    pub(super) bytes: Result<Bytes, LoadError>,
    /// `blake3:` and the digest of the bytes; None where there are none.
    pub(super) digest: Option<String>,
    pub(super) config: PluginConfig,
    /// The same, where it was compiled already.
    pub(super) compiled: Option<Component>,
}

/// What the bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A component.
    Component,
    /// One profile's quirk table, as TOML.
    Table,
}

impl Source {
    /// What the configuration asks for: the bundle, less what is disabled, and files. `read` reads
    /// a file.
    pub fn all(
        configured: &BTreeMap<String, PluginConfig>,
        mut read: impl FnMut(&Path) -> io::Result<Vec<u8>>,
    ) -> Vec<Source> {
        let mut names: Vec<&str> = bundle::PLUGINS.iter().map(|plugin| plugin.name).collect();
        names.extend(configured.keys().map(String::as_str).filter(|name| built_in(name).is_none()));
        let configs = names.into_iter().map(|name| {
            let config = configured.get(name).cloned().unwrap_or_default();
            (name, config)
        });
        let enabled = configs.filter(|(_, config)| config.enabled != Some(false));
        enabled.map(|(name, config)| Source::new(name, config, &mut read)).collect()
    }

    /// One plugin of that name, as it was configured.
    pub fn new(
        name: &str,
        config: PluginConfig,
        read: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> Source {
        let plugin = built_in(name);
        let (origin, bytes) = match (&config.path, plugin) {
            (Some(path), _) => {
                let shown = path.display().to_string();
                let unreadable = |source| LoadError::Unreadable { path: shown.clone(), source };
                (shown.clone(), read(path).map(Bytes::from).map_err(unreadable))
            }
            (None, Some(plugin)) => (BUILT_IN.to_owned(), Ok(Bytes::from_static(plugin.bytes))),
            (None, None) => ("nowhere".to_owned(), Err(LoadError::Unknown(name.to_owned()))),
        };
        let is_table = config.path.as_deref().is_some_and(is_table);
        let of_profiles = is_table || config.found == Some(Found::Profiles);
        let role = plugin.map(|plugin| match plugin.role {
            bundle::Role::Tool => Role::Tool,
            bundle::Role::Guard => Role::Guard,
            bundle::Role::Profile => Role::Profile,
        });
        let found = bytes.as_ref().ok().map(|bytes| digest(bytes));
        let bytes = bytes.and_then(|bytes| match (&config.digest, &found) {
            (Some(pinned), Some(found)) if pinned != found => {
                Err(LoadError::Digest { pinned: pinned.clone(), found: found.clone() })
            }
            _ => Ok(bytes),
        });
        Source {
            name: name.to_owned(),
            origin,
            role: role.or(of_profiles.then_some(Role::Profile)),
            kind: if is_table { Kind::Table } else { Kind::Component },
            digest: found.filter(|_| bytes.is_ok()),
            bytes,
            config,
            compiled: None,
        }
    }

    /// One component that was read already, under this name.
    pub fn of(anatomy: &Anatomy, name: &str, config: PluginConfig) -> Source {
        Source {
            name: name.to_owned(),
            origin: "a file".to_owned(),
            role: None,
            kind: Kind::Component,
            digest: Some(digest(&anatomy.file)),
            bytes: Ok(anatomy.file.clone()),
            config,
            compiled: Some(anatomy.component.clone()),
        }
    }

    /// What it is granted: what is configured, or what a default plugin has by default.
    pub(super) fn grants(&self) -> Vec<String> {
        if let Some(grants) = &self.config.grants {
            return grants.clone();
        }
        let powers: &[&str] = match self.name.as_str() {
            _ if self.config.path.is_some() => &[],
            "files" => &["workspace-read", "workspace-write"],
            "search" => &["workspace-read"],
            "shell" => &["process"],
            _ => &[],
        };
        powers.iter().map(|power| (*power).to_owned()).collect()
    }
}

/// The digest by which a plugin's file is pinned.
pub fn digest(bytes: &[u8]) -> String {
    format!("blake3:{}", blake3::hash(bytes).to_hex())
}

fn is_table(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "toml")
}

fn built_in(name: &str) -> Option<&'static bundle::Plugin> {
    bundle::PLUGINS.iter().find(|plugin| plugin.name == name)
}
