//! `harness serve`: listen until told to stop.
//!
//! Listening does not wait for the plugins: they are compiled meanwhile, and the first run waits
//! for them. The first signal lets runs end within the grace; the process then ends by itself.

#![expect(clippy::print_stdout, reason = "scripts read the address from the one line printed")]

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::flags::{self, Configured};
use super::watch::{self, Watch};
use super::{Boot, boot, log};
use crate::server::{self, ServeOptions};

/// Between two looks for workspaces that nobody used for long.
const SWEEPING: Duration = Duration::from_secs(6 * 60 * 60);

/// Serves.
pub(super) async fn run(flags: &Configured) -> anyhow::Result<()> {
    let watch = Watch::begin(flags);
    let loaded = flags::load(flags)?;
    let config = &loaded.config;
    let redactor = boot::redactor(boot::secrets(config), &loaded.environment);
    log::start(&config.log_level, config.log_format, redactor, &config.state_dir)?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let (addr, max_body_bytes) = (config.addr, config.max_body_bytes);
    let boot = Boot::open(loaded)?;
    let listener = server::bind(addr).map_err(|err| cannot_listen(addr, &err))?;
    let shutdown = CancellationToken::new();
    stop_on_signals(shutdown.clone())?;
    println!("harness listens on http://{}", listener.local_addr()?);

    let harness = boot.harness.clone();
    tokio::spawn(harness.clone().keep_sweeping(SWEEPING));
    let options = ServeOptions { max_body_bytes, ..ServeOptions::default() };
    let loading = async {
        let loaded = tokio::select! {
            // A compiler is not waited for.
            () = shutdown.cancelled() => return Ok(()),
            loaded = boot.load() => loaded,
        };
        if loaded.is_err() {
            // Without plugins no run could ever start: better no server than one that keeps waiting.
            shutdown.cancel();
        }
        loaded?;
        watch::plugins(&boot, watch, &shutdown).await;
        Ok(())
    };
    let serving = server::serve(harness, listener, options, shutdown.clone());
    let (loaded, served): (anyhow::Result<()>, _) = tokio::join!(loading, serving);
    loaded.and(served.context("the server stopped"))
}

fn cannot_listen(addr: SocketAddr, err: &std::io::Error) -> anyhow::Error {
    match err.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "cannot listen on `{addr}`: something listens there already\n\
             hint: name another address with `--addr`; port 0 takes a free one"
        ),
        _ => anyhow!("cannot listen on `{addr}`: {err}"),
    }
}

fn stop_on_signals(shutdown: CancellationToken) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping: no more runs are taken, those under way are cancelled");
        shutdown.cancel();
    });
    Ok(())
}
