//! The HTTP door: OpenAI's API on a socket, and what a person asks about runs.
//!
//! Floor 4: it translates and waits, and decides nothing about a run. Every answer carries
//! `x-request-id`, every error is OpenAI's envelope (`server/refuse.rs`), whatever went wrong. The
//! connection is the client's word: when it closes, the response is dropped, the [`Run`] in it
//! too, and that cancels the run.
//!
//! [`Run`]: crate::harness::Run

#![expect(clippy::disallowed_types, reason = "this is the door that listens")]

mod body;
mod caller;
mod chat;
mod connections;
mod follow;
mod id;
mod models;
mod openapi;
mod origin;
mod query;
mod refuse;
mod runs;
mod sessions;
mod stream;
mod trace;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use crate::harness::Harness;
use caller::Callers;

/// Between two signs of life in a stream: under the shortest idle limit of common proxies, 15 s.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The largest request body: 16 MiB.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

/// For a request's head to arrive, and for a connection to stay open between two requests.
const HEAD_TIME: Duration = Duration::from_secs(60);

/// For runs to end after the signal to stop.
const GRACE: Duration = Duration::from_secs(20);

/// For the answers of ended runs to reach their clients.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Connections the kernel holds until we accept them.
const BACKLOG: u32 = 1024;

/// What the door may be told.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Between two signs of life in a stream.
    pub keep_alive: Duration,
    /// For a request's head to arrive, and for a connection to stay open between two requests.
    pub head_time: Duration,
    /// For runs to end after the signal to stop.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            max_body_bytes: MAX_BODY_BYTES,
            keep_alive: KEEP_ALIVE,
            head_time: HEAD_TIME,
            grace: GRACE,
        }
    }
}

/// What every handler sees.
struct Door {
    harness: Arc<Harness>,
    callers: Callers,
    options: ServeOptions,
    /// True while only this machine can reach us.
    is_loopback: bool,
    /// Seconds since 1970.
    started: u64,
}

/// A listening socket on `address`.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    // Accepted sockets inherit it. It finds peers that went without a word.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Answers on `listener` until `shutdown`, then lets runs end within the grace.
pub async fn serve(
    harness: Arc<Harness>,
    listener: TcpListener,
    options: ServeOptions,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let grace = options.grace;
    let door = Arc::new(Door {
        harness: harness.clone(),
        callers: Callers::new(&harness.config().tokens),
        options,
        is_loopback: listener.local_addr()?.ip().is_loopback(),
        started: unix_seconds(),
    });
    let head_time = door.options.head_time;
    let serving = connections::answer(listener, router(door), head_time, shutdown.clone());
    let mut serving = pin!(serving);
    tokio::select! {
        // With nobody connected it ends at once.
        () = &mut serving => {
            harness.shutdown(grace).await;
            return Ok(());
        }
        () = shutdown.cancelled() => harness.begin_shutdown(),
    }
    // Who has not even sent a whole request is not waited for beyond the runs' end.
    let told = async {
        harness.shutdown(grace).await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    let mut told = pin!(told);
    tokio::select! {
        () = &mut serving => harness.shutdown(grace).await,
        () = &mut told => {
            tracing::warn!("connections were still open after the end of all runs");
        }
    }
    Ok(())
}

fn router(door: Arc<Door>) -> Router {
    let routes = Router::new()
        .route("/v1/chat/completions", post(chat::complete))
        .route("/v1/models", get(models::list))
        // Many a model's id has a slash in it.
        .route("/v1/models/{*id}", get(models::one))
        .route("/v1/sessions", post(sessions::open).get(sessions::list))
        .route("/v1/sessions/{id}", get(sessions::one).delete(sessions::remove))
        .route("/v1/runs", get(runs::list))
        .route("/v1/runs/{id}", get(runs::summary))
        .route("/v1/runs/{id}/events", get(runs::events))
        .route("/v1/runs/{id}/diff", get(runs::diff))
        .route("/v1/runs/{id}/cancel", post(runs::cancel))
        .route("/v1/openapi.json", get(openapi::document))
        .route("/healthz", get(models::alive))
        .route("/readyz", get(models::ready))
        .fallback(refuse::no_route)
        .method_not_allowed_fallback(refuse::no_method);
    layered(routes, door)
}

/// `routes`, with what goes for each of them.
fn layered(routes: Router<Arc<Door>>, door: Arc<Door>) -> Router {
    // The last layer is the outermost.
    routes
        .layer(from_fn_with_state(door.clone(), caller::check))
        .layer(from_fn_with_state(door.clone(), origin::check))
        .layer(CatchPanicLayer::custom(refuse::panicked))
        .layer(from_fn_with_state(door.clone(), trace::request))
        .with_state(door)
}

/// Now.
fn unix_seconds() -> u64 {
    // Before 1970 the clock is wrong, and no number is right.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
