//! `harness mock SCRIPT`: play a script as an upstream.

#![expect(clippy::print_stdout, reason = "scripts read the address from the one line printed")]

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::mock::{self, Script};

/// The largest script.
const SCRIPT_BYTES: u64 = 16 << 20;

/// Arguments of `harness mock`.
#[derive(Args)]
pub(super) struct MockArgs {
    /// The script, TOML
    script: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8081")]
    addr: SocketAddr,
}

/// Plays until it is interrupted.
pub(super) async fn run(args: MockArgs) -> anyhow::Result<()> {
    let shown = args.script.display();
    let bytes = harness_jail::read_capped(&args.script, SCRIPT_BYTES)
        .with_context(|| format!("cannot read the script `{shown}`"))?;
    let text = String::from_utf8(bytes).with_context(|| format!("`{shown}` is not UTF-8"))?;
    let script = Script::parse(&text).with_context(|| format!("the script `{shown}`"))?;
    let running = mock::start(script, args.addr).await?;
    println!("mock listens on {}", running.base_url());
    tokio::signal::ctrl_c().await.context("no signal can be waited for")
}
