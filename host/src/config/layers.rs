//! The layers, merged into settings with their origins.
//!
//! A later layer wins: defaults, file, environment, flags. Every problem of every layer is
//! collected before anything is refused, because a person who can mend only one at a time starts
//! a server ten times. Pure: text in, values out. `file` and `plugins` read the file's layer,
//! `check` makes the configuration in force.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::keys::{KEYS, Key};
use super::{Found, Kind, PluginConfig};
use crate::nearest::nearest;

/// What the door read, before anything was checked.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// Name and text of the configuration file.
    pub file: Option<(String, String)>,
    /// The environment, whole.
    pub environment: Vec<(String, String)>,
    /// Flags, by the key they set.
    pub flags: Vec<(&'static str, String)>,
    /// What lies in the configuration directory's `plugins` and `profiles`.
    pub found: Vec<(Found, PathBuf)>,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Built in.
    Default,
    /// The named file.
    File(String),
    /// The named variable.
    Environment(String),
    /// A flag.
    Flag,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File(name) => write!(f, "file {name}"),
            Origin::Environment(name) => write!(f, "environment {name}"),
            Origin::Flag => f.write_str("flag"),
        }
    }
}

/// One value as typed, and where it came from.
#[derive(Clone, Debug)]
pub struct Setting {
    /// As typed: one text, but for a list.
    pub texts: Vec<String>,
    /// The layer that won.
    pub origin: Origin,
}

/// Something wrong in a layer; also a warning about one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct Problem {
    /// The key, or the file, it is in.
    pub place: String,
    /// What was expected and what came.
    pub message: String,
}

/// Every setting that has a value, by key.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(super) values: BTreeMap<&'static str, Setting>,
    pub(super) plugins: BTreeMap<String, PluginConfig>,
    pub(super) problems: Vec<Problem>,
    warnings: Vec<Problem>,
    openai_key: Option<String>,
    home: Option<PathBuf>,
    state_home: Option<PathBuf>,
}

impl Settings {
    /// Merges the layers. Problems are kept for [`Settings::check`].
    pub fn merge(layers: &Layers) -> Settings {
        let mut settings = Settings::default();
        for key in KEYS {
            if let Some(text) = key.default {
                settings.set(key, vec![text.to_owned()], Origin::Default);
            }
        }
        if let Some((name, text)) = &layers.file {
            settings.merge_file(name, text);
        }
        for (name, value) in &layers.environment {
            settings.merge_variable(name, value);
        }
        for (name, value) in &layers.flags {
            if let Some(key) = Key::find(name) {
                settings.set(key, vec![value.clone()], Origin::Flag);
            }
        }
        settings.take_openai_key();
        settings.finish_plugins(&layers.found, &layers.environment);
        settings
    }

    /// Many an environment has this key; it is nobody's but OpenAI's.
    fn take_openai_key(&mut self) {
        const KEY: &str = "upstream.api_key";
        let address = self.text("upstream.base_url").strip_prefix("https://").unwrap_or_default();
        let is_openai = address.split('/').next() == Some("api.openai.com");
        if !is_openai || self.values.contains_key(KEY) {
            return;
        }
        if let (Some(key), Some(setting)) = (self.openai_key.take(), Key::find(KEY)) {
            self.set(setting, vec![key], Origin::Environment("OPENAI_API_KEY".to_owned()));
        }
    }

    /// Each setting with its value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Key, Option<&Setting>)> {
        KEYS.iter().map(|key| (key, self.values.get(key.name)))
    }

    /// What is odd and changes nothing: a `HARNESS_*` variable that means nothing. No problem,
    /// because orchestrators inject such names.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// What is wrong with the layers themselves; [`Settings::check`] tells these and more.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// `[plugin.NAME]` of every name.
    pub fn plugins(&self) -> &BTreeMap<String, PluginConfig> {
        &self.plugins
    }

    /// Every secret among the values, so that nobody shows one by another way.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        let secret = self.iter().filter(|(key, _)| key.kind.is_secret());
        let own =
            secret.filter_map(|(_, setting)| setting).flat_map(|setting| setting.texts.clone());
        own.chain(self.plugins.values().flat_map(PluginConfig::secrets))
    }

    /// Where state lies; None when there is not even a home directory.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.path("state.dir").or_else(|| {
            let local = || self.home.as_ref().map(|home| home.join(".local/state"));
            self.state_home.clone().or_else(local).map(|dir| dir.join("harness"))
        })
    }

    /// Whether no command may run without walls, so that none reaches the state directory.
    pub fn keeps_state_closed(&self) -> bool {
        self.text("shell.allow_unsandboxed") != "true"
    }

    /// Takes a value, and tells what is wrong with it: also with one that a later layer replaces,
    /// because whoever wrote it expects something of it.
    pub(super) fn set(&mut self, key: &'static Key, texts: Vec<String>, origin: Origin) {
        for message in key.kind.problems(&texts) {
            self.problem(&format!("{} ({origin})", key.name), message);
        }
        self.values.insert(key.name, Setting { texts, origin });
    }

    pub(super) fn problem(&mut self, place: &str, message: String) {
        self.problems.push(Problem { place: place.to_owned(), message });
    }

    fn merge_variable(&mut self, name: &str, value: &str) {
        let key = match name {
            "OPENAI_API_KEY" if !value.trim().is_empty() => {
                return self.openai_key = Some(value.to_owned());
            }
            "HOME" if value.starts_with('/') => return self.home = Some(PathBuf::from(value)),
            "XDG_STATE_HOME" if value.starts_with('/') => {
                return self.state_home = Some(PathBuf::from(value));
            }
            SHORT_ADDR => Key::find("server.addr"),
            _ => KEYS.iter().find(|key| key.variable() == name),
        };
        let Some(key) = key else { return self.warn_of(name) };
        let texts = match key.kind.separator() {
            None => vec![value.to_owned()],
            // Whoever fills variables in leaves some empty: that must not undo the file's list, least
            // of all one of tokens.
            Some(_) if value.trim().is_empty() => {
                let message = "is empty, which counts as not set".to_owned();
                let place = format!("environment {name}");
                return self.warnings.push(Problem { place, message });
            }
            Some(separator) => value.split(separator).map(|text| text.trim().to_owned()).collect(),
        };
        if let Some(Setting { texts: others, origin: Origin::Environment(other) }) =
            self.values.get(key.name)
            && other != name
            && *others != texts
        {
            let message = format!("`{other}` and `{name}` differ; set one of them alone");
            self.problem(key.name, message);
        }
        self.set(key, texts, Origin::Environment(name.to_owned()));
    }

    /// Warns of a variable of ours that no setting has.
    fn warn_of(&mut self, name: &str) {
        let Some(rest) = name.strip_prefix(PREFIX) else { return };
        // Compared without what all of them begin with: that alone would make any two alike.
        let variables: Vec<String> = KEYS.iter().map(Key::variable).collect();
        let rests = variables.iter().filter_map(|name| name.strip_prefix(PREFIX));
        let near = nearest(rest, rests.chain(SHORT_ADDR.strip_prefix(PREFIX)));
        let hint = near.map(|near| format!(", did you mean `{PREFIX}{near}`?"));
        let message = format!("no setting has this name{}", hint.unwrap_or_default());
        self.warnings.push(Problem { place: format!("environment {name}"), message });
    }

    /// The texts of a value; none when it is not set.
    pub(super) fn texts(&self, name: &str) -> &[String] {
        self.values.get(name).map(|setting| setting.texts.as_slice()).unwrap_or_default()
    }

    /// The text of a value; empty when it is not set.
    pub(super) fn text(&self, name: &str) -> &str {
        self.texts(name).first().map(String::as_str).unwrap_or_default()
    }

    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.texts(name).first().map(|text| self.expand(text))
    }

    /// Whether a path starts at a home directory that is not known. Only after every layer was
    /// merged: one of them names it.
    pub(super) fn homeless(&self, kind: Kind, texts: &[String]) -> Option<String> {
        let is_homeless = kind.is_path()
            && self.home.is_none()
            && texts.iter().any(|text| text.starts_with("~/"));
        is_homeless.then(|| "`~/` is the home directory, and `HOME` names none".to_owned())
    }

    /// `~/` is the home directory.
    pub(super) fn expand(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        }
    }
}

/// What the variables of settings begin with.
const PREFIX: &str = "HARNESS_";

/// The one short name: most set-ups that set a variable at all set this one.
const SHORT_ADDR: &str = "HARNESS_ADDR";
