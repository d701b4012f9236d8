//! The command line: which command, with which configuration; one file a command.
//!
//! The only place that reads the environment and the configuration file, and the one that prints
//! errors: once, with their causes, and what to do next.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the environment is read here, once, and handed down; a person reads what is printed"
)]

mod boot;
mod config;
mod doctor;
mod flags;
mod ledger;
mod log;
mod mock;
mod plugin;
mod serve;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};

use crate::demo;

pub use boot::Boot;
use flags::Configured;
pub(crate) use flags::Loaded;

/// A server that speaks the OpenAI API and runs the whole agent loop behind it.
#[derive(Parser)]
#[command(name = "harness", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Listen for chat completions and run them in workspaces
    Serve(Configured),
    /// Print every setting in force, and where its value came from
    Config(Configured),
    /// Check whether a server would start here, and what it would lack
    Doctor(Configured),
    /// Show one whole run, with a scripted model and nothing configured
    Demo,
    /// Play a script as an upstream, for tests and for trying plugins out
    Mock(mock::MockArgs),
    /// Print the events of a run as NDJSON
    Ledger(ledger::LedgerArgs),
    /// What the server starts for the commands of a session; of no use by itself
    #[command(hide = true)]
    SandboxInit,
    /// Look at plugins
    Plugin {
        #[command(subcommand)]
        command: plugin::PluginCommand,
    },
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if matches!(cli.command, Command::SandboxInit) {
        // Before there is a second thread.
        return harness_jail::sandbox_init();
    }
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime does not start")
        .and_then(|runtime| {
            let outcome = runtime.block_on(run(cli.command));
            // A compiler that is at work is left behind with the process.
            runtime.shutdown_background();
            outcome
        });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(flags) => serve::run(&flags).await,
        Command::Config(flags) => config::run(&flags),
        Command::Doctor(flags) => doctor::run(&flags).await,
        Command::Demo => demo::run(environment()).await,
        Command::Mock(args) => mock::run(args).await,
        Command::Ledger(args) => ledger::run(args).await,
        Command::Plugin { command } => plugin::run(command).await,
        Command::SandboxInit => unreachable!("it has no runtime"),
    }
}

/// The environment, less what is not UTF-8: no setting of ours is.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Where the environment says that programs are.
fn search_path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// A path under the system's temporary directory that nothing has yet.
pub(crate) fn temporary(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("harness-{purpose}-{}", uuid::Uuid::now_v7().simple()))
}
