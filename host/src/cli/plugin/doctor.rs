//! `harness plugin doctor`: what each language needs to build plugins, and what of it is missing.
//!
//! Looks from the directory it is called in, installs nothing. That something is missing is an error
//! only of a language that was named: nobody needs all of them.

#![expect(clippy::print_stdout, reason = "the findings are the command's output")]

use std::path::Path;

use anyhow::ensure;
use clap::Args;

use super::language::Language;
use super::toolchain::{Need, Place};
use crate::cli::search_path;

/// Which languages.
#[derive(Args)]
pub(in crate::cli) struct DoctorArgs {
    /// rust, python, javascript, c or go [default: all]
    #[arg(long, value_name = "LANGUAGE", value_parser = Language::parse)]
    lang: Option<Language>,
}

/// Runs the command.
pub(super) fn run(args: &DoctorArgs) -> anyhow::Result<()> {
    let place = Place::new(Path::new("."), &search_path())?;
    let languages = args.lang.map_or(Language::ALL.to_vec(), |language| vec![language]);
    let mut missing = 0;
    for language in languages {
        for need in place.needs(language) {
            println!("{}", line(language, &need));
            missing += usize::from(need.found.is_none());
        }
    }
    match args.lang {
        Some(language) => ensure!(missing == 0, "{language} cannot be built: {missing} missing"),
        None => println!("a plugin that is built needs none of it: a component runs as it is"),
    }
    Ok(())
}

fn line(language: Language, Need { what, found, get }: &Need) -> String {
    let language = language.name();
    match found {
        Some(found) => format!("ok       {language:<11} {what} {found}"),
        None => format!("missing  {language:<11} {what}; get it: {get}"),
    }
}
