//! `harness plugin new`: a small project that builds at the first try.
//!
//! Overwrites nothing and builds nothing; what the language still needs is named at the end.

#![expect(clippy::print_stdout, reason = "what was made is the command's output")]

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use harness_jail::make_project;

use super::language::Language;
use super::manifest::{self, check_name};
use super::toolchain::Place;
use crate::cli::search_path;
use crate::plugin::Role;

/// What to write.
#[derive(Args)]
pub(in crate::cli) struct NewArgs {
    /// tool, guard or profile
    #[arg(value_parser = manifest::role)]
    kind: Role,
    /// Of the plugin and of the folder: 1 to 64 of a-z, 0-9 and -
    name: String,
    /// rust, python, javascript, c or go
    #[arg(long, value_name = "LANGUAGE", value_parser = Language::parse)]
    lang: Language,
}

/// Runs the command.
pub(super) fn run(NewArgs { kind, name, lang }: &NewArgs) -> anyhow::Result<()> {
    check_name(name)?;
    let files = harness_starters::project(lang.name(), &kind.to_string(), name);
    let contents = files.iter().map(|file| (file.path, file.bytes.as_slice()));
    match make_project(Path::new("."), name, contents) {
        Err(err) if err.kind() == ErrorKind::AlreadyExists => {
            bail!(
                "`{name}` is there already, and nothing is overwritten\nhint: choose another name"
            )
        }
        made => made.with_context(|| format!("cannot make `{name}`"))?,
    }
    println!("made the {kind} `{name}` in {lang}: {} files in `{name}/`", files.len());
    for need in Place::new(Path::new(name), &search_path())?.needs(*lang) {
        if need.found.is_none() {
            println!("{} is missing; in `{name}/`: {}", need.what, need.get);
        }
    }
    println!("next: harness plugin build {name}");
    Ok(())
}
