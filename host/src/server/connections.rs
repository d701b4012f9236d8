//! Connections: taken, bounded in number and in the time a request's head may take, ended in order.
//!
//! Knows HTTP's framing by hyper and nothing of what is asked. Whoever opens connections and sends
//! nothing, or a head a byte at a time, costs a place for a bounded time.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections at one time; those beyond wait in the kernel's queue. Far more than runs, since many
/// may follow one.
const MAX_CONNECTIONS: usize = 4_096;

/// After a connection could not be taken, for handles to become free.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers until `shutdown`, then lets the requests end that are under way.
pub(super) async fn answer(
    listener: TcpListener,
    router: Router,
    head_time: Duration,
    shutdown: CancellationToken,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let taking = async {
            // The semaphore is never closed.
            let place = places.clone().acquire_owned().await.ok();
            (place, take(&listener).await)
        };
        let (place, socket) = tokio::select! {
            () = shutdown.cancelled() => break,
            taken = taking => taken,
        };
        let service = TowerToHyperService::new(router.clone());
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(head_time);
        let connection = graceful.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            match connection.await {
                Ok(()) => tracing::debug!("a connection ended"),
                Err(err) => tracing::debug!("a connection ended: {err}"),
            }
            drop(place);
        });
    }
    drop(listener);
    graceful.shutdown().await;
}

/// The next connection.
async fn take(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((socket, _)) => {
                // A sign of life is a few bytes: it must not wait for more.
                if let Err(err) = socket.set_nodelay(true) {
                    tracing::debug!("no TCP_NODELAY: {err}");
                }
                return socket;
            }
            // The client's trouble.
            Err(err) if is_of_the_connection(&err) => {}
            Err(err) => {
                tracing::error!("no connection can be taken: {err}");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

fn is_of_the_connection(err: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(err.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}
