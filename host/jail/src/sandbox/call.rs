//! The server's end of one call.
//!
//! Dropping it ends everything the call started.

#![expect(clippy::disallowed_types, reason = "the socket leads to a process of our own")]

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::frame;
use super::plan::{News, Order};

/// One call that was started.
#[derive(Debug)]
pub(crate) struct Call {
    socket: UnixStream,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was never started; the system's number for why.
    NotStarted(i32),
    /// The sandbox went away with it.
    Lost,
}

impl Call {
    pub(super) fn new(socket: UnixStream) -> Call {
        Call { socket }
    }

    /// Waits for the end of the command itself; and whether it left nothing behind.
    pub(crate) async fn ended(&mut self) -> (Ended, bool) {
        loop {
            match self.news().await {
                Some(News::Exited { code, alone }) => return (Ended::Exited(code), alone),
                Some(News::Signalled { signal, alone }) => {
                    return (Ended::Signalled(signal), alone);
                }
                Some(News::Failed(number)) => return (Ended::NotStarted(number), true),
                Some(News::Running(_)) => {}
                None => return (Ended::Lost, true),
            }
        }
    }

    /// How many processes of the call are there.
    pub(crate) async fn count(&mut self) -> u32 {
        if self.order(Order::Count).is_err() {
            return 0;
        }
        loop {
            match self.news().await {
                Some(News::Running(count)) => return count,
                Some(_) => {}
                None => return 0,
            }
        }
    }

    /// Asks everything the call started to end.
    pub(crate) fn terminate(&self) {
        let _ = self.order(Order::Terminate);
    }

    /// Ends everything the call started.
    pub(crate) fn kill(&self) {
        let _ = self.order(Order::Kill);
    }

    /// Waits until nothing of the call is left, but no longer than `limit`. Whether nothing is.
    pub(crate) async fn is_over_within(&mut self, limit: Duration) -> bool {
        timeout(limit, async { while self.news().await.is_some() {} }).await.is_ok()
    }

    /// Whether nothing of the call is left, as far as was heard.
    pub(crate) fn is_over(&self) -> bool {
        let mut news = [0; 64];
        loop {
            match self.socket.try_read(&mut news) {
                Ok(1..) => {}
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => return false,
                Ok(0) | Err(_) => return true,
            }
        }
    }

    /// A byte always fits into a socket that is read.
    fn order(&self, order: Order) -> io::Result<()> {
        self.socket.try_write(&[order.byte()]).map(drop)
    }

    async fn news(&mut self) -> Option<News> {
        let mut head = [0; frame::HEAD_BYTES];
        self.socket.read_exact(&mut head).await.ok()?;
        let mut body = vec![0; frame::body_length(head).ok()?];
        self.socket.read_exact(&mut body).await.ok()?;
        serde_json::from_slice(&body).ok()
    }
}
