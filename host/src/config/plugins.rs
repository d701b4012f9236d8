//! `[plugin.NAME]`: read from the file, and what other settings hand over to a default plugin.
//!
//! Knows the names of the default plugins, so that a slip of the pen cannot leave one of them in
//! force that was meant to be switched off. Loads nothing.

mod fetch;
mod table;

pub use table::PLUGIN_FIELDS;

use std::path::PathBuf;

use serde_json::Value as Json;

use super::file::list_or;
use super::keys::Key;
use super::layers::{Origin, Settings};
use super::{Found, Kind};
use crate::nearest::nearest;

/// The plugin that runs commands.
const SHELL: &str = "shell";

/// The guard that refuses commands.
const DENYLIST: &str = "denylist";

impl Settings {
    /// Takes every `[plugin.NAME]` of the file.
    pub(super) fn merge_plugins(&mut self, file: &str, plugins: toml::Table) {
        for (name, value) in plugins {
            let place = format!("plugin.{name} ({})", Origin::File(file.to_owned()));
            match value {
                toml::Value::Table(fields) => {
                    let plugin = table::read(fields, |message| self.problem(&place, message));
                    self.plugins.insert(name, plugin);
                }
                other => {
                    let got = list_or(other.type_str());
                    self.problem(&place, format!("expected a table, got {got}"));
                }
            }
        }
    }

    /// Checks names and paths, and hands settings over; last, because the home directory and the
    /// settings come from every layer.
    pub(super) fn finish_plugins(
        &mut self,
        found: &[(Found, PathBuf)],
        environment: &[(String, String)],
    ) {
        self.take_found(found);
        self.check_plugins();
        self.fill_credentials(environment);
        if self.text("shell.enabled") == "false" {
            self.plugins.entry(SHELL.to_owned()).or_default().enabled = Some(false);
        }
        self.hand_over_timeout();
        self.hand_over_denied();
    }

    /// Files of the configuration directory: each is a plugin of its name, with the table of that
    /// name if there is one. A table with a path of its own stands for itself.
    fn take_found(&mut self, found: &[(Found, PathBuf)]) {
        for (place, path) in found {
            let shown = path.display().to_string();
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|it| is_name(it));
            let Some(name) = name else {
                let message = "a plugin's file is named by 1 to 64 of a-z, A-Z, 0-9, `_` and `-`";
                self.problem(&shown, message.to_owned());
                continue;
            };
            let named = self.plugins.get(name).and_then(|plugin| plugin.path.as_ref());
            match named.map(|named| self.expand(&named.to_string_lossy())) {
                Some(named) if named == *path => {}
                None if !is_default(name) => {
                    let plugin = self.plugins.entry(name.to_owned()).or_default();
                    plugin.path = Some(path.clone());
                    plugin.found = Some(*place);
                }
                // Passed over in silence, it could be a guard that somebody counts on.
                _ => {
                    let message = format!("there is another plugin `{name}`; rename this file");
                    self.problem(&shown, message);
                }
            }
        }
    }

    fn check_plugins(&mut self) {
        let mut plugins = std::mem::take(&mut self.plugins);
        for (name, plugin) in &mut plugins {
            match &plugin.path {
                Some(path) => {
                    let text = path.to_string_lossy().into_owned();
                    let place = format!("plugin.{name}.path");
                    let texts = [text];
                    let homeless = self.homeless(Kind::Path, &texts);
                    for message in Kind::Path.problems(&texts).into_iter().chain(homeless) {
                        self.problem(&place, message);
                    }
                    plugin.path = Some(self.expand(&texts[0]));
                }
                None if is_default(name) => {}
                // A guard that was removed: what pins is no slip of the pen for a default one.
                None if plugin.enabled == Some(false) && plugin.digest.is_some() => {}
                None => {
                    let near =
                        nearest(name, harness_bundle::PLUGINS.iter().map(|known| known.name));
                    let hint = match near {
                        Some(near) => format!("did you mean `{near}`?"),
                        // One that was found here once, and is to be gone for good.
                        None if plugin.enabled == Some(false) => continue,
                        None => "set its `path`".to_owned(),
                    };
                    let message = format!("no default plugin has this name, and no `path`; {hint}");
                    self.problem(&format!("plugin.{name}"), message);
                }
            }
        }
        self.plugins = plugins;
    }

    /// The time of a command to the plugin that runs it; what its own table says wins.
    fn hand_over_timeout(&mut self) {
        let Some(key) = Key::find("shell.timeout_seconds") else { return };
        let config = &mut self.plugins.entry(SHELL.to_owned()).or_default().config;
        match config.get(key.field()) {
            None => {
                // One that does not fit is told with the setting, and nothing is started then.
                if let Ok(seconds) = self.values[key.name].texts.concat().parse::<u64>() {
                    config.insert(key.field().to_owned(), seconds.into());
                }
            }
            Some(own) => {
                let shown = own.to_string();
                for message in key.kind.problems(&[shown]) {
                    self.problem("plugin.shell.config.timeout_seconds", message);
                }
            }
        }
    }

    /// Further denied commands to the guard that refuses them, before what its own table adds.
    fn hand_over_denied(&mut self) {
        let name = "deny";
        let mut denied: Vec<Json> =
            self.texts("guards.deny").iter().cloned().map(Json::String).collect();
        let own = self.plugins.get(DENYLIST).and_then(|plugin| plugin.config.get(name));
        match own {
            Some(Json::Array(own)) if own.iter().all(Json::is_string) => {
                denied.extend(own.iter().cloned());
            }
            Some(_) => {
                let message = "expected a list of texts, got something else".to_owned();
                return self.problem("plugin.denylist.config.deny", message);
            }
            None => {}
        }
        if !denied.is_empty() {
            let config = &mut self.plugins.entry(DENYLIST.to_owned()).or_default().config;
            config.insert(name.to_owned(), Json::Array(denied));
        }
    }
}

/// A name that can stand in a table's title, a file's name and a tool's.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

/// The name of a plugin that ships.
pub fn is_default(name: &str) -> bool {
    harness_bundle::PLUGINS.iter().any(|plugin| plugin.name == name)
}

fn object(table: toml::Table) -> serde_json::Map<String, Json> {
    table.into_iter().map(|(name, value)| (name, json(value))).collect()
}

/// TOML as JSON. What JSON has no form for, a date or a number that is none, goes as text.
fn json(value: toml::Value) -> Json {
    match value {
        toml::Value::String(text) => Json::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => match serde_json::Number::from_f64(number) {
            Some(number) => Json::Number(number),
            None => Json::String(number.to_string()),
        },
        toml::Value::Boolean(flag) => flag.into(),
        toml::Value::Datetime(time) => Json::String(time.to_string()),
        toml::Value::Array(members) => members.into_iter().map(json).collect(),
        toml::Value::Table(table) => Json::Object(object(table)),
    }
}
