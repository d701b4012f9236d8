//! Layers to settings, settings to [`Config`].
//!
//! A later layer wins: defaults, file, environment, flags. Every problem of every layer is
//! collected before anything is refused, because a person who can mend only one at a time starts
//! a server ten times. Pure: text in, values out.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use super::keys::{KEYS, Key, Kind};
use super::{Budget, Config, LedgerSync, PluginConfig, UpstreamConfig};
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
    /// As typed.
    pub text: String,
    /// The layer that won.
    pub origin: Origin,
}

/// Something wrong in a layer.
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
    values: BTreeMap<&'static str, Setting>,
    plugins: BTreeMap<String, PluginConfig>,
    ignored_variables: Vec<String>,
    home: Option<PathBuf>,
    state_home: Option<PathBuf>,
    problems: Vec<Problem>,
}

impl Settings {
    /// Merges the layers. Problems are kept for [`Settings::check`].
    pub fn merge(layers: &Layers) -> Settings {
        let mut settings = Settings::default();
        for key in KEYS {
            if let Some(text) = key.default {
                settings.set(key, text.to_owned(), Origin::Default);
            }
        }
        if let Some((name, text)) = &layers.file {
            settings.merge_file(name, text);
        }
        for (name, value) in &layers.environment {
            settings.merge_variable(name, value);
        }
        for (name, value) in &layers.flags {
            if let Some(key) = find(name) {
                settings.set(key, value.clone(), Origin::Flag);
            }
        }
        settings.check_plugin_paths();
        if settings.text("shell.enabled") == "false" {
            settings.plugins.entry("shell".to_owned()).or_default().enabled = Some(false);
        }
        settings
    }

    /// Each setting with its value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Key, Option<&Setting>)> {
        KEYS.iter().map(|key| (key, self.values.get(key.name)))
    }

    /// `HARNESS_*` variables that mean nothing. A warning, no more: orchestrators inject such names.
    pub fn ignored_variables(&self) -> &[String] {
        &self.ignored_variables
    }

    /// What is wrong with the layers themselves; [`Settings::check`] tells these and more.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// `[plugin.NAME]` of every name.
    pub fn plugins(&self) -> &BTreeMap<String, PluginConfig> {
        &self.plugins
    }

    /// Where state lies; None when there is not even a home directory.
    pub fn state_dir(&self) -> Option<PathBuf> {
        self.path("state.dir").or_else(|| {
            let local = || self.home.as_ref().map(|home| home.join(".local/state"));
            self.state_home.clone().or_else(local).map(|dir| dir.join("harness"))
        })
    }

    /// The configuration in force.
    ///
    /// # Errors
    ///
    /// Every problem of every layer.
    pub fn check(&self) -> Result<Config, Vec<Problem>> {
        let mut problems = self.problems.clone();
        for (key, setting) in self.iter() {
            match setting {
                Some(setting) => {
                    if let Err(message) = key.kind.check(&setting.text) {
                        let place = format!("{} ({})", key.name, setting.origin);
                        problems.push(Problem { place, message });
                    }
                }
                None if REQUIRED.contains(&key.name) => problems.push(Problem {
                    place: key.name.to_owned(),
                    message: format!("not set; set it in the file or as `{}`", key.variable()),
                }),
                None => {}
            }
        }
        match self.state_dir() {
            Some(state_dir) if problems.is_empty() => Ok(self.config(state_dir)),
            Some(_) => Err(problems),
            None => {
                problems.push(Problem {
                    place: "state.dir".to_owned(),
                    message: "not set, and there is no `HOME` to put it under".to_owned(),
                });
                Err(problems)
            }
        }
    }

    fn set(&mut self, key: &'static Key, text: String, origin: Origin) {
        self.values.insert(key.name, Setting { text, origin });
    }

    fn problem(&mut self, place: &str, message: String) {
        self.problems.push(Problem { place: place.to_owned(), message });
    }

    fn merge_variable(&mut self, name: &str, value: &str) {
        let key = match name {
            "HOME" => return self.home = Some(PathBuf::from(value)),
            "XDG_STATE_HOME" if value.starts_with('/') => {
                return self.state_home = Some(PathBuf::from(value));
            }
            "HARNESS_ADDR" => find("server.addr"),
            _ => KEYS.iter().find(|key| key.variable() == name),
        };
        match key {
            Some(key) => self.set(key, value.to_owned(), Origin::Environment(name.to_owned())),
            None if name.starts_with("HARNESS_") => self.ignored_variables.push(name.to_owned()),
            None => {}
        }
    }

    fn merge_file(&mut self, file: &str, text: &str) {
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(err) => {
                return self.problem(file, format!("not TOML: {}", without_source(text, &err)));
            }
        };
        for (section, value) in table {
            match value {
                toml::Value::Table(plugins) if section == "plugin" => self.merge_plugins(plugins),
                toml::Value::Table(fields) => {
                    for (field, value) in fields {
                        self.merge_value(file, &format!("{section}.{field}"), value);
                    }
                }
                value => self.merge_value(file, &section, value),
            }
        }
    }

    fn merge_value(&mut self, file: &str, name: &str, value: toml::Value) {
        let Some(key) = find(name) else {
            let near = nearest(name, KEYS.iter().map(|key| key.name));
            let hint = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
            return self.problem(file, format!("`{name}` is not a setting{hint}"));
        };
        let text = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            toml::Value::Boolean(flag) => flag.to_string(),
            other => {
                let message = format!("expected {}, got {}", key.kind.allowed(), other.type_str());
                return self.problem(name, message);
            }
        };
        self.set(key, text, Origin::File(file.to_owned()));
    }

    fn merge_plugins(&mut self, plugins: toml::Table) {
        for (name, value) in plugins {
            match value.try_into::<PluginConfig>() {
                Ok(plugin) => drop(self.plugins.insert(name, plugin)),
                Err(err) => self.problem(&format!("plugin.{name}"), err.message().to_owned()),
            }
        }
    }

    fn config(&self, state_dir: PathBuf) -> Config {
        Config {
            addr: self.parsed("server.addr"),
            max_body_bytes: self.parsed("server.max_body_bytes"),
            max_runs: self.parsed("server.max_runs"),
            upstream: UpstreamConfig {
                base_url: self.text("upstream.base_url").trim_end_matches('/').to_owned(),
                api_key: self.optional("upstream.api_key"),
                model: self.text("upstream.model").to_owned(),
                profile: self.optional("upstream.profile"),
            },
            budget: Budget {
                max_turns: self.parsed("agent.max_turns"),
                max_time: Duration::from_secs(self.parsed("agent.max_seconds")),
                max_total_tokens: self.parsed("agent.max_total_tokens"),
            },
            parallel_reads: self.parsed("agent.parallel_reads"),
            workspace_root: self.path("workspace.root"),
            workspace_roots: Vec::new(),
            busy: super::Busy::Refuse,
            keep_days: 30,
            tokens: Vec::new(),
            state_dir,
            ledger_sync: match self.text("ledger.sync") {
                "full" => LedgerSync::Full,
                _ => LedgerSync::Normal,
            },
            plugins: self.plugins.clone(),
        }
    }

    fn text(&self, name: &str) -> &str {
        self.values.get(name).map(|setting| setting.text.as_str()).unwrap_or_default()
    }

    fn optional(&self, name: &str) -> Option<String> {
        self.values.get(name).map(|setting| setting.text.clone())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.values.get(name).map(|setting| self.expand(&setting.text))
    }

    /// `~/` is the home directory.
    fn expand(&self, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        }
    }

    /// Checks the plugins' paths; last, because the home directory comes from the environment.
    fn check_plugin_paths(&mut self) {
        let mut plugins = std::mem::take(&mut self.plugins);
        for (name, plugin) in &mut plugins {
            let Some(path) = &plugin.path else { continue };
            let text = path.to_string_lossy();
            match Kind::Path.check(&text) {
                Ok(()) => plugin.path = Some(self.expand(&text)),
                Err(message) => self.problem(&format!("plugin.{name}.path"), message),
            }
        }
        self.plugins = plugins;
    }

    /// Only for numbers, flags and addresses that [`Settings::check`] passed.
    fn parsed<T: std::str::FromStr>(&self, name: &str) -> T {
        match self.text(name).parse() {
            Ok(value) => value,
            Err(_) => unreachable!("`{name}` was checked against its kind before"),
        }
    }
}

/// Settings without a default that nothing can do without.
const REQUIRED: [&str; 2] = ["upstream.base_url", "upstream.model"];

fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// A parser's error without the line it quotes: that line may hold a key.
fn without_source(text: &str, err: &toml::de::Error) -> String {
    let before = err.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => {
            format!("line {}: {}", before.matches('\n').count() + 1, err.message())
        }
        None => err.message().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Layers, Settings};

    fn check(file: &str, environment: &[(&str, &str)], expected: Result<&str, &[&str]>) {
        let mut pairs = vec![
            ("HOME", "/home/ada"),
            ("HARNESS_UPSTREAM_BASE_URL", "http://127.0.0.1:9/v1/"),
            ("HARNESS_UPSTREAM_MODEL", "m"),
        ];
        pairs.extend(environment);
        let layers = Layers {
            file: Some(("harness.toml".to_owned(), file.to_owned())),
            environment: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            flags: Vec::new(),
        };
        let got = Settings::merge(&layers).check();
        match (got, expected) {
            (Ok(config), Ok(fragment)) => {
                let shown = format!("{config:?}");
                assert!(shown.contains(fragment), "no `{fragment}` in {shown}");
            }
            (Err(problems), Err(fragments)) => {
                let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
                assert_eq!(shown.len(), fragments.len(), "{shown:?}");
                for (problem, fragment) in shown.iter().zip(fragments) {
                    assert!(problem.contains(fragment), "no `{fragment}` in `{problem}`");
                    assert!(!problem.contains("sk-live"), "`{problem}`");
                }
            }
            (got, expected) => panic!("{file}: expected {expected:?}, got {got:?}"),
        }
    }

    #[test]
    fn layers_and_problems() {
        check("", &[], Ok("max_turns: 50"));
        check("", &[], Ok("base_url: \"http://127.0.0.1:9/v1\""));
        check("", &[], Ok("state_dir: \"/home/ada/.local/state/harness\""));
        check("", &[("XDG_STATE_HOME", "/s")], Ok("state_dir: \"/s/harness\""));
        check("[state]\ndir = \"~/h\"", &[], Ok("state_dir: \"/home/ada/h\""));
        check("[agent]\nmax_turns = 7", &[], Ok("max_turns: 7"));
        check("[agent]\nmax_turns = 7", &[("HARNESS_AGENT_MAX_TURNS", "8")], Ok("max_turns: 8"));
        check("", &[("HARNESS_ADDR", "127.0.0.1:1")], Ok("addr: 127.0.0.1:1"));
        check("", &[("HARNESS_UPSTREAM_API_KEY", "k-secret")], Ok("api_key: Some(\"…\")"));
        check("[plugin.mine]\npath = \"/p.wasm\"", &[], Ok("path: Some(\"/p.wasm\")"));
        check(
            "[agent]\nmax_turn = 7\nmax_seconds = 0",
            &[("HARNESS_ADDR", "0.0.0.0:80")],
            Err(&[
                "did you mean `agent.max_turns`",
                "loopback `IP:PORT`",
                "from 1 to 86400, got `0`",
            ]),
        );
        check("[plugin.mine]\npaht = \"x\"", &[], Err(&["plugin.mine: unknown field `paht`"]));
        check("nonsense", &[], Err(&["harness.toml: not TOML: line 1"]));
        // No quotes: the parser would show the line, and the key in it.
        check("[upstream]\napi_key = sk-live", &[], Err(&["not TOML: line 2"]));
        check("[plugin.mine]\npath = \"p.wasm\"", &[], Err(&["plugin.mine.path: expected an abs"]));
        check("[plugin.mine]\npath = \"~/p\"", &[], Ok("path: Some(\"/home/ada/p\")"));
        check("[upstream]\napi_key = \"\"", &[], Err(&["got none"]));
    }
}
