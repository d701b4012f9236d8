//! The table of one plugin: field by field, every problem of it at once.
//!
//! A limit that cannot be read is a problem, never "no limit", and so is one that bounds nothing.
//! Pure; globs and hosts are read here already, so that a slip is told before anything runs.

use std::path::PathBuf;

use harness_jail::Globs;

use super::super::file::{list_or, texts};
use super::super::{PluginConfig, PluginLimits};
use super::{fetch, object};
use crate::nearest::nearest;
use crate::wit::EFFECTS;

/// What a plugin's table may hold.
pub const PLUGIN_FIELDS: [&str; 15] = [
    "path",
    "digest",
    "grants",
    "read",
    "write",
    "run",
    "fetch",
    "fetch_private",
    "credentials",
    "config",
    "limits",
    "enabled",
    "replaces",
    "tools",
    "effects",
];

/// What `limits` may hold, and the range of each.
const LIMITS: [(&str, u64, u64); 3] =
    [("memory_mb", 1, 4_096), ("fuel_millions", 1, 1_000_000), ("seconds", 1, 3_600)];

/// Reads one table; what is wrong with it is told to `problem`.
pub(super) fn read(fields: toml::Table, mut problem: impl FnMut(String)) -> PluginConfig {
    let mut plugin = PluginConfig::default();
    for (field, value) in fields {
        if fetch::FIELDS.contains(&field.as_str()) {
            fetch::read(&mut plugin.servers, &field, value, &mut problem);
            continue;
        }
        let got = list_or(value.type_str());
        if let Err(wrong) = set(&mut plugin, &field, value) {
            problem(match wrong {
                Wrong::Expected(expected) => format!("`{field}`: expected {expected}, got {got}"),
                Wrong::Said(what) => format!("`{field}`: {what}"),
                Wrong::Unknown => {
                    let near = nearest(&field, PLUGIN_FIELDS.into_iter());
                    let hint = near.map(|near| format!(", did you mean `{near}`?"));
                    let fields = PLUGIN_FIELDS.join("`, `");
                    format!("`{field}` is none of `{fields}`{}", hint.unwrap_or_default())
                }
            });
        }
    }
    for (narrowing, power) in narrowings(&plugin) {
        let is_granted = |grants: &Vec<String>| grants.iter().any(|grant| grant == power);
        // A default plugin's grants stand elsewhere, and are not narrowed by a slip.
        if plugin.grants.as_ref().is_some_and(|grants| !is_granted(grants)) {
            problem(format!("`{narrowing}` narrows `{power}`, which is not in `grants`"));
        }
    }
    plugin
}

/// The fields that narrow a power, and which.
fn narrowings(plugin: &PluginConfig) -> impl Iterator<Item = (&'static str, &'static str)> {
    let said = [
        (plugin.read.is_some(), "read", "workspace-read"),
        (plugin.write.is_some(), "write", "workspace-write"),
        (plugin.run.is_some(), "run", "process"),
    ];
    said.into_iter().filter(|(is_said, ..)| *is_said).map(|(_, field, power)| (field, power))
}

enum Wrong {
    Expected(&'static str),
    Said(String),
    Unknown,
}

fn set(plugin: &mut PluginConfig, field: &str, value: toml::Value) -> Result<(), Wrong> {
    match field {
        "path" => plugin.path = Some(PathBuf::from(text(value, "a path")?)),
        "digest" => plugin.digest = Some(digest(&text(value, "a digest")?)?),
        "grants" => plugin.grants = Some(list(value)?),
        "read" => plugin.read = Some(globs(value)?),
        "write" => plugin.write = Some(globs(value)?),
        "run" => plugin.run = Some(programs(value)?),
        "config" => match value {
            toml::Value::Table(table) => plugin.config = object(table),
            _ => return Err(Wrong::Expected("a table")),
        },
        "limits" => match value {
            toml::Value::Table(table) => plugin.limits = limits(table)?,
            _ => return Err(Wrong::Expected("a table")),
        },
        "enabled" => match value {
            toml::Value::Boolean(flag) => plugin.enabled = Some(flag),
            _ => return Err(Wrong::Expected("`true` or `false`")),
        },
        "replaces" => plugin.replaces = list(value)?,
        "tools" => plugin.tools = Some(names(value)?),
        "effects" => plugin.effects = Some(effects(value)?),
        _ => return Err(Wrong::Unknown),
    }
    Ok(())
}

fn text(value: toml::Value, expected: &'static str) -> Result<String, Wrong> {
    match value {
        toml::Value::String(text) => Ok(text),
        _ => Err(Wrong::Expected(expected)),
    }
}

fn list(value: toml::Value) -> Result<Vec<String>, Wrong> {
    let members = match value {
        toml::Value::Array(members) => texts(members),
        _ => None,
    };
    members.ok_or(Wrong::Expected("a list of texts"))
}

/// The digest of a file, as `harness plugin list` prints it.
fn digest(text: &str) -> Result<String, Wrong> {
    let hex = text.strip_prefix("blake3:").filter(|hex| hex.len() == 64);
    let is_hex = |hex: &str| hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match hex {
        Some(hex) if is_hex(hex) => Ok(text.to_owned()),
        _ => Err(Wrong::Said(
            "expected `blake3:` and 64 digits of 0-9 and a-f, as `harness plugin list` prints it"
                .to_owned(),
        )),
    }
}

fn globs(value: toml::Value) -> Result<Globs, Wrong> {
    Globs::parse(&list(value)?).map_err(Wrong::Said)
}

/// Programs by their bare names: a path could lead to a file that a model wrote.
fn programs(value: toml::Value) -> Result<Vec<String>, Wrong> {
    let programs = list(value)?;
    let is_path = |name: &&String| name.is_empty() || name.contains('/');
    match programs.iter().find(is_path) {
        Some(name) => Err(Wrong::Said(format!("`{name}` must be a program's bare name"))),
        None => Ok(programs),
    }
}

/// Names of tools, as globs.
fn names(value: toml::Value) -> Result<Globs, Wrong> {
    refuse_none(&value)?;
    Globs::parse(&list(value)?).map_err(Wrong::Said)
}

/// A guard that is asked about nothing is none, and is switched off in so many words.
fn refuse_none(value: &toml::Value) -> Result<(), Wrong> {
    match value.as_array() {
        Some(members) if members.is_empty() => Err(Wrong::Said(
            "expected at least one; a guard that is to judge nothing has `enabled = false`"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

fn effects(value: toml::Value) -> Result<Vec<String>, Wrong> {
    refuse_none(&value)?;
    let effects = list(value)?;
    match effects.iter().find(|effect| !EFFECTS.iter().any(|(known, _)| known == effect)) {
        Some(unknown) => Err(Wrong::Said(format!(
            "`{unknown}` is not an effect, expected any of `{}`",
            EFFECTS.map(|(known, _)| known).join("`, `")
        ))),
        None => Ok(effects),
    }
}

fn limits(table: toml::Table) -> Result<PluginLimits, Wrong> {
    let mut limits = PluginLimits::default();
    for (name, value) in table {
        let Some((_, least, most)) = LIMITS.iter().find(|(known, ..)| *known == name) else {
            let known: Vec<&str> = LIMITS.iter().map(|(known, ..)| *known).collect();
            let known = known.join("`, `");
            return Err(Wrong::Said(format!("`{name}` is none of `{known}`")));
        };
        let whole = value.as_integer().and_then(|number| u64::try_from(number).ok());
        let number = whole.filter(|number| (least..=most).contains(&number)).ok_or_else(|| {
            Wrong::Said(format!(
                "`{name}`: expected a whole number from {least} to {most}, got {value}"
            ))
        })?;
        match name.as_str() {
            "memory_mb" => limits.memory_bytes = usize::try_from(number << 20).ok(),
            "fuel_millions" => limits.fuel = Some(number * 1_000_000),
            _ => limits.seconds = u32::try_from(number).ok(),
        }
    }
    Ok(limits)
}
