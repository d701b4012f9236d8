//! Putting new bytes in place, in one step that readers see as before or after.
//!
//! The bytes go to a temporary file beside the target, are synced, and change places with the
//! target. What came out is compared with what was read: if someone wrote in between, the exchange
//! is undone and the change refused. Nothing is ever written into the target itself.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, File};
use nix::errno::Errno;

use crate::change::{Current, TEMPORARY_PREFIX, attributes, basis, is_temporary};
use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles;
use crate::jail::Jail;
use crate::path::JailPath;
use crate::resolve::Place;
use crate::version;

/// How old a temporary file must be to count as left over: no write takes this long.
const LEFTOVER_AGE: Duration = Duration::from_secs(600);

/// What came out of an exchange is compared in blocks of this size.
const COMPARED_BYTES: usize = 256 * 1024;

/// Permission bits of a new file before the process's mask.
const NEW_FILE_MODE: u32 = 0o666;

/// What was put in place.
pub(super) struct Installed {
    pub(super) version: String,
    pub(super) note: Option<String>,
}

/// Installs `bytes` at the place, where `current` was found.
pub(super) fn install(
    jail: &Jail,
    place: &Place,
    path: &JailPath,
    current: Option<&Current>,
    bytes: &[u8],
) -> Result<Installed, Fault> {
    let failed = |err: io::Error| Fault::from_io("write", path, &err);
    sweep(jail, &place.dir);
    let name = place.name.as_deref().expect("a writable place has a name");
    let mut notes = Vec::new();
    let mode = current.map_or(NEW_FILE_MODE, |current| current.stat.mode & 0o600);
    let (temporary, mut file) = Temporary::create(&place.dir, mode).map_err(failed)?;
    if let Some(current) = current {
        keep_owner_and_mode(&file, current, &mut notes).map_err(failed)?;
        if current.stat.links > 1 {
            notes.push("the file was a hard link: its other names keep the old content".to_owned());
        }
    }
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    match current {
        None => put_new(&temporary, name).map_err(failed)?,
        Some(current) => put_over(&temporary, name, path, current, &mut notes)?,
    }
    drop(temporary);
    let stat = handles::stat_of(&file).map_err(failed)?;
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    Ok(Installed { version: version::of_bytes(bytes, &stat), note })
}

/// The owner first: changing it clears the set-id bits.
fn keep_owner_and_mode(file: &File, current: &Current, notes: &mut Vec<String>) -> io::Result<()> {
    let made = handles::stat_of(file)?;
    let (uid, gid) = (current.stat.uid, current.stat.gid);
    let mut mode = current.stat.mode;
    if (made.uid, made.gid) != (uid, gid) && handles::set_owner(file, uid, gid).is_err() {
        notes.push("the owner or group of the file could not be kept".to_owned());
        // Set-id bits would now speak for someone else.
        mode &= 0o1777;
    }
    let lost = attributes::copy(&current.file, file);
    if !lost.is_empty() {
        notes.push(format!("could not keep the attributes {}", lost.join(", ")));
    }
    // The mode last: an access list changes it, and the old mode is in step with the old list.
    handles::set_mode(file, mode)
}

fn put_new(temporary: &Temporary<'_>, name: &str) -> io::Result<()> {
    let name = OsStr::new(name);
    match handles::rename_new_at(temporary.dir, temporary.name(), temporary.dir, name) {
        // A second name for the file is as exclusive, where the flag is not known.
        Err(err) if is_unknown_flag(&err) => {
            temporary.dir.hard_link(temporary.name(), temporary.dir, name)
        }
        done => done,
    }
}

fn put_over(
    temporary: &Temporary<'_>,
    name: &str,
    path: &JailPath,
    current: &Current,
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    let failed = |err: io::Error| Fault::from_io("write", path, &err);
    let dir = temporary.dir;
    // The cheap look first: it spares the exchange and its undoing in the common case of a change.
    let now = handles::stat_at(dir, OsStr::new(name)).map_err(failed)?;
    if !is_same(&now, current) && !has_same_bytes(dir, OsStr::new(name), current) {
        return Err(basis::changed(path));
    }
    match handles::exchange_at(dir, temporary.name(), OsStr::new(name)) {
        Ok(()) => {}
        Err(err) if is_unknown_flag(&err) => {
            return handles::replace_at(dir, temporary.name(), OsStr::new(name)).map_err(failed);
        }
        Err(err) => return Err(failed(err)),
    }
    if has_same_bytes(dir, temporary.name(), current) {
        return Ok(());
    }
    match handles::exchange_at(dir, temporary.name(), OsStr::new(name)) {
        Ok(()) => Err(basis::changed(path)),
        Err(_) => {
            notes.push("the file changed while it was written, and that change is lost".to_owned());
            Ok(())
        }
    }
}

/// Whether the system still says the same about the file; a rename changes the last field alone.
fn is_same(now: &handles::Stat, current: &Current) -> bool {
    let then = &current.stat;
    (now.device, now.inode, now.size_bytes, now.modified)
        == (then.device, then.inode, then.size_bytes, then.modified)
}

/// Whether the file at `name` has the bytes that were read.
fn has_same_bytes(dir: &Dir, name: &OsStr, current: &Current) -> bool {
    let same = || -> io::Result<bool> {
        let mut file = handles::open_file_at(dir, name)?;
        if handles::stat_of(&file)?.kind != EntryKind::File {
            return Ok(false);
        }
        let mut left = &current.bytes[..];
        let mut block = vec![0; COMPARED_BYTES];
        loop {
            match file.read(&mut block)? {
                0 => return Ok(left.is_empty()),
                len => match left.split_at_checked(len) {
                    Some((head, rest)) if head == &block[..len] => left = rest,
                    _ => return Ok(false),
                },
            }
        }
    };
    // What cannot be opened, as a link that was put there, is not what was read before.
    same().unwrap_or(false)
}

pub(super) fn is_unknown_flag(err: &io::Error) -> bool {
    let errno = err.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP))
}

/// A temporary file, gone when this is dropped, whatever then bears its name.
struct Temporary<'a> {
    dir: &'a Dir,
    name: String,
}

impl<'a> Temporary<'a> {
    fn create(dir: &'a Dir, mode: u32) -> io::Result<(Temporary<'a>, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{TEMPORARY_PREFIX}{}-{number}", std::process::id());
            match handles::create_file_at(dir, OsStr::new(&name), mode) {
                Ok(file) => return Ok((Temporary { dir, name }, file)),
                Err(err) if err.kind() == io::ErrorKind::AlreadyExists => {}
                Err(err) => return Err(err),
            }
        }
    }

    fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a plain rename nothing is there any more; a name that stays is swept later.
        let _ = handles::remove_file_at(self.dir, self.name());
    }
}

/// Removes temporary files that a kill left in this directory; once per directory and jail, and
/// again while there are some that may be another writer's.
fn sweep(jail: &Jail, dir: &Dir) {
    let Ok(stat) = handles::stat_of(dir) else {
        return;
    };
    let identity = (stat.device, stat.inode);
    if jail.swept.lock().map_or(true, |swept| swept.contains(&identity)) {
        return;
    }
    let mut is_clean = true;
    let Ok(entries) = dir.entries() else { return };
    let oldest = SystemTime::now() - LEFTOVER_AGE;
    let oldest = oldest.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |age| age.as_millis());
    for name in entries.flatten().map(|entry| entry.file_name()).filter(|name| is_temporary(name)) {
        let is_old =
            handles::stat_at(dir, &name).is_ok_and(|stat| u128::from(stat.modified_ms()) < oldest);
        is_clean &= is_old && handles::remove_file_at(dir, &name).is_ok();
    }
    if is_clean && let Ok(mut swept) = jail.swept.lock() {
        swept.insert(identity);
    }
}

/// The fault for a name that was taken while we worked.
pub(super) fn appeared(path: &JailPath) -> Fault {
    Fault::new(FaultKind::Conflict, format!("`{path}` already exists"))
        .with_hint("look at what is there first")
}
