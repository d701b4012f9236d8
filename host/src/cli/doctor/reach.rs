//! What can be reached: the upstream from here, and the server from elsewhere.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use super::super::boot;
use super::Finding;
use crate::config::Config;
use crate::server;
use crate::upstream::{Upstream, UpstreamError};

/// For the upstream's answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the upstream for its models.
pub(super) async fn upstream(config: &Config) -> Finding {
    let upstream = match Upstream::new(boot::upstream_settings(config)) {
        Ok(upstream) => upstream,
        Err(err) => return Finding::problem(err.to_string()),
    };
    match upstream.reach(PATIENCE).await {
        Ok(()) => Finding::ok("it answers, with its models"),
        Err(err @ UpstreamError::Credentials { .. }) => {
            Finding::warning(format!("{err}; set `upstream.api_key`"))
        }
        Err(err @ (UpstreamError::Unreachable { .. } | UpstreamError::TimedOut { .. })) => {
            Finding::warning(format!("{err}; look at `upstream.base_url`"))
        }
        // Whoever says this is there, and many have no list of models.
        Err(UpstreamError::Refused { status: 404 | 405, .. }) => {
            Finding::ok("it answers; it has no list of models to try the key on")
        }
        Err(err) => Finding::warning(err.to_string()),
    }
}

/// Tries the address, and lets go of it at once.
pub(super) fn address(address: SocketAddr, ledger_in_use: bool) -> Finding {
    match server::bind(address) {
        Ok(_) => Finding::ok(format!("`{address}` is free")),
        Err(err) if err.kind() == ErrorKind::AddrInUse && ledger_in_use => {
            Finding::warning(format!("`{address}` is taken, as it is by a server that runs"))
        }
        Err(err) => Finding::problem(format!("`{address}`: {err}; name another with `--addr`")),
    }
}

/// Who may ask.
pub(super) fn access(config: &Config) -> Finding {
    let tokens = config.tokens.len();
    match (config.addr.ip().is_loopback(), tokens) {
        (true, 0) => Finding::ok("loopback, no tokens: every process of this machine may ask"),
        (true, _) => Finding::ok(format!("loopback, {tokens} token(s)")),
        // The configuration asks for tokens then.
        (false, _) => Finding::warning(format!(
            "other machines may ask, with one of {tokens} token(s), in plain HTTP: put a proxy with \
             TLS before it"
        )),
    }
}
