//! `harness plugin remove`: takes a plugin out of the configuration, and its file from beside it.
//!
//! A server that runs refuses calls when the file of a guard is gone and nothing says that it should
//! be. So the plugin is switched off first; of a guard, which some server may not have noticed yet,
//! these two lines stay.

#![expect(clippy::print_stdout, reason = "what is taken away is the command's output")]

use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use clap::Args;
use harness_jail::read_capped;
use toml_edit::Value;

use super::agree::Word;
use super::offer::role_of;
use super::shelf::tables::{self, Change};
use super::shelf::{self, Shelf};
use crate::cli::boot;
use crate::config::{Found, PLUGIN_FIELDS, PluginConfig, is_default};
use crate::nearest::nearest;
use crate::plugin::{Engine, FILE_BYTES, Role, digest};

/// What to remove.
#[derive(Args)]
pub(crate) struct RemoveArgs {
    /// The plugin's name in the configuration
    name: String,
    /// Agree to what would be asked
    #[arg(long)]
    yes: bool,
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(args: RemoveArgs) -> anyhow::Result<()> {
    let RemoveArgs { name, yes, config } = args;
    if is_default(&name) {
        bail!(
            "`{name}` is a default plugin and has no file to remove\n\
             hint: to do without it, put `enabled = false` under `[plugin.{name}]`"
        );
    }
    let mut shelf = Shelf::open(config.as_deref())?;
    let table = shelf.table(&name).cloned().ok_or_else(|| unknown(&shelf, &name))?;
    let own = table.path.clone().filter(|path| shelf.holds(path));
    let out = tables::take_out(shelf.text(), &name)?;
    let off = match &own {
        Some(file) => Some((file.clone(), switched_off(&shelf, &name, &table, file)?)),
        None => None,
    };
    let is_missed = match &own {
        Some(file) => {
            table.found.is_some()
                && may_be_guard(&boot::engine(shelf.settings())?, &name, file).await
        }
        None => false,
    };
    let end = match &off {
        Some((_, off)) if is_missed => off,
        _ => &out,
    };
    println!("out of `{}`:", shelf.file().display());
    let redactor = boot::redactor(shelf.settings().secrets(), &[]);
    for line in tables::difference(shelf.text(), end) {
        println!("    {}", redactor.redact_owned(line));
    }
    match (&own, &table.path) {
        (Some(file), _) => println!("the file `{}` is removed", file.display()),
        (None, Some(file)) => println!("the file `{}` is not ours, and stays", file.display()),
        (None, None) => {}
    }
    if is_missed {
        println!(
            "two lines stay: a server that has not seen them would miss its guard, and refuse \
             every call\n`harness plugin remove {name}` takes them out too; servers look once a \
             second"
        );
    }
    let word = if yes { Word::Given } else { Word::Asked };
    if !word.agrees("remove it?")? {
        println!("nothing was changed");
        return Ok(());
    }
    let end = end.clone();
    if let Some((file, off)) = off {
        shelf.write(&off)?;
        shelf::take(&file)?;
    }
    shelf.write(&end)?;
    println!("`{name}` is removed");
    Ok(())
}

/// The configuration's text with nothing left of the plugin but that it is off.
fn switched_off(
    shelf: &Shelf,
    name: &str,
    table: &PluginConfig,
    file: &Path,
) -> anyhow::Result<String> {
    let there = read_capped(file, FILE_BYTES as u64).map(|bytes| digest(&bytes)).ok();
    let pinned = table.digest.clone().or(there).map(Value::from);
    let mut changes: Vec<Change> = PLUGIN_FIELDS.iter().map(|field| (*field, None)).collect();
    changes.retain(|(field, _)| !["digest", "enabled"].contains(field));
    changes.extend([("digest", pinned), ("enabled", Some(Value::from(false)))]);
    let text = tables::set(shelf.text(), name, &changes)?;
    // With its file there, and without.
    shelf.imagine(&text, (Found::Plugins, file))?;
    shelf.imagine_without(&text, file)?;
    Ok(text)
}

/// What cannot be read, or is no component, may have been a guard.
async fn may_be_guard(engine: &Engine, name: &str, file: &Path) -> bool {
    if file.extension().is_some_and(|ending| ending == "toml") {
        return false;
    }
    let Ok(bytes) = read_capped(file, FILE_BYTES as u64) else { return true };
    !matches!(role_of(engine, name, &bytes).await, Some(Role::Tool | Role::Profile))
}

fn unknown(shelf: &Shelf, name: &str) -> anyhow::Error {
    let names = shelf.settings().plugins().keys().map(String::as_str);
    let hint = match nearest(name, names.filter(|name| !is_default(name))) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`harness plugin list` shows which there are".to_owned(),
    };
    anyhow!("there is no plugin `{name}`\nhint: {hint}")
}
