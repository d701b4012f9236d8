//! Namespaces: users, mounts, process numbers, the network and shared memory of its own.

use std::io::Write;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, unshare};

use super::step;

/// Enters them all; `keeps_network`: but for the network. The user stays who it is, and is nobody
/// else: what belongs to others shows as `nobody`'s.
pub(super) fn enter(keeps_network: bool) -> Result<(), String> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC;
    if !keeps_network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).map_err(|err| match err {
        Errno::ENOSPC => "namespaces: this machine allows no more of them, or none".to_owned(),
        Errno::EPERM => "namespaces: this machine does not let this user make any".to_owned(),
        err => format!("namespaces: {err}"),
    })?;
    let own = step("/proc/self", Dir::open_ambient_dir("/proc/self", ambient_authority()))?;
    step("the group map", put(&own, "setgroups", "deny"))?;
    step("the user map", put(&own, "uid_map", &format!("{user} {user} 1")))?;
    step("the group map", put(&own, "gid_map", &format!("{group} {group} 1")))
}

fn put(dir: &Dir, name: &str, text: &str) -> std::io::Result<()> {
    dir.open_with(name, OpenOptions::new().write(true))?.write_all(text.as_bytes())
}

/// Switches the loopback device on; a new network has it, but down.
#[expect(unsafe_code, reason = "flags of a device have no safe call")]
pub(super) fn raise_loopback() -> Result<(), String> {
    use rustix::net::{AddressFamily, SocketType, socket};
    use std::os::fd::AsRawFd;

    let socket = step("the loopback", socket(AddressFamily::INET, SocketType::DGRAM, None))?;
    // SAFETY: all of it is numbers, for which zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the call reads a whole `ifreq`, which lives until it returns.
    let raised = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    step("the loopback", nix::errno::Errno::result(raised)).map(drop)
}
