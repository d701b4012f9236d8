//! Directories made, names moved and removed.
//!
//! A move never replaces anything. A removal takes one file or one empty directory; a link is moved
//! or removed itself, never what it leads to.

use std::ffi::OsStr;
use std::io;

use nix::errno::Errno;

use crate::change::{Basis, basis, install, load};
use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles;
use crate::jail::{Jail, must_not_name_directory};
use crate::observations::Observations;
use crate::path::JailPath;
use crate::resolve::{LastLink, Place};

impl Jail {
    /// Creates a directory and its parents. One that exists already is fine.
    ///
    /// # Errors
    /// `conflict` when something else is there; `denied` for `.git` and the spill view.
    pub fn make_directory(&self, path: &JailPath) -> Result<(), Fault> {
        if path.is_root() {
            return Ok(());
        }
        let mut place = self.writable_place(path, LastLink::Follow)?;
        match place.stat.map(|stat| stat.kind) {
            Some(EntryKind::Directory) => Ok(()),
            Some(_) => Err(Fault::new(
                FaultKind::Conflict,
                format!("`{path}` already exists and is not a directory"),
            )),
            None => {
                create_parents(&mut place, path)?;
                create_directory(&place.dir, named(&place), path)
            }
        }
    }

    /// Moves a file, a directory or a link to a name where nothing is; parents are created. For a
    /// file the basis is checked; for anything else no content can be lost, and it is not. Returns
    /// the bytes of a regular file.
    ///
    /// # Errors
    /// `conflict` when the file is not what `basis` says or the new name is taken; `not-found`,
    /// `denied` as for writing.
    pub fn rename(
        &self,
        old_path: &JailPath,
        new_path: &JailPath,
        basis: &Basis,
        seen: &Observations,
    ) -> Result<Option<Vec<u8>>, Fault> {
        let old = self.writable_place(old_path, LastLink::Keep)?;
        let before = check_file(&old, old_path, basis, seen)?;
        let mut new = self.writable_place(new_path, LastLink::Keep)?;
        if new.stat.is_some() {
            return Err(install::appeared(new_path));
        }
        if old.existing(old_path)?.kind != EntryKind::Directory {
            must_not_name_directory(new_path)?;
        }
        create_parents(&mut new, new_path)?;
        let (old_name, new_name) = (OsStr::new(named(&old)), OsStr::new(named(&new)));
        let mut moved = handles::rename_new_at(&old.dir, old_name, &new.dir, new_name);
        if moved.as_ref().is_err_and(install::is_unknown_flag) {
            // Where the flag is not known, the look at the new name above has to do.
            moved = old.dir.rename(old_name, &new.dir, new_name);
        }
        moved.map_err(|err| match err.raw_os_error().map(Errno::from_raw) {
            Some(Errno::EEXIST) => install::appeared(new_path),
            Some(Errno::EINVAL) => Fault::new(
                FaultKind::InvalidInput,
                format!("`{old_path}` cannot be moved into itself, to `{new_path}`"),
            ),
            Some(Errno::EXDEV) => Fault::new(
                FaultKind::Unsupported,
                format!("`{new_path}` lies on another file system than `{old_path}`"),
            )
            .with_hint("move it with `mv` in the shell"),
            _ => Fault::from_io("move", old_path, &err),
        })?;
        seen.moved(&old.real, &new.real);
        Ok(before)
    }

    /// Removes a file, a link or an empty directory. The basis is checked as for [`Jail::rename`].
    /// Returns the bytes of a regular file.
    ///
    /// # Errors
    /// `conflict` when the file is not what `basis` says or the directory is not empty;
    /// `not-found`, `denied` as for writing.
    pub fn remove(
        &self,
        path: &JailPath,
        basis: &Basis,
        seen: &Observations,
    ) -> Result<Option<Vec<u8>>, Fault> {
        let place = self.writable_place(path, LastLink::Keep)?;
        let before = check_file(&place, path, basis, seen)?;
        let name = OsStr::new(named(&place));
        let removed = match place.existing(path)?.kind {
            EntryKind::Directory => handles::remove_dir_at(&place.dir, name),
            _ => handles::remove_file_at(&place.dir, name),
        };
        removed.map_err(|err| match err.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOTEMPTY) => {
                Fault::new(FaultKind::Conflict, format!("directory `{path}` is not empty"))
                    .with_hint("remove what is in it first")
            }
            _ => Fault::from_io("remove", path, &err),
        })?;
        seen.removed(&place.real);
        Ok(before)
    }
}

/// Creates the missing directories on the way to a place and moves the place into the last.
pub(super) fn create_parents(place: &mut Place, path: &JailPath) -> Result<(), Fault> {
    for parent in std::mem::take(&mut place.missing_parents) {
        create_directory(&place.dir, &parent, path)?;
        place.dir = handles::open_dir_at(&place.dir, OsStr::new(&parent))
            .map_err(|err| Fault::from_io("open the parents of", path, &err))?;
    }
    Ok(())
}

fn create_directory(dir: &cap_std::fs::Dir, name: &str, path: &JailPath) -> Result<(), Fault> {
    match dir.create_dir(name) {
        // Someone else made it meanwhile; opening it tells what it is.
        Err(err) if err.kind() != io::ErrorKind::AlreadyExists => {
            Err(Fault::from_io("create directories for", path, &err))
        }
        _ => Ok(()),
    }
}

fn named(place: &Place) -> &str {
    place.name.as_deref().expect("a writable place has a name")
}

/// Checks the basis for a regular file, and gives its bytes; a missing one is not found.
fn check_file(
    place: &Place,
    path: &JailPath,
    basis: &Basis,
    seen: &Observations,
) -> Result<Option<Vec<u8>>, Fault> {
    let stat = place.existing(path)?;
    if stat.kind != EntryKind::File {
        return Ok(None);
    }
    let current = load(place, path)?;
    basis::check(path, place, basis, current.as_ref(), seen.of(&place.real).as_ref())?;
    Ok(current.map(|current| current.bytes))
}
