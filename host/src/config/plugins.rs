//! `[plugin.NAME]`: read from the file, and what other settings hand over to a default plugin.
//!
//! Knows the names of the default plugins, so that a slip of the pen cannot leave one of them in
//! force that was meant to be switched off. Loads nothing.

mod fetch;

use std::path::PathBuf;

use serde_json::Value as Json;

use super::file::{list_or, texts};
use super::keys::Key;
use super::layers::{Origin, Settings};
use super::{Kind, PluginConfig};
use crate::nearest::nearest;

/// What a plugin's table may hold.
const FIELDS: [&str; 7] =
    ["path", "grants", "config", "enabled", "fetch", "fetch_private", "credentials"];

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
                    let plugin = self.plugin(&place, fields);
                    self.plugins.insert(name, plugin);
                }
                other => {
                    let got = list_or(other.type_str());
                    self.problem(&place, format!("expected a table, got {got}"));
                }
            }
        }
    }

    fn plugin(&mut self, place: &str, fields: toml::Table) -> PluginConfig {
        let mut plugin = PluginConfig::default();
        for (field, value) in fields {
            if fetch::FIELDS.contains(&field.as_str()) {
                self.take_fetch(place, &field, value, &mut plugin.reach);
                continue;
            }
            let got = list_or(value.type_str());
            let expected = match (field.as_str(), value) {
                ("path", toml::Value::String(text)) => {
                    plugin.path = Some(PathBuf::from(text));
                    continue;
                }
                ("path", _) => "a path",
                ("grants", toml::Value::Array(members)) => {
                    plugin.grants = texts(members);
                    match plugin.grants {
                        Some(_) => continue,
                        None => "a list of texts",
                    }
                }
                ("grants", _) => "a list of texts",
                ("config", toml::Value::Table(table)) => {
                    plugin.config = object(table);
                    continue;
                }
                ("config", _) => "a table",
                ("enabled", toml::Value::Boolean(flag)) => {
                    plugin.enabled = Some(flag);
                    continue;
                }
                ("enabled", _) => "`true` or `false`",
                _ => {
                    let near = nearest(&field, FIELDS.into_iter());
                    let hint = near.map(|near| format!(", did you mean `{near}`?"));
                    let fields = FIELDS.join("`, `");
                    self.problem(
                        place,
                        format!("`{field}` is none of `{fields}`{}", hint.unwrap_or_default()),
                    );
                    continue;
                }
            };
            self.problem(place, format!("`{field}`: expected {expected}, got {got}"));
        }
        plugin
    }

    /// Checks names and paths, and hands settings over; last, because the home directory and the
    /// settings come from every layer.
    pub(super) fn finish_plugins(&mut self, environment: &[(String, String)]) {
        self.check_plugins();
        self.fill_credentials(environment);
        if self.text("shell.enabled") == "false" {
            self.plugins.entry(SHELL.to_owned()).or_default().enabled = Some(false);
        }
        self.hand_over_timeout();
        self.hand_over_denied();
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
                None => {
                    let near =
                        nearest(name, harness_bundle::PLUGINS.iter().map(|known| known.name));
                    let hint = match near {
                        Some(near) => format!("did you mean `{near}`?"),
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

fn is_default(name: &str) -> bool {
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
