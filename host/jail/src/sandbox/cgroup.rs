//! Control groups: what the memory and the number of a session's processes are bounded by.
//!
//! Version 1 and 2, where the server may make a group below its own. Where it may not, nothing is
//! bounded, and [`super::probe()`] says so.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Limits;

/// What the names of our groups begin with.
const PREFIX: &str = "harness-";

/// Groups that this server made.
static MADE: AtomicU32 = AtomicU32::new(0);

/// How often removing a group is tried; its processes may not be reaped yet.
const REMOVALS: usize = 50;

/// The groups of one session, one a controller in version 1.
#[derive(Debug)]
pub(super) struct Group {
    places: Vec<PathBuf>,
    /// Counters of refusals as they were told last.
    told: Mutex<BTreeMap<&'static str, u64>>,
}

impl Group {
    /// Makes a group with these limits. None unless both memory and processes can be bounded.
    pub(super) fn make(name: &str, limits: &Limits) -> Option<Group> {
        let own = text("/proc/self/cgroup")?;
        let mounts = text("/proc/self/mountinfo")?;
        let group = Group { places: Vec::new(), told: Mutex::default() };
        // What ends with one sandbox of a session must not end with the next.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let group = parents(&own, &mounts).into_iter().try_fold(group, |mut group, parent| {
            let place = parent.join(format!("{PREFIX}{name}-{number}"));
            make(&place).ok().map(|()| {
                group.places.push(place);
                group
            })
        })?;
        let memory = limits.memory_bytes.to_string();
        let bounded = group.put(&["memory.limit_in_bytes", "memory.max"], &memory)
            && group.put(&["pids.max"], &limits.processes.to_string());
        // Swap is more memory; where it is not counted there is nothing to bound.
        group.put(&["memory.memsw.limit_in_bytes"], &memory);
        group.put(&["memory.swap.max"], "0");
        if bounded {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Takes in a process, and with it all that it starts from now on.
    pub(super) fn add(&self, pid: u32) -> io::Result<()> {
        self.places
            .iter()
            .try_for_each(|place| write(&place.join("cgroup.procs"), &pid.to_string()))
    }

    /// What was refused or killed since this was asked last.
    pub(super) fn excesses(&self) -> Vec<String> {
        let killed = self.counter("memory.oom_control", "oom_kill");
        let killed = killed.or_else(|| self.counter("memory.events", "oom_kill"));
        let refused = self.counter("pids.events", "max");
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_new = |what, now: Option<u64>| {
            let now = now.unwrap_or(0);
            now > told.insert(what, now).unwrap_or(0)
        };
        let mut excesses = Vec::new();
        if is_new("memory", killed) {
            excesses.push(
                "a process was killed: together they took more memory than `shell.memory_mb` lets \
                 them"
                    .to_owned(),
            );
        }
        if is_new("processes", refused) {
            excesses.push(
                "a process was not started: there were as many as `shell.processes` lets there be"
                    .to_owned(),
            );
        }
        excesses
    }

    /// Removes the group; its processes must be gone, or about to be. Whoever got away from who was
    /// to end it is ended here.
    pub(super) fn remove(self) {
        for place in &self.places {
            for _ in 0..REMOVALS {
                match rustix::fs::unlinkat(rustix::fs::CWD, place, rustix::fs::AtFlags::REMOVEDIR) {
                    Err(rustix::io::Errno::BUSY) => {
                        kill_members(place);
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    _ => break,
                }
            }
        }
    }

    /// Sets the first of these files that a place has.
    fn put(&self, names: &[&str], value: &str) -> bool {
        let files = self.places.iter().flat_map(|place| names.iter().map(|name| place.join(name)));
        files.into_iter().any(|file| write(&file, value).is_ok())
    }

    fn counter(&self, file: &str, name: &str) -> Option<u64> {
        let text = self.places.iter().find_map(|place| text(place.join(file)))?;
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    }
}

fn kill_members(place: &Path) {
    let members = text(place.join("cgroup.procs")).unwrap_or_default();
    for pid in members.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0) {
        // Who ended in between is not there.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

/// Removes what a server that was killed left behind; groups in use stay.
pub(super) fn sweep() {
    let (Some(own), Some(mounts)) = (text("/proc/self/cgroup"), text("/proc/self/mountinfo"))
    else {
        return;
    };
    for parent in parents(&own, &mounts) {
        let Ok(dir) = Dir::open_ambient_dir(&parent, ambient_authority()) else { continue };
        for entry in dir.entries().into_iter().flatten().flatten() {
            if entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX)) {
                let _ = dir.remove_dir(entry.file_name());
            }
        }
    }
}

/// The directories of our own group for memory and for processes: two in version 1, one in 2.
fn parents(own: &str, mounts: &str) -> Vec<PathBuf> {
    // Lines of `hierarchy:controllers:path`.
    let group = |controller: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            controllers.split(',').any(|it| it == controller).then(|| path.to_owned())
        })
    };
    let (Some(memory), Some(pids)) = (group("memory"), group("pids")) else {
        let place = group("").and_then(|path| mounted(mounts, "cgroup2", "", &path));
        return place.into_iter().collect();
    };
    let memory = mounted(mounts, "cgroup", "memory", &memory);
    let pids = mounted(mounts, "cgroup", "pids", &pids);
    memory.into_iter().chain(pids).collect()
}

/// Where a group's directory is. A container sees only a part of the tree, by its own name.
fn mounted(mounts: &str, kind: &str, controller: &str, path: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (place, system) = line.split_once(" - ")?;
        let mut system = system.split(' ');
        let is_kind = system.next()? == kind;
        let options = system.nth(1)?;
        let is_it = controller.is_empty() || options.split(',').any(|it| it == controller);
        if !is_kind || !is_it {
            return None;
        }
        let mut place = place.split(' ').skip(3);
        let (root, point) = (place.next()?, Path::new(place.next()?));
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
        Some(point.join(below.strip_prefix("/").unwrap_or(below)))
    })
}

fn make(place: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(place, rustix::fs::Mode::RWXU) {
        // Of a server that was killed.
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(err) => Err(err.into()),
    }
}

fn write(file: &Path, value: &str) -> io::Result<()> {
    let options = OpenOptions::new().write(true).clone();
    let mut file = cap_std::fs::File::open_ambient_with(file, &options, ambient_authority())?;
    file.write_all(value.as_bytes())
}

fn text(path: impl AsRef<Path>) -> Option<String> {
    let bytes = crate::private::read_capped(path.as_ref(), 1024 * 1024).ok()?;
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_is_found() {
        let one = "9:pids:/a\n4:memory,hugetlb:/a/b\n0::/\n";
        let mounts = "\
            30 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory,hugetlb\n\
            31 24 0:28 /a /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids\n\
            32 24 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let found = ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/pids"].map(PathBuf::from);
        assert_eq!(parents(one, mounts), found);
        let found = [PathBuf::from("/sys/fs/cgroup/unified/user.slice")];
        assert_eq!(parents("0::/user.slice\n", mounts), found);
        assert!(parents("", mounts).is_empty());
    }
}
