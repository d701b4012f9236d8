//! `harness plugin …`: what an author and an operator do with plugins; one file a command.
//!
//! `list` stands here: every plugin in force, or why it is not.

#![expect(clippy::print_stdout, reason = "the list is the command's output")]

mod bench;
mod build;
mod check;
mod doctor;
mod figures;
mod inspect;
mod language;
mod logs;
mod manifest;
mod new;
mod project;
mod proposals;
mod run;
mod test;
mod toolchain;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Subcommand;
use harness_jail::{Jail, PrivateDir, Shell};

use super::boot;
use super::flags::{Configured, sound_layers};
use crate::config::PluginConfig;
use crate::plugin::{Engine, Listed, Plugins, Workspace};
use crate::wit::Effects;

/// The contract's words for effects.
const EFFECTS: [(&str, Effects); 4] = [
    ("read", Effects::READ),
    ("write", Effects::WRITE),
    ("execute", Effects::EXECUTE),
    ("network", Effects::NETWORK),
];

/// What to do with plugins.
#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Load every plugin of the configuration and show what it is
    List(Configured),
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
        PluginCommand::List(flags) => list(&flags).await,
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

async fn list(flags: &Configured) -> anyhow::Result<()> {
    let (settings, environment) = sound_layers(flags)?;
    let engine = boot::engine(&settings)?;
    let plugins = load_for_listing(&engine, settings.plugins(), &environment).await?;
    for listed in plugins.listed() {
        println!("{}", line(listed));
    }
    let broken = plugins.listed().iter().filter(|listed| listed.offers.is_err()).count();
    anyhow::ensure!(broken == 0, "{broken} plugin(s) do not load");
    Ok(())
}

/// Loads what is configured without a server's state directory.
pub(super) async fn load_for_listing(
    engine: &Engine,
    configured: &BTreeMap<String, PluginConfig>,
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
    let sources = boot::sources(configured);
    let plugins = Plugins::load(engine, sources, &Arc::new(workspace)).await;
    directory.remove_tree()?;
    Ok(plugins)
}

fn line(listed: &Listed) -> String {
    let Listed { name, source, role, powers, brings_runtime, offers, bytes, .. } = listed;
    let role = role.map_or("?".to_owned(), |role| role.to_string());
    let size = format!("{} kB", bytes.div_ceil(1000));
    let mut said = format!("{name:<12} {role:<8} {size:>8}  {source}");
    let mut powers = match powers.as_slice() {
        [] => "sink only".to_owned(),
        powers => powers.join(", "),
    };
    if *brings_runtime {
        powers += "; wasi: inert";
    }
    match offers {
        Ok(offers) if offers.is_empty() => said += &format!("\n    may use: {powers}"),
        Ok(offers) => said += &format!("\n    offers: {}; may use: {powers}", offers.join(", ")),
        Err(cause) => said += &format!("\n    DOES NOT LOAD: {}", cause.replace('\n', "\n    ")),
    }
    if let Some(digest) = listed.digest.as_ref().filter(|_| source != "built in") {
        said += &format!("\n    digest: {digest}");
    }
    said
}
