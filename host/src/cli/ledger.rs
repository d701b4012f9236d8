//! `harness ledger RUN`: what happened, one JSON object a line, also while a server is at it.

#![expect(clippy::print_stdout, reason = "the events are the command's output")]

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::Args;

use super::flags::{Configured, sound_layers};
use crate::ledger::LedgerReader;
use crate::places::Places;

/// Events read at one time.
const PAGE: usize = 256;

/// Arguments of `harness ledger`.
#[derive(Args)]
pub(super) struct LedgerArgs {
    /// The run's id, run_…
    run: String,
    /// The configuration file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the ledger lies
    #[arg(long, value_name = "DIR")]
    state_dir: Option<String>,
}

/// Prints the run's events.
pub(super) async fn run(args: LedgerArgs) -> anyhow::Result<()> {
    let LedgerArgs { run, config, state_dir } = args;
    let flags = Configured::of_state(config, state_dir);
    let (settings, _) = sound_layers(&flags)?;
    let state_dir = settings.state_dir().context("no state directory is known; name it")?;
    let path = Places::ledger_in(&state_dir);
    ensure!(
        path.exists(),
        "there is no ledger `{}`: no server ever ran with this state directory\n\
         hint: name the server's own with `--state-dir`",
        path.display()
    );
    let ledger = LedgerReader::open(&path)
        .with_context(|| format!("cannot open the ledger `{}`", path.display()))?;
    let mut after = 0;
    loop {
        let events = ledger.events(&run, after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in &events {
            println!("{}", serde_json::to_string(event)?);
        }
    }
    if after == 0 {
        bail!("there is no run `{run}` in `{}`", path.display());
    }
    Ok(())
}
