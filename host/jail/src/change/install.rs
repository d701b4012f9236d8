//! Putting new bytes in place, in one step that readers see as before or after.
//!
//! The bytes go to a temporary file beside the target, are synced, and change places with the
//! target. What came out is compared with what was read: if someone wrote in between, the exchange
//! is undone and the change refused. Nothing is ever written into the target itself.

use std::ffi::OsStr;
use std::io::{self, Read, Write};

use cap_std::fs::{Dir, File};
use nix::errno::Errno;

use crate::change::{Current, attributes, basis};
use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles;
use crate::jail::Jail;
use crate::path::JailPath;
use crate::resolve::Place;
use crate::unfinished::{Record, temporary_name};
use crate::version;

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
    let name = place.name.as_deref().expect("a writable place has a name");
    let mut notes = Vec::new();
    let mode = current.map_or(NEW_FILE_MODE, |current| current.stat.mode & 0o600);
    let (temporary, mut file) = Temporary::create(jail, place, mode).map_err(failed)?;
    if let Some(current) = current {
        keep_owner_and_mode(&file, current, &mut notes).map_err(failed)?;
        if current.stat.links > 1 {
            notes.push("the file was a hard link: its other names keep the old content".to_owned());
        }
    }
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    match current {
        None => put_new(&temporary, name).map_err(failed)?,
        Some(current) => {
            let made = handles::stat_of(&file).map_err(failed)?;
            let ours = (made.device, made.inode);
            put_over(&temporary, ours, name, path, current, &mut notes)?;
        }
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
    ours: (u64, u64),
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
    match put_back(dir, temporary.name(), OsStr::new(name), ours) {
        Ok(()) => Err(basis::changed(path)),
        Err(_) => {
            notes.push("the file changed while it was written, and that change is lost".to_owned());
            Ok(())
        }
    }
}

/// Exchanges back what came out, for someone else had put it there. Where yet another file has
/// taken the place of the one we had put there, that one is the latest word, and goes back instead.
fn put_back(dir: &Dir, temporary: &OsStr, name: &OsStr, ours: (u64, u64)) -> io::Result<()> {
    let held = || handles::stat_at(dir, temporary).map(|stat| (stat.device, stat.inode));
    let mut placed = ours;
    loop {
        let next = held()?;
        handles::exchange_at(dir, temporary, name)?;
        if held()? == placed {
            return Ok(());
        }
        placed = next;
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
    /// Goes after the file, so that a kill between the two leaves nothing unknown.
    _record: Option<Record>,
}

impl<'a> Temporary<'a> {
    fn create(jail: &'a Jail, place: &'a Place, mode: u32) -> io::Result<(Temporary<'a>, File)> {
        let name = temporary_name();
        let above = place.real.rsplit_once('/').map_or("", |(above, _)| above);
        let record = jail.unfinished.as_ref();
        // A write that cannot be remembered is as good as any other, unless it is killed.
        let record = record.and_then(|all| all.record(&jail.root().join(above), &name).ok());
        let file = handles::create_file_at(&place.dir, OsStr::new(&name), mode)?;
        Ok((Temporary { dir: &place.dir, name, _record: record }, file))
    }

    fn name(&self) -> &OsStr {
        OsStr::new(&self.name)
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        // After a plain rename nothing is there any more.
        let _ = handles::remove_file_at(self.dir, self.name());
    }
}

/// The fault for a name that was taken while we worked.
pub(super) fn appeared(path: &JailPath) -> Fault {
    Fault::new(FaultKind::Conflict, format!("`{path}` already exists"))
        .with_hint("look at what is there first")
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "what is on disk is looked at from outside")]
mod tests {
    use super::*;
    use cap_std::ambient_authority;

    /// What is put back is the latest word: what came out, or what came in its place since.
    #[test]
    fn put_back_what_others_wrote() {
        for (there_now, expected) in [("ours", "theirs"), ("later", "later")] {
            let temp = tempfile::tempdir().expect("a temporary directory");
            let put = |name: &str, text: &str| std::fs::write(temp.path().join(name), text);
            put("temporary", "theirs").expect("a file");
            put("ours", "ours").expect("a file");
            put("later", "later").expect("a file");
            let dir = Dir::open_ambient_dir(temp.path(), ambient_authority()).expect("opened");
            let ours = handles::stat_at(&dir, OsStr::new("ours")).expect("there");
            std::fs::rename(temp.path().join(there_now), temp.path().join("f")).expect("renamed");
            put_back(&dir, "temporary".as_ref(), "f".as_ref(), (ours.device, ours.inode))
                .expect("exchanged");
            let text = std::fs::read_to_string(temp.path().join("f")).expect("there");
            assert_eq!(text, expected);
        }
    }
}
