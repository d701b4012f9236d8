//! Keeping the pipe of a command empty, for as long as anyone holds its other end.
//!
//! A task reads, cleans and keeps. Once a call that is over has taken what was kept, it reads on and
//! drops, so that what the call left running is neither held up by a full pipe nor killed by a
//! closed one; of a job it keeps on keeping.

use std::io::{self, PipeReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionread;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::Command;
use super::output::{Kept, Output};
use crate::spill::SpillDir;

/// Bytes read at a time: what a pipe holds.
const BLOCK_BYTES: usize = 64 * 1024;

/// How far the reading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Bytes read so far.
    Read(u64),
    /// The last holder closed the pipe.
    Over,
}

/// The reading of one command's pipe.
#[derive(Debug)]
pub(super) struct Drain {
    /// `None` once the output was taken.
    output: Arc<Mutex<Option<Output>>>,
    progress: watch::Receiver<Progress>,
    /// A second handle on the pipe, to see whether it is empty; gone once nobody needs to know.
    probe: Mutex<Option<PipeReader>>,
    task: AbortHandle,
}

impl Drain {
    pub(super) fn start(
        reader: PipeReader,
        spill_dir: Option<&SpillDir>,
        command: &Command,
    ) -> io::Result<Drain> {
        let probe = Mutex::new(Some(reader.try_clone()?));
        let mut pipe = Receiver::from_owned_fd(reader.into())?;
        let spill = spill_dir.map(SpillDir::share).transpose()?;
        let output = Arc::new(Mutex::new(Some(Output::new(spill, first_word(command)))));
        let (report, progress) = watch::channel(Progress::Read(0));
        let shared = Arc::clone(&output);
        let task = tokio::spawn(async move {
            let mut block = vec![0; BLOCK_BYTES];
            let mut total = 0;
            // An error ends the reading like the end of the output: nothing more can come.
            while let Ok(count @ 1..) = pipe.read(&mut block).await {
                if let Some(output) = &mut *lock(&shared) {
                    output.push(&block[..count]);
                }
                total += count as u64;
                let _ = report.send(Progress::Read(total));
            }
            let _ = report.send(Progress::Over);
        });
        Ok(Drain { output, progress, probe, task: task.abort_handle() })
    }

    /// Waits for the end of the output, but no longer than until the pipe was empty for `quiet` or
    /// `longest` has passed.
    pub(super) async fn settle(&self, quiet: Duration, longest: Duration) {
        let deadline = Instant::now() + longest;
        let mut progress = self.progress.clone();
        while *progress.borrow_and_update() != Progress::Over && Instant::now() < deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            let came = timeout(quiet.min(left), progress.changed()).await;
            // On a busy machine the reading may lag behind, so silence alone proves nothing.
            match came {
                Ok(Ok(())) => {}
                // The reading was stopped.
                Ok(Err(_)) => return,
                Err(_) if self.is_pipe_empty() => return,
                Err(_) => {}
            }
        }
    }

    fn is_pipe_empty(&self) -> bool {
        let probe = self.probe.lock().unwrap_or_else(PoisonError::into_inner);
        probe.as_ref().is_none_or(|probe| !matches!(ioctl_fionread(probe), Ok(1..)))
    }

    /// Takes what came since the last time, and goes on keeping.
    pub(super) fn take_new(&self) -> Kept {
        if *self.progress.borrow() == Progress::Over {
            self.probe.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
        lock(&self.output).as_mut().map(Output::take_new).unwrap_or_default()
    }

    /// Takes what was kept; what comes later is dropped.
    pub(super) fn take(&self) -> Kept {
        self.probe.lock().unwrap_or_else(PoisonError::into_inner).take();
        lock(&self.output).take().map(Output::finish).unwrap_or_default()
    }
}

impl Drop for Drain {
    /// Stops reading and closes the pipe.
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A panic while the lock was held left the output as it was before the block.
fn lock(output: &Mutex<Option<Output>>) -> MutexGuard<'_, Option<Output>> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the spilled file is named after.
fn first_word(command: &Command) -> &str {
    match command {
        Command::Shell(script) => script.split_whitespace().next().unwrap_or("bash"),
        Command::Argv(arguments) => arguments.first().map_or("command", String::as_str),
    }
}
