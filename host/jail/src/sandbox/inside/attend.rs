//! The process that attends one call: it starts the command, says how it ended, and counts or ends
//! what the command left.
//!
//! Orphans come to it, whatever they did to get away, so that what a call started is exactly what
//! lies below it. It ends when nothing is left, and ends everything when the server lets go of the
//! call's socket.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the sockets lead to the server, and this becomes a command"
)]

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::set_child_subreaper;

use super::super::frame;
use super::super::plan::{News, Order, Start};
use super::init::{IGNORED, by_default, fork_here};
use super::processes;

/// How often it is looked again while things are being ended.
const AGAIN: Duration = Duration::from_millis(5);

/// What a shell reports for a program that cannot be started.
const NOT_STARTED: i32 = 127;

/// Attends a call to its end. `handles`: the call's socket, the output, and the input if there is
/// one.
pub(super) fn attend(handles: Vec<OwnedFd>) -> ! {
    let _ = run(handles);
    std::process::exit(0)
}

fn run(handles: Vec<OwnedFd>) -> Option<()> {
    let mut handles = handles.into_iter();
    let mut socket = UnixStream::from(handles.next()?);
    let output = handles.next()?;
    let input = handles.next();
    by_default(Signal::SIGCHLD);
    let mut child_ends = SigSet::empty();
    child_ends.add(Signal::SIGCHLD);
    child_ends.thread_block().ok()?;
    let signals =
        SignalFd::with_flags(&child_ends, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK).ok()?;
    set_child_subreaper(Some(rustix::process::getpid())).ok()?;
    let start: Start = frame::read(&socket).ok()?;
    let leader = match fork_here() {
        Ok(ForkResult::Child) => become_command(&start, &socket, output, input),
        Ok(ForkResult::Parent { child }) => child,
        Err(err) => {
            let _ = frame::write(&socket, &News::Failed(err as i32));
            return None;
        }
    };
    drop((start, output, input));
    let mut attended = Attended { leader, is_killing: false, ended: None };
    socket.set_nonblocking(true).ok()?;
    loop {
        let wait = attended.is_killing.then(|| Timespec::try_from(AGAIN).ok()).flatten();
        let mut polled = [
            PollFd::new(&socket, PollFlags::IN),
            PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN),
        ];
        match poll(&mut polled, wait.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        while matches!(signals.read_signal(), Ok(Some(_))) {}
        let is_alone = attended.reap();
        if let Some(news) = attended.ended.take() {
            // A server that is gone is found out below.
            let _ = send(&mut socket, &with_company(news, is_alone));
        }
        if is_alone {
            return Some(());
        }
        attended.obey(&mut socket);
        if attended.is_killing {
            attended.signal(Signal::SIGKILL);
        }
    }
}

/// What is known of a call while it is attended.
struct Attended {
    /// The command itself; it leads a session and a group.
    leader: Pid,
    is_killing: bool,
    /// How the leader ended, until it was said.
    ended: Option<News>,
}

impl Attended {
    /// Takes in who ended. Whether nobody is left.
    fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.leader => {
                    self.ended = Some(News::Exited { code, alone: false });
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.leader => {
                    self.ended = Some(News::Signalled { signal: signal as i32, alone: false });
                }
                Ok(WaitStatus::StillAlive) => return false,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return true,
            }
        }
    }

    /// Does what the server said meanwhile.
    fn obey(&mut self, socket: &mut UnixStream) {
        let mut orders = [0; 16];
        match socket.read(&mut orders) {
            Ok(0) => self.is_killing = true,
            Ok(count) => {
                for order in orders[..count].iter().filter_map(|byte| Order::of(*byte)) {
                    match order {
                        Order::Count => {
                            let count = processes::descendants().len();
                            let count = u32::try_from(count).unwrap_or(u32::MAX);
                            let _ = send(socket, &News::Running(count));
                        }
                        Order::Terminate => self.signal(Signal::SIGTERM),
                        Order::Kill => self.is_killing = true,
                    }
                }
            }
            Err(err) if err.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => self.is_killing = true,
        }
    }

    fn signal(&self, signal: Signal) {
        // The group in one call first: its members then cannot answer the death of another.
        let _ = killpg(self.leader, signal);
        for pid in processes::descendants() {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

fn with_company(news: News, alone: bool) -> News {
    match news {
        News::Exited { code, .. } => News::Exited { code, alone },
        News::Signalled { signal, .. } => News::Signalled { signal, alone },
        other => other,
    }
}

/// A few bytes into a socket that holds many.
fn send(socket: &mut UnixStream, news: &News) -> std::io::Result<()> {
    socket.write_all(&frame::encode(news)?)
}

/// The child: a session of its own, the handles it may have, and then the program.
fn become_command(
    start: &Start,
    socket: &UnixStream,
    output: OwnedFd,
    input: Option<OwnedFd>,
) -> ! {
    let _ = nix::unistd::setsid();
    // What is ignored stays so in a program, and a shell cannot even trap it.
    IGNORED.into_iter().for_each(by_default);
    let failed = match (start.argv.split_first(), output.try_clone()) {
        (Some((program, arguments)), Ok(errors)) => Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&start.directory)
            .stdin(input.map_or_else(Stdio::null, Stdio::from))
            .stdout(output)
            .stderr(errors)
            .exec(),
        _ => std::io::ErrorKind::InvalidInput.into(),
    };
    let number = failed.raw_os_error().unwrap_or(Errno::EINVAL as i32);
    let _ = frame::write(socket, &News::Failed(number));
    std::process::exit(NOT_STARTED)
}
