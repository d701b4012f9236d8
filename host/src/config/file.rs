//! The file's layer: TOML to settings, every problem of it at once.
//!
//! An unknown name is an error, because a setting that is not read is a promise that is not kept.
//! Pure: the door read the file.

use super::keys::{KEYS, Key};
use super::layers::{Origin, Settings};
use crate::nearest::nearest;

/// The section that is no part of the table of settings.
const PLUGIN: &str = "plugin";

impl Settings {
    /// Takes what the file `file` says.
    pub(super) fn merge_file(&mut self, file: &str, text: &str) {
        let table: toml::Table = match text.parse() {
            Ok(table) => table,
            Err(err) => {
                return self.problem(file, format!("not TOML: {}", without_source(text, &err)));
            }
        };
        for (section, value) in table {
            match value {
                toml::Value::Table(plugins) if section == PLUGIN => {
                    self.merge_plugins(file, plugins);
                }
                toml::Value::Table(fields) if KEYS.iter().any(|key| key.section() == section) => {
                    for (field, value) in fields {
                        self.merge_value(file, &format!("{section}.{field}"), value);
                    }
                }
                toml::Value::Table(_) => {
                    let sections = KEYS.iter().map(Key::section).chain([PLUGIN]);
                    let near = nearest(&section, sections);
                    let hint = near.map(|near| format!(", did you mean `[{near}]`?"));
                    let hint = hint.unwrap_or_default();
                    self.problem(file, format!("`[{section}]` is not a section{hint}"));
                }
                value => self.merge_value(file, &section, value),
            }
        }
    }

    fn merge_value(&mut self, file: &str, name: &str, value: toml::Value) {
        let Some(key) = Key::find(name) else {
            let hint = meant(name).map(|near| format!(", did you mean `{near}`?"));
            let hint = hint.unwrap_or_default();
            return self.problem(file, format!("`{name}` is not a setting{hint}"));
        };
        let got = value.type_str();
        let texts = match (key.kind.separator(), value) {
            (Some(_), toml::Value::Array(members)) => texts(members),
            (None, toml::Value::String(text)) => Some(vec![text]),
            (None, toml::Value::Integer(number)) => Some(vec![number.to_string()]),
            (None, toml::Value::Boolean(flag)) => Some(vec![flag.to_string()]),
            _ => None,
        };
        let origin = Origin::File(file.to_owned());
        match (texts, key.kind.separator()) {
            (Some(texts), _) => self.set(key, texts, origin),
            (None, Some(_)) => {
                let message = format!("expected a list of texts, got {}", list_or(got));
                self.problem(&format!("{name} ({origin})"), message);
            }
            (None, None) => {
                let message = format!("expected {}, got {}", key.kind.allowed(), list_or(got));
                self.problem(&format!("{name} ({origin})"), message);
            }
        }
    }
}

/// The members of a list of texts; None when one of them is something else.
pub(super) fn texts(members: Vec<toml::Value>) -> Option<Vec<String>> {
    let text = |member| match member {
        toml::Value::String(text) => Some(text),
        _ => None,
    };
    members.into_iter().map(text).collect()
}

/// A type's name, for a message.
pub(super) fn list_or(got: &str) -> String {
    match got {
        "array" => "another list".to_owned(),
        got => format!("a value of type {got}"),
    }
}

/// The setting that somebody meant: the same field elsewhere before a name that looks alike.
fn meant(name: &str) -> Option<&'static str> {
    let field = name.rsplit('.').next().unwrap_or(name);
    let mut same_field = KEYS.iter().filter(|key| key.field() == field);
    match (same_field.next(), same_field.next()) {
        (Some(key), None) => Some(key.name),
        _ => nearest(name, KEYS.iter().map(|key| key.name)),
    }
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
