//! The few system calls that cap-std has no words for, on one name beneath an open directory.
//!
//! Every function takes a directory handle and a single name, and none follows a symbolic link:
//! whoever holds a handle can reach what lies directly in it and nothing else. A name with a `/`
//! or the name `..` is refused here, whatever the caller checked before.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::fd::AsFd;

use cap_std::fs::{Dir, File};
use nix::fcntl::{AtFlags, OFlag, RenameFlags, openat, renameat2};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchown, unlinkat};

use crate::entry::EntryKind;

/// What the system says about one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
    /// Permission bits alone, with set-id and sticky bits.
    pub(crate) mode: u32,
    pub(crate) kind: EntryKind,
    /// What `kind` calls `other`, by name.
    pub(crate) other: &'static str,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) size_bytes: u64,
    /// Seconds and nanoseconds since 1970.
    pub(crate) modified: (i64, i64),
    /// Seconds and nanoseconds since 1970.
    pub(crate) changed: (i64, i64),
}

/// Never negative.
fn milliseconds((seconds, nanoseconds): (i64, i64)) -> u64 {
    u64::try_from(seconds * 1000 + nanoseconds / 1_000_000).unwrap_or(0)
}

impl Stat {
    /// Milliseconds since 1970, never negative.
    pub(crate) fn modified_ms(&self) -> u64 {
        milliseconds(self.modified)
    }

    /// Of data or name, which no program can set back; milliseconds since 1970, never negative.
    pub(crate) fn changed_ms(&self) -> u64 {
        milliseconds(self.changed)
    }

    // The widths of these fields differ between platforms, so the conversions are needed on some.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    fn from_raw(raw: &FileStat) -> Stat {
        let format = SFlag::from_bits_truncate(raw.st_mode) & SFlag::S_IFMT;
        let (kind, other) = match format {
            SFlag::S_IFREG => (EntryKind::File, ""),
            SFlag::S_IFDIR => (EntryKind::Directory, ""),
            SFlag::S_IFLNK => (EntryKind::Symlink, ""),
            SFlag::S_IFIFO => (EntryKind::Other, "a FIFO"),
            SFlag::S_IFSOCK => (EntryKind::Other, "a socket"),
            _ => (EntryKind::Other, "a device"),
        };
        Stat {
            device: raw.st_dev as u64,
            inode: raw.st_ino as u64,
            links: raw.st_nlink as u64,
            mode: u32::from(raw.st_mode) & 0o7777,
            kind,
            other,
            uid: raw.st_uid,
            gid: raw.st_gid,
            size_bytes: u64::try_from(raw.st_size).unwrap_or(0),
            modified: (raw.st_mtime as i64, raw.st_mtime_nsec as i64),
            changed: (raw.st_ctime as i64, raw.st_ctime_nsec as i64),
        }
    }
}

/// What is at `name`, without following a link.
pub(crate) fn stat_at(dir: &Dir, name: &OsStr) -> io::Result<Stat> {
    single(name)?;
    Ok(Stat::from_raw(&fstatat(dir, name, AtFlags::AT_SYMLINK_NOFOLLOW)?))
}

/// What an open handle is.
pub(crate) fn stat_of(handle: impl AsFd) -> io::Result<Stat> {
    Ok(Stat::from_raw(&fstat(handle)?))
}

/// Opens a file to read. Non-blocking, so that a FIFO put there meanwhile cannot hold us up; the
/// caller checks what it got.
pub(crate) fn open_file_at(dir: &Dir, name: &OsStr) -> io::Result<File> {
    open_at(dir, name, OFlag::O_RDONLY | OFlag::O_NONBLOCK, Mode::empty())
}

/// Reads what follows in an open file, up to `most` bytes; about `expected` are there.
pub(crate) fn read_up_to(file: &File, most: u64, expected: u64) -> io::Result<Vec<u8>> {
    // One byte more than expected tells the end without another buffer.
    let mut bytes = Vec::with_capacity(expected.min(most) as usize + 1);
    // The plain file reads into memory that was not cleared first.
    file.try_clone()?.into_std().take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Creates a new file to write; fails when anything is there.
pub(crate) fn create_file_at(dir: &Dir, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL;
    open_at(dir, name, flags, Mode::from_bits_truncate(mode))
}

/// Opens a directory only to reach what lies in it, which needs no right to list it.
pub(crate) fn enter_at(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    let opened = open_at(dir, name, OFlag::O_PATH | OFlag::O_DIRECTORY, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into_std()))
}

/// Opens a directory to list it.
pub(crate) fn open_dir_at(dir: &Dir, name: &OsStr) -> io::Result<Dir> {
    let opened = open_at(dir, name, OFlag::O_RDONLY | OFlag::O_DIRECTORY, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into_std()))
}

fn open_at(dir: &Dir, name: &OsStr, flags: OFlag, mode: Mode) -> io::Result<File> {
    single(name)?;
    let fixed = OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    let handle = openat(dir, name, flags | fixed, mode)?;
    Ok(File::from_std(handle.into()))
}

/// Swaps two names of one directory in one step. `unsupported` where the file system cannot.
pub(crate) fn exchange_at(dir: &Dir, one: &OsStr, other: &OsStr) -> io::Result<()> {
    rename(dir, one, dir, other, RenameFlags::RENAME_EXCHANGE)
}

/// Renames, replacing what is at the new name.
pub(crate) fn replace_at(dir: &Dir, old: &OsStr, new: &OsStr) -> io::Result<()> {
    rename(dir, old, dir, new, RenameFlags::empty())
}

/// Renames, and fails when anything is at the new name.
pub(crate) fn rename_new_at(
    old_dir: &Dir,
    old: &OsStr,
    new_dir: &Dir,
    new: &OsStr,
) -> io::Result<()> {
    rename(old_dir, old, new_dir, new, RenameFlags::RENAME_NOREPLACE)
}

fn rename(
    old_dir: &Dir,
    old: &OsStr,
    new_dir: &Dir,
    new: &OsStr,
    flags: RenameFlags,
) -> io::Result<()> {
    single(old)?;
    single(new)?;
    Ok(renameat2(old_dir, old, new_dir, new, flags)?)
}

/// Removes a name that is not a directory.
pub(crate) fn remove_file_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    single(name)?;
    Ok(unlinkat(dir, name, UnlinkatFlags::NoRemoveDir)?)
}

/// Removes an empty directory.
pub(crate) fn remove_dir_at(dir: &Dir, name: &OsStr) -> io::Result<()> {
    single(name)?;
    Ok(unlinkat(dir, name, UnlinkatFlags::RemoveDir)?)
}

/// Gives an open file an owner and a group.
pub(crate) fn set_owner(file: &File, uid: u32, gid: u32) -> io::Result<()> {
    Ok(fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))?)
}

/// Gives an open file its permission bits.
pub(crate) fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    Ok(nix::sys::stat::fchmod(file, Mode::from_bits_truncate(mode))?)
}

fn single(name: &OsStr) -> io::Result<()> {
    let bytes = name.as_encoded_bytes();
    if bytes.is_empty() || bytes == b".." || bytes.contains(&b'/') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a single name"));
    }
    Ok(())
}
