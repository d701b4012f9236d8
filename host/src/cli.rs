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
mod ledger;
mod log;
mod mock;
mod plugin;
mod serve;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};

use crate::config::{Config, Layers, Problem, Settings};
use crate::demo;

pub use boot::Boot;

/// The largest configuration file.
const CONFIG_BYTES: u64 = 1 << 20;

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
    /// Show one whole run, with a scripted model and nothing configured
    Demo,
    /// Play a script as an upstream, for tests and for trying plugins out
    Mock(mock::MockArgs),
    /// Print the events of a run as NDJSON
    Ledger(ledger::LedgerArgs),
    /// Look at plugins
    Plugin {
        #[command(subcommand)]
        command: plugin::PluginCommand,
    },
}

/// Flags of every command that has a configuration. A flag wins over the environment, the
/// environment over the file.
#[derive(Args, Clone, Default)]
pub(crate) struct Configured {
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen: a loopback IP:PORT
    #[arg(long)]
    addr: Option<String>,
    /// The upstream, up to and without /chat/completions
    #[arg(long, value_name = "URL")]
    upstream_base_url: Option<String>,
    /// The model to ask when a request names none
    #[arg(long, value_name = "MODEL")]
    upstream_model: Option<String>,
    /// The provider profile
    #[arg(long)]
    profile: Option<String>,
    /// Parent of fresh workspaces
    #[arg(long, value_name = "DIR")]
    workspace_root: Option<String>,
    /// Where the ledger and other state lie
    #[arg(long, value_name = "DIR")]
    state_dir: Option<String>,
    /// error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    log_level: String,
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the runtime does not start")
        .and_then(|runtime| runtime.block_on(run(cli.command)));
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
        Command::Serve(flags) => serve::run(load(&flags)?, &flags.log_level).await,
        Command::Demo => demo::run(environment()).await,
        Command::Mock(args) => mock::run(args).await,
        Command::Ledger(args) => ledger::run(args).await,
        Command::Plugin { command } => plugin::run(command).await,
    }
}

/// A configuration that was checked, with the environment it came from.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) environment: Vec<(String, String)>,
    /// `HARNESS_*` variables that mean nothing.
    pub(crate) ignored: Vec<String>,
}

/// Reads every layer and checks the whole.
fn load(flags: &Configured) -> anyhow::Result<Loaded> {
    let (settings, environment) = settings(flags)?;
    let ignored = settings.ignored_variables().to_vec();
    match settings.check() {
        Ok(config) => Ok(Loaded { config, environment, ignored }),
        Err(problems) => refuse(&problems),
    }
}

fn refuse<T>(problems: &[Problem]) -> anyhow::Result<T> {
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    bail!("the configuration has {} problem(s):\n{}", lines.len(), lines.join("\n"))
}

fn settings(flags: &Configured) -> anyhow::Result<(Settings, Vec<(String, String)>)> {
    let environment = environment();
    let file = match (&flags.config, default_file(&environment)) {
        (Some(path), _) => Some(read_config(path)?),
        (None, Some(path)) if path.exists() => Some(read_config(&path)?),
        _ => None,
    };
    let flag = |key: &'static str, value: &Option<String>| Some((key, value.clone()?));
    let flags = [
        flag("server.addr", &flags.addr),
        flag("upstream.base_url", &flags.upstream_base_url),
        flag("upstream.model", &flags.upstream_model),
        flag("upstream.profile", &flags.profile),
        flag("workspace.root", &flags.workspace_root),
        flag("state.dir", &flags.state_dir),
    ];
    let flags = flags.into_iter().flatten().collect();
    let layers = Layers { file, environment: environment.clone(), flags };
    Ok((Settings::merge(&layers), environment))
}

fn read_config(path: &Path) -> anyhow::Result<(String, String)> {
    let shown = path.display().to_string();
    let bytes = harness_jail::read_capped(path, CONFIG_BYTES)
        .with_context(|| format!("cannot read the configuration file `{shown}`"))?;
    let text = String::from_utf8(bytes)
        .with_context(|| format!("the configuration file `{shown}` is not UTF-8"))?;
    Ok((shown, text))
}

fn default_file(environment: &[(String, String)]) -> Option<PathBuf> {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let home = value("XDG_CONFIG_HOME").or_else(|| Some(value("HOME")?.join(".config")))?;
    Some(home.join("harness").join("harness.toml"))
}

/// The environment, less what is not UTF-8: no setting of ours is.
fn environment() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// A path under the system's temporary directory that nothing has yet.
pub(crate) fn temporary(purpose: &str) -> PathBuf {
    std::env::temp_dir().join(format!("harness-{purpose}-{}", uuid::Uuid::now_v7().simple()))
}
