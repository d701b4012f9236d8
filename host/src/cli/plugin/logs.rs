//! `harness plugin logs NAME`: what a plugin said while servers ran, also while one runs.

#![expect(clippy::print_stdout, reason = "the lines are the command's output")]

use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context, anyhow, ensure};
use clap::Args;
use harness_jail::read_capped;

use crate::cli::flags::{Configured, sound_layers};
use crate::cli::log;

/// More than two files of a log are.
const LOG_BYTES: u64 = 16 << 20;

/// Whose lines.
#[derive(Args)]
pub(crate) struct LogsArgs {
    /// The plugin's name in the configuration
    name: String,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the server's state lies
    #[arg(long, value_name = "DIR")]
    state_dir: Option<String>,
}

/// Prints the lines.
pub(super) fn run(args: LogsArgs) -> anyhow::Result<()> {
    let LogsArgs { name, config, state_dir } = args;
    let (settings, _) = sound_layers(&Configured::of_state(config, state_dir))?;
    let state_dir = settings.state_dir().context("no state directory is known; name it")?;
    let paths = log::plugin_paths(&state_dir, &name);
    let paths = paths.ok_or_else(|| anyhow!("no plugin named `{name}` can have a log"))?;
    let mut there = false;
    for path in &paths {
        match read_capped(path, LOG_BYTES) {
            Err(err) if err.kind() == ErrorKind::NotFound => {}
            read => {
                let bytes = read.with_context(|| format!("cannot read `{}`", path.display()))?;
                there = true;
                print!("{}", String::from_utf8_lossy(&bytes));
            }
        }
    }
    ensure!(
        there,
        "the plugin `{name}` has said nothing under `{}`\n\
         hint: name the server's own directory with `--state-dir`",
        state_dir.display()
    );
    Ok(())
}
