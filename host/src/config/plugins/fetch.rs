//! `fetch`, `fetch_private` and `credentials` of `[plugin.NAME]`: which servers it may ask.
//!
//! An entry is read here and never again. Whether the plugin was granted the power at all is found
//! out when it is loaded.

use crate::config::Settings;
use crate::config::file::{list_or, texts};
use crate::redact::MIN_SECRET_BYTES;
use crate::servers::{Credential, Entry, Host, Servers, is_public};

/// What is read here.
pub(super) const FIELDS: [&str; 3] = [FETCH, "fetch_private", "credentials"];

const FETCH: &str = "fetch";

/// What the table of a credential may hold.
const CREDENTIAL_FIELDS: [&str; 3] = ["env", "host", "header"];

/// Bytes of a credential's value.
const MOST_VALUE_BYTES: usize = 8 << 10;

/// Reads one of [`FIELDS`]; what is wrong with it is told to `problem`.
pub(super) fn read(
    servers: &mut Servers,
    field: &str,
    value: toml::Value,
    problem: &mut impl FnMut(String),
) {
    let got = list_or(value.type_str());
    let expected = match (field, value) {
        ("credentials", toml::Value::Table(table)) => {
            for (name, value) in table {
                match credential(value) {
                    Ok(credential) => drop(servers.credentials.insert(name, credential)),
                    Err(message) => problem(format!("`credentials.{name}`: {message}")),
                }
            }
            return;
        }
        ("credentials", _) => "a table of tables",
        (_, toml::Value::Array(members)) => match texts(members) {
            Some(texts) if field == FETCH => {
                return servers.hosts = entries(field, &texts, problem);
            }
            Some(texts) => return servers.private_hosts = entries(field, &texts, problem),
            None => "a list of texts",
        },
        _ => "a list of texts",
    };
    problem(format!("`{field}`: expected {expected}, got {got}"));
}

fn entries(field: &str, texts: &[String], problem: &mut impl FnMut(String)) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let read = Entry::parse(text).and_then(|entry| match entry.host() {
            Some(host) if field == FETCH && is_certainly_private(host) => {
                Err(format!("`{text}` is not public; put it into `fetch_private`"))
            }
            _ => Ok(entry),
        });
        match read {
            Ok(entry) => entries.push(entry),
            Err(message) => problem(format!("`{field}`: number {}: {message}", index + 1)),
        }
    }
    entries
}

fn credential(value: toml::Value) -> Result<Credential, String> {
    let mut fields = match value {
        toml::Value::Table(fields) => fields,
        other => return Err(format!("expected a table, got {}", list_or(other.type_str()))),
    };
    let mut text = |name: &str| match fields.remove(name) {
        None => Ok(None),
        Some(toml::Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("`{name}`: expected a text, got {}", list_or(other.type_str()))),
    };
    let [env, host, header] = CREDENTIAL_FIELDS.map(&mut text);
    if let Some(unknown) = fields.keys().next() {
        let known = CREDENTIAL_FIELDS.join("`, `");
        return Err(format!("`{unknown}` is none of `{known}`"));
    }
    let missing = |name: &str| format!("`{name}` is missing");
    let env = env?.filter(|env| !env.is_empty()).ok_or_else(|| missing("env"))?;
    let host = host?.ok_or_else(|| missing("host"))?;
    let entry = Entry::parse(&host).map_err(|message| format!("`host`: {message}"))?;
    if entry.host().is_none() {
        return Err(format!("`host`: expected one host, got `{host}`"));
    }
    let header = header?;
    if let Some(header) = header.as_deref().filter(|header| !is_header(header)) {
        return Err(format!(
            "`header`: expected the name of a header that is not about the connection, got `{header}`"
        ));
    }
    Ok(Credential::new(&env, entry, header.as_deref()))
}

impl Settings {
    /// Gives each credential its value.
    pub(super) fn fill_credentials(&mut self, environment: &[(String, String)]) {
        let mut plugins = std::mem::take(&mut self.plugins);
        for (plugin, config) in &mut plugins {
            for (name, credential) in &mut config.servers.credentials {
                let variable = credential.variable.as_str();
                let value = environment.iter().rev().find(|(name, _)| name == variable);
                let value = value.map(|(_, value)| value.trim()).unwrap_or_default();
                match value_problem(value) {
                    None => credential.value = value.to_owned(),
                    // One that is switched off needs nothing.
                    Some(_) if config.enabled == Some(false) => {}
                    Some(problem) => {
                        let place = format!("plugin.{plugin}.credentials.{name}");
                        self.problem(&place, format!("`env`: `{variable}` {problem}"));
                    }
                }
            }
        }
        self.plugins = plugins;
    }
}

/// What is wrong with the value of a variable; never shows it.
fn value_problem(value: &str) -> Option<String> {
    match value.len() {
        0 => Some("is not set in the environment".to_owned()),
        // Shorter ones could not be kept out of what is shown.
        size if !(MIN_SECRET_BYTES..=MOST_VALUE_BYTES).contains(&size) => Some(format!(
            "has {size} bytes, expected from {MIN_SECRET_BYTES} to {MOST_VALUE_BYTES}"
        )),
        _ if !value.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') => {
            Some("has a character that cannot stand in a header".to_owned())
        }
        _ => None,
    }
}

fn is_header(name: &str) -> bool {
    let is_name = http::HeaderName::from_bytes(name.as_bytes()).is_ok();
    is_name && !crate::servers::is_about_connection(&name.to_ascii_lowercase())
}

/// Whether it can be said without asking anybody.
fn is_certainly_private(host: &Host) -> bool {
    match host {
        Host::Address(address) => !is_public(*address),
        Host::Name(name) => name == "localhost" || name.ends_with(".localhost"),
    }
}
