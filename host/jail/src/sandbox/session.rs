//! The server's end of a session's sandbox.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the one place that starts a process"
)]

use std::io::{self, IoSlice, PipeWriter};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use tokio::io::AsyncWriteExt;

use super::cgroup::Group;
use super::plan::{Built, Plan, Start};
use super::secrets::bound_sockets;
use super::{Call, Sandbox, frame};

/// For the walls to be built.
const BUILDING: Duration = Duration::from_secs(10);

/// How often a control group is tried to be had.
const GROUPS: usize = 3;

/// For everything to be gone at the end; the system does it, and it is not held up.
const ENDING: Duration = Duration::from_secs(3);

/// The walls of a session, and all that runs within. Dropping it ends all of it, and waits a moment
/// for that: not on a thread of the runtime.
#[derive(Debug)]
pub(crate) struct Session {
    control: Option<UnixStream>,
    child: Child,
    group: Option<Group>,
}

impl Session {
    /// Builds the walls. Waits for that, about ten milliseconds: not on a thread of the runtime.
    /// `name` is for whoever looks at control groups.
    ///
    /// # Errors
    /// What could not be built, for the operator.
    pub(crate) fn start(
        sandbox: &Sandbox,
        workspace: &Path,
        tmp: &Path,
        name: &str,
    ) -> Result<Session, String> {
        let failed = |what: &str, err: io::Error| format!("{what}: {err}");
        let (control, theirs) =
            UnixStream::pair().map_err(|err| failed("a socket for the sandbox", err))?;
        let program = sandbox.init.first().ok_or("no program for the sandbox's init is named")?;
        let child = Command::new(program)
            .args(&sandbox.init[1..])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|err| failed("the sandbox's init cannot be started", err))?;
        // It forks only once it has its plan, so nothing gets away. A group that is empty may be taken
        // for left over by another server that starts.
        let group = (0..GROUPS).find_map(|_| {
            let group = Group::make(name, &sandbox.limits)?;
            if group.add(child.id()).is_ok() {
                return Some(group);
            }
            group.remove();
            None
        });
        let session = Session { control: Some(control), child, group };
        let control = session.control.as_ref().ok_or("no socket")?;
        let plan = plan(sandbox, workspace, tmp);
        let built: io::Result<Built> = control
            .set_read_timeout(Some(BUILDING))
            .and_then(|()| frame::write(control, &plan))
            .and_then(|()| frame::read(control));
        built.map_err(|err| failed("the sandbox's init does not answer", err))??;
        Ok(session)
    }

    /// Starts a call. Its output goes to `output`, and it reads `input`.
    ///
    /// # Errors
    /// `BrokenPipe` when the sandbox is gone.
    pub(crate) async fn call(
        &self,
        start: &Start,
        output: PipeWriter,
        input: Option<OwnedFd>,
    ) -> io::Result<Call> {
        let (ours, theirs) = tokio::net::UnixStream::pair()?;
        let theirs = theirs.into_std()?;
        theirs.set_nonblocking(false)?;
        let handles = [Some(theirs.as_fd()), Some(output.as_fd()), input.as_ref().map(AsFd::as_fd)];
        let handles: Vec<_> = handles.into_iter().flatten().collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&handles));
        let control = self.control.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        sendmsg(control, &[IoSlice::new(&[1])], &mut ancillary, SendFlags::NOSIGNAL)?;
        drop((theirs, output, input));
        let mut ours = ours;
        ours.write_all(&frame::encode(start)?).await?;
        Ok(Call::new(ours))
    }

    /// What the system did to commands that used too much, since the last time it was asked.
    pub(crate) fn excesses(&self) -> Vec<String> {
        self.group.as_ref().map(Group::excesses).unwrap_or_default()
    }

    fn end(&mut self) {
        self.control = None;
        let deadline = Instant::now() + ENDING;
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(group) = self.group.take() {
            group.remove();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

/// What is there of what the configuration names, by its canonical name.
fn plan(sandbox: &Sandbox, workspace: &Path, tmp: &Path) -> Plan {
    let canonical = |path: &PathBuf| path.canonicalize().ok();
    let write: Vec<_> = sandbox.write.iter().filter_map(canonical).collect();
    let mut masked: Vec<_> = sandbox.masked.iter().filter_map(canonical).collect();
    // Sockets that commands made themselves are theirs to use.
    let own = |path: &PathBuf| {
        path.starts_with(workspace) || write.iter().any(|place| path.starts_with(place))
    };
    masked.extend(bound_sockets().iter().filter_map(canonical).filter(|path| !own(path)));
    masked.sort();
    masked.dedup();
    Plan {
        posture: sandbox.posture,
        network: sandbox.network,
        workspace: workspace.to_owned(),
        tmp: tmp.to_owned(),
        read: sandbox.read.iter().filter_map(canonical).collect(),
        write,
        masked,
        limits: sandbox.limits,
    }
}
