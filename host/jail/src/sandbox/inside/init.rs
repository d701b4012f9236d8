//! The init of a session's sandbox: builds the walls, then starts a process for each call.
//!
//! It goes behind the walls itself before it says that they stand, so that all commands of the
//! session share them, and nothing that runs behind them has more to gain by taking it over. When
//! the server lets go of its socket, or dies, it ends, and everything with it.

#![expect(clippy::disallowed_types, reason = "the socket leads to the server")]

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use nix::libc;
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, fork};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use rustix::process::{DumpableBehavior, set_child_subreaper, set_dumpable_behavior};

use super::super::Posture;
use super::super::frame;
use super::super::plan::{Built, Plan};
use super::{attend, filter, landlock, limits, namespaces, processes, step, view};

/// Signals that an init is deaf to, so that only its socket ends it.
pub(super) const IGNORED: [Signal; 4] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// The whole life of an init; its socket is its standard input. Must be the first thing that its
/// program does: it needs to be the only thread.
pub fn sandbox_init() -> ExitCode {
    close_inherited();
    let Ok(control) = take_control() else {
        return ExitCode::FAILURE;
    };
    // Nothing of the terminal that the server may run in reaches it.
    let _ = nix::unistd::setsid();
    IGNORED.into_iter().for_each(ignore);
    let Ok(plan) = frame::read::<Plan>(&control) else {
        return ExitCode::FAILURE;
    };
    if plan.posture == Posture::Full {
        if let Err(err) = namespaces::enter(plan.network) {
            let _ = frame::write(&control, &Built::Err(err));
            return ExitCode::FAILURE;
        }
        // Only a child of this process is the first of the new process numbers.
        match fork_here() {
            Ok(ForkResult::Parent { child }) => {
                drop(control);
                let _ = nix::sys::wait::waitpid(child, None);
                return ExitCode::SUCCESS;
            }
            Ok(ForkResult::Child) => {}
            Err(err) => {
                let _ = frame::write(&control, &Built::Err(format!("a first process: {err}")));
                return ExitCode::FAILURE;
            }
        }
    }
    let built = build(&plan);
    let stands = built.is_ok();
    if frame::write(&control, &built).is_err() || !stands {
        return ExitCode::FAILURE;
    }
    serve(control);
    if plan.posture != Posture::Full {
        // With namespaces the end of the first process is the end of all.
        processes::kill_descendants();
    }
    ExitCode::SUCCESS
}

/// Closes what whoever started the server left open, and the server so handed on.
#[expect(unsafe_code, reason = "`close_range` has no safe call")]
fn close_inherited() {
    // SAFETY: nothing in this process has opened anything yet, so nobody owns what is closed.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0) };
}

/// The socket on standard input, which is closed for everybody else.
fn take_control() -> io::Result<UnixStream> {
    use std::os::fd::AsFd;
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    let nothing =
        rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(UnixStream::from(control))
}

fn build(plan: &Plan) -> Built {
    if plan.posture == Posture::Full {
        view::build(plan)?;
        if !plan.network {
            namespaces::raise_loopback()?;
        }
    } else {
        step("to adopt orphans", set_child_subreaper(Some(rustix::process::getpid())))?;
    }
    // The workspace is the one directory that is sure to stay.
    let _ = rustix::process::chdir(&plan.workspace);
    limits::set(&plan.limits)?;
    if plan.posture != Posture::None {
        limits::drop_capabilities()?;
        landlock::enter(plan)?;
        filter::enter(plan)?;
    }
    // Its memory and handles are nobody's business.
    step("to hide its memory", set_dumpable_behavior(DumpableBehavior::NotDumpable))?;
    // Whoever ends is reaped by the system.
    ignore(Signal::SIGCHLD);
    Ok(())
}

/// Takes calls until the server lets go.
fn serve(control: UnixStream) {
    while let Ok(Some(handles)) = receive(&control) {
        match fork_here() {
            Ok(ForkResult::Child) => {
                // Or the server would not hear that the init is gone.
                drop(control);
                attend::attend(handles)
            }
            // The handles close with the scope, and the server sees that nothing came of the call.
            Ok(ForkResult::Parent { .. }) | Err(_) => {}
        }
    }
}

/// The handles of the next call; None at the end.
fn receive(control: &UnixStream) -> io::Result<Option<Vec<OwnedFd>>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let received = loop {
        match recvmsg(control, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut handles = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            handles.extend(received);
        }
    }
    Ok(Some(handles))
}

#[expect(unsafe_code, reason = "fork has no safe call")]
pub(super) fn fork_here() -> nix::Result<ForkResult> {
    // SAFETY: the processes of a sandbox have one thread, so the child is whole.
    unsafe { fork() }
}

#[expect(unsafe_code, reason = "what to do on a signal has no safe call")]
fn ignore(which: Signal) {
    // SAFETY: no handler is set, so nothing can run at a bad moment.
    let _ = unsafe { signal(which, SigHandler::SigIgn) };
}

#[expect(unsafe_code, reason = "what to do on a signal has no safe call")]
pub(super) fn by_default(which: Signal) {
    // SAFETY: no handler is set, so nothing can run at a bad moment.
    let _ = unsafe { signal(which, SigHandler::SigDfl) };
}
