//! `harness config`: what is in force, and where each value came from.
//!
//! One line for each setting in the order of the table, then plugins, then what is wrong or odd.
//! Starts nothing; a secret is only said to be set.

#![expect(clippy::print_stdout, reason = "the settings are the command's output")]

use anyhow::bail;

use super::boot;
use super::flags::{Configured, settings};
use crate::config::{Key, PluginConfig, PluginLimits, Setting, Settings};
use crate::servers::Entry;

/// Prints the settings.
pub(super) fn run(flags: &Configured) -> anyhow::Result<()> {
    let (settings, environment) = settings(flags)?;
    let redactor = boot::redactor(settings.secrets(), &environment);
    for (key, setting) in settings.iter() {
        println!("{}", redactor.redact(&line(&settings, key, setting)));
    }
    for (name, plugin) in settings.plugins() {
        println!("{}", redactor.redact(&plugin_line(name, plugin)));
    }
    let problems = settings.check().err().unwrap_or_default();
    for problem in &problems {
        println!("{}", redactor.redact(&format!("problem: {problem}")));
    }
    for warning in settings.warnings() {
        println!("{}", redactor.redact(&format!("warning: {warning}")));
    }
    match problems.len() {
        0 => Ok(()),
        count => bail!("the configuration has {count} problem(s)"),
    }
}

fn line(settings: &Settings, key: &Key, setting: Option<&Setting>) -> String {
    let name = key.name;
    match setting {
        Some(Setting { texts, origin }) if !texts.is_empty() => {
            format!("{name:<28} {}  ({origin})", key.kind.shown(texts))
        }
        // These two follow from others when nobody set them.
        _ => match (name, settings.state_dir()) {
            ("state.dir", Some(dir)) => format!("{name:<28} {}  (default)", dir.display()),
            ("workspace.root", Some(dir)) => {
                format!("{name:<28} {}  (default)", dir.join("workspaces").display())
            }
            _ => format!("{name:<28} not set"),
        },
    }
}

/// Names of the plugin's own settings without their values: any of them may be a secret.
fn plugin_line(name: &str, plugin: &PluginConfig) -> String {
    let mut said = Vec::new();
    said.extend(plugin.path.as_ref().map(|path| format!("path {}", path.display())));
    said.extend(plugin.digest.as_ref().map(|digest| format!("digest {digest}")));
    said.extend(plugin.grants.as_ref().map(|grants| format!("grants {grants:?}")));
    let scopes = [("read", &plugin.read), ("write", &plugin.write), ("tools", &plugin.tools)];
    for (field, globs) in scopes {
        said.extend(globs.as_ref().map(|globs| format!("{field} {:?}", globs.patterns())));
    }
    let lists = [("run", &plugin.run), ("effects", &plugin.effects)];
    for (field, list) in lists {
        said.extend(list.as_ref().map(|list| format!("{field} {list:?}")));
    }
    if !plugin.replaces.is_empty() {
        said.push(format!("replaces {:?}", plugin.replaces));
    }
    if !plugin.config.is_empty() {
        let names: Vec<&str> = plugin.config.keys().map(String::as_str).collect();
        said.push(format!("config of {}", names.join(", ")));
    }
    if plugin.limits != PluginLimits::default() {
        said.push("limits of its own".to_owned());
    }
    said.extend(plugin.enabled.map(|enabled| format!("enabled {enabled}")));
    let hosts =
        |entries: &[Entry]| entries.iter().map(Entry::to_string).collect::<Vec<_>>().join(", ");
    if !plugin.servers.hosts.is_empty() {
        said.push(format!("fetch {}", hosts(&plugin.servers.hosts)));
    }
    if !plugin.servers.private_hosts.is_empty() {
        said.push(format!("fetch_private {}", hosts(&plugin.servers.private_hosts)));
    }
    let credentials = plugin.servers.credentials.iter();
    said.extend(credentials.map(|(name, it)| format!("credential {name} for {}", it.entry)));
    if said.is_empty() {
        said.push("nothing set".to_owned());
    }
    format!("{:<28} {}", format!("plugin.{name}"), said.join("; "))
}
