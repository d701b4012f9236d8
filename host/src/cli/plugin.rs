//! `harness plugin …`: what an author and an operator do with plugins; one file a command.
//!
//! Loads plugins as a server does, for the commands that have no server.

mod add;
mod agree;
mod bench;
mod build;
mod check;
mod dev;
mod doctor;
mod figures;
mod inspect;
mod language;
mod list;
mod logs;
mod manifest;
mod new;
mod offer;
mod project;
mod proposals;
mod remove;
mod run;
mod shelf;
mod test;
mod toolchain;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Subcommand;
use harness_jail::{Jail, PrivateDir, Shell};

use super::boot;
use crate::config::PluginConfig;
use crate::plugin::{Engine, Plugins, Source, Workspace};

/// What to do with plugins.
#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Load every plugin of the configuration and show what it is
    List(list::ListArgs),
    /// Put a plugin beside the configuration, pin it, and grant what it asks for
    Add(add::AddArgs),
    /// Take a plugin out of the configuration, with its file
    Remove(remove::RemoveArgs),
    /// Build, check, test and add a project, again whenever its sources change
    Dev(dev::DevArgs),
    /// Find what is wrong with a plugin, and how to mend it
    Check(check::CheckArgs),
    /// Try a plugin out on a table of rows: inputs, and what should come of them
    Test(test::TestArgs),
    /// Call one tool of a plugin, without a model
    Run(run::RunArgs),
    /// Print what a plugin said while servers ran
    Logs(logs::LogsArgs),
    /// Say what a component is and wants, before anybody grants it anything
    Inspect(inspect::InspectArgs),
    /// Write a small project for a plugin of your own
    New(new::NewArgs),
    /// Build a project into a component, with its language's own toolchain
    Build(build::BuildArgs),
    /// Say what each language needs to build plugins, and what of it is missing here
    Doctor(doctor::DoctorArgs),
}

/// Runs the command.
pub(super) async fn run(command: PluginCommand) -> anyhow::Result<()> {
    match command {
        PluginCommand::List(args) => list::run(args).await,
        PluginCommand::Add(args) => add::run(args).await,
        PluginCommand::Remove(args) => remove::run(args).await,
        PluginCommand::Dev(args) => dev::run(args).await,
        PluginCommand::Check(args) => check::run(args).await,
        PluginCommand::Test(args) => test::run(args).await,
        PluginCommand::Run(args) => run::run(args).await,
        PluginCommand::Logs(args) => logs::run(args),
        PluginCommand::Inspect(args) => inspect::run(args).await,
        PluginCommand::New(args) => new::run(&args),
        PluginCommand::Build(args) => build::run(&args),
        PluginCommand::Doctor(args) => doctor::run(&args),
    }
}

/// Loads what is configured without a server's state directory.
pub(super) async fn load_for_listing(
    engine: &Engine,
    configured: &BTreeMap<String, PluginConfig>,
    environment: &[(String, String)],
) -> anyhow::Result<Plugins> {
    load_here(engine, boot::sources(configured), environment).await
}

/// Loads sources without a server's state directory.
async fn load_here(
    engine: &Engine,
    sources: Vec<Source>,
    environment: &[(String, String)],
) -> anyhow::Result<Plugins> {
    // An empty directory to lend to tools while they say what they offer.
    let scratch = super::temporary("scratch");
    let directory = PrivateDir::open(&scratch)?;
    let workspace = Workspace::new(
        Jail::open(&scratch, None)?,
        Shell::none(),
        Arc::new(boot::redactor(std::iter::empty(), environment)),
    );
    let plugins = Plugins::load(engine, sources, &Arc::new(workspace)).await;
    directory.remove_tree()?;
    Ok(plugins)
}
