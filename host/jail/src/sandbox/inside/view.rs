//! What of the disk a session's commands see.
//!
//! All that is there, read-only, but for the workspace, a `/tmp` of the session's own, and what the
//! configuration lets be written; without what is masked; with devices that only take and give
//! bytes, and with the session's own processes in `/proc`.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, Permissions, PermissionsExt};
use nix::libc;
use rustix::fs::CWD;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};

use super::super::plan::Plan;
use super::step;

/// Devices that only take and give bytes.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// Links that programs expect in `/dev`.
const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "fd"),
    ("/proc/self/fd/0", "stdin"),
    ("/proc/self/fd/1", "stdout"),
    ("/proc/self/fd/2", "stderr"),
    ("pts/ptmx", "ptmx"),
];

/// An empty file that nobody may open, to lay over others.
const BLANK: &str = "/dev/.masked";

/// Where the names of hosts are looked up; often a link into a masked place.
const RESOLVER: &str = "/etc/resolv.conf";

/// What lies at one path.
enum Layer {
    /// Nothing that could be read.
    Mask,
    /// What was there from the start.
    Tree { handle: OwnedFd, writable: bool },
}

/// Changes the view of this process's mount namespace, for it and all it starts.
pub(super) fn build(plan: &Plan) -> Result<(), String> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    step("private mounts", mount_change("/", private))?;
    let layers = layers(plan)?;
    let devices: Vec<_> = DEVICES
        .into_iter()
        .filter_map(|name| Some((name, copy(&Path::new("/dev").join(name)).ok()?)))
        .collect();
    let sealed = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    // Before anything is read-only, or the system takes it for an attempt to see more.
    step("/proc", mount("proc", "/proc", "proc", sealed, None))?;
    step("a read-only view", restrict(CWD, "/", READ_ONLY | SEALED, true))?;
    make_devices(devices)?;
    let mut masks = Vec::new();
    for (path, layer) in layers {
        match layer {
            Layer::Mask => masks.extend(mask(&path)?),
            Layer::Tree { handle, writable } => {
                let attributes = if writable { SEALED } else { SEALED | READ_ONLY };
                step("a read-only view", restrict(&handle, "", attributes, true))?;
                let _ = make_place(&path, &handle);
                step(&format!("`{}`", path.display()), attach(&handle, &path))?;
            }
        }
    }
    // Only now that nothing more has to be laid into them.
    for path in masks {
        let shut = Permissions::from_mode(0o111);
        if let Ok(dir) = Dir::open_ambient_dir(&path, ambient_authority()) {
            let _ = dir.set_permissions(".", shut);
        }
        step("a mask", restrict(CWD, path.as_os_str(), SEALED | READ_ONLY, false))?;
    }
    keep_git(&plan.workspace)
}

/// What lies where, parents before children. What is allowed by its exact name is not masked.
fn layers(plan: &Plan) -> Result<Vec<(PathBuf, Layer)>, String> {
    let mut layers: Vec<(PathBuf, Layer)> = Vec::new();
    let tree = |path: &Path, writable| -> Result<Layer, String> {
        let handle = step(&format!("`{}`", path.display()), copy(path))?;
        Ok(Layer::Tree { handle, writable })
    };
    layers.push((plan.workspace.clone(), tree(&plan.workspace, true)?));
    for place in ["/tmp", "/var/tmp"] {
        // One that is the workspace stays what it is.
        if let Ok(place) = Path::new(place).canonicalize()
            && place != plan.workspace
        {
            layers.push((place, tree(&plan.tmp, true)?));
        }
    }
    for path in &plan.write {
        // One that is not there cannot be written, and need not be.
        if let Ok(layer) = tree(path, true) {
            layers.push((path.clone(), layer));
        }
    }
    for path in &plan.read {
        let is_masked = plan.masked.iter().any(|mask| path.starts_with(mask));
        if let (true, Ok(layer)) = (is_masked, tree(path, false)) {
            layers.push((path.clone(), layer));
        }
    }
    if let (true, Ok(real)) = (plan.network, Path::new(RESOLVER).canonicalize())
        && let Ok(layer) = tree(&real, false)
    {
        layers.push((real, layer));
    }
    for path in &plan.masked {
        if !layers.iter().any(|(other, _)| other == path) {
            layers.push((path.clone(), Layer::Mask));
        }
    }
    // A stable sort: of two layers at one place the later lies on top.
    layers.sort_by_key(|(path, _)| path.components().count());
    Ok(layers)
}

/// A copy of what is mounted at a path and below, to be laid somewhere else.
fn copy(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags)
}

fn attach(handle: &OwnedFd, path: &Path) -> rustix::io::Result<()> {
    move_mount(handle, "", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Makes something to lay a tree on where a mask, or the session's `/tmp`, has nothing.
fn make_place(path: &Path, handle: &OwnedFd) -> std::io::Result<()> {
    let root = Dir::open_ambient_dir("/", ambient_authority())?;
    let below = path.strip_prefix("/").unwrap_or(path);
    if root.symlink_metadata(below).is_ok() {
        return Ok(());
    }
    let mut passable = DirBuilder::new();
    passable.recursive(true).mode(0o711);
    let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(handle)?.st_mode);
    if kind.is_dir() {
        return root.create_dir_with(below, &passable);
    }
    if let Some(parent) = below.parent() {
        root.create_dir_with(parent, &passable)?;
    }
    root.create(below).map(drop)
}

/// Masks what is there. Gives the path when more may have to be laid into the mask.
fn mask(path: &Path) -> Result<Option<PathBuf>, String> {
    let Ok(stat) = rustix::fs::lstat(path) else {
        return Ok(None);
    };
    let what = format!("to mask `{}`", path.display());
    let is_dir = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir();
    let masked = if is_dir {
        let sealed = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
        mount("tmpfs", path, "tmpfs", sealed, Some(c"size=64k,mode=0711"))
    } else {
        let blank = step(&what, copy(Path::new(BLANK)))?;
        attach(&blank, path)
    };
    match masked {
        // Sockets come and go.
        Err(rustix::io::Errno::NOENT) => Ok(None),
        masked => step(&what, masked).map(|()| is_dir.then(|| path.to_owned())),
    }
}

/// A `/dev` of the session's own.
fn make_devices(devices: Vec<(&str, OwnedFd)>) -> Result<(), String> {
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    step("/dev", mount("tmpfs", "/dev", "tmpfs", plain, Some(c"size=64k,mode=0755")))?;
    let dev = step("/dev", Dir::open_ambient_dir("/dev", ambient_authority()))?;
    for (name, device) in devices {
        step("/dev", dev.create(name))?;
        step("/dev", attach(&device, &Path::new("/dev").join(name)))?;
    }
    for (to, name) in LINKS {
        step("/dev", dev.symlink_contents(to, name))?;
    }
    step("/dev", dev.create(".masked"))?;
    step("/dev", dev.set_permissions(".masked", Permissions::from_mode(0)))?;
    for name in ["pts", "shm"] {
        step("/dev", dev.create_dir(name))?;
    }
    let terminals = Some(c"newinstance,mode=0620,ptmxmode=0666");
    step("/dev/pts", mount("devpts", "/dev/pts", "devpts", plain, terminals))?;
    let shared = plain | MountFlags::NODEV;
    step("/dev/shm", mount("tmpfs", "/dev/shm", "tmpfs", shared, Some(c"mode=1777")))?;
    step("/dev", restrict(CWD, "/dev", READ_ONLY, false))
}

/// `.git` cannot be moved away, and nothing can be planted in its hooks: both are mounts of their
/// own. A repository that a command makes is not, until the session is opened anew; and never one
/// that a link leads to, for a link can be replaced.
fn keep_git(workspace: &Path) -> Result<(), String> {
    let git = workspace.join(".git");
    let top = step("`.git`", Dir::open_ambient_dir(workspace, ambient_authority()))?;
    let Some(dir) = is_real_dir(&top, ".git").then(|| top.open_dir(".git").ok()).flatten() else {
        return Ok(());
    };
    let handle = step("`.git`", copy(&git))?;
    step("`.git`", attach(&handle, &git))?;
    if !is_real_dir(&dir, "hooks") && dir.create_dir("hooks").is_err() {
        return Ok(());
    }
    let hooks = git.join("hooks");
    let handle = step("`.git/hooks`", copy(&hooks))?;
    step("`.git/hooks`", restrict(&handle, "", SEALED | READ_ONLY, true))?;
    step("`.git/hooks`", attach(&handle, &hooks))
}

fn is_real_dir(within: &Dir, name: &str) -> bool {
    within.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir())
}

const READ_ONLY: u64 = libc::MOUNT_ATTR_RDONLY;

const SEALED: u64 = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV;

/// Sets attributes of a mount, and of all below it when `recursive`.
#[expect(unsafe_code, reason = "`mount_setattr` has no safe call")]
fn restrict(
    at: impl AsFd,
    path: impl rustix::path::Arg,
    attributes: u64,
    recursive: bool,
) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;

    let at: BorrowedFd = at.as_fd();
    let path = path.into_c_str()?;
    let attributes =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path ends with NUL, and the attributes are as long as is said; the call only
    // reads both.
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    nix::errno::Errno::result(set)?;
    Ok(())
}
