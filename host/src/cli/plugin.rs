//! `harness plugin list`: every plugin in force, or why it is not.

#![expect(clippy::print_stdout, reason = "the list is the command's output")]

use clap::Subcommand;

use super::{Boot, Configured, Loaded, load, settings};
use crate::plugin::{Listed, Plugins};

/// What to do with plugins.
#[derive(Subcommand)]
pub(super) enum PluginCommand {
    /// Load every plugin of the configuration and show what it is
    List(Configured),
}

/// Runs the command.
pub(super) async fn run(command: PluginCommand) -> anyhow::Result<()> {
    let PluginCommand::List(flags) = command;
    todo_list(flags).await
}
