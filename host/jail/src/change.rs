//! Changing a file: read what is there, compare it with the basis, make the new bytes, install
//! them.
//!
//! Every change of content goes through [`Jail::change`], so no byte is replaced that nobody looked
//! at. The parts stand beside: `basis` decides, `splice` makes bytes, `install` puts them in place,
//! `diff` tells what happened, `tree` moves and removes.

use cap_std::fs::File;

use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles::{self, Stat};
use crate::jail::{Jail, must_not_name_directory};
use crate::lines::{self, LineSet};
use crate::observations::{Observations, Observed};
use crate::path::JailPath;
use crate::resolve::{LastLink, Place};
use crate::version;

mod attributes;
mod basis;
mod diff;
mod install;
mod splice;
mod tree;

pub use diff::{quoted, unified_diff};

/// The largest file that is changed, in bytes: old and new are held in memory together.
const MAX_CHANGED_BYTES: u64 = 64 * 1024 * 1024;

/// What a change assumes about the file it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    /// Nothing may exist at the path.
    Absent,
    /// The caller itself read this version during this call.
    Read(String),
    /// The model was shown at least one line of the version that is there now.
    Shown,
    /// The model was shown every line of the version that is there now.
    ShownWhole,
}

/// One replaced range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Where it starts, in bytes of the version that is replaced.
    pub offset: u64,
    /// How many bytes go.
    pub remove: u64,
    /// The bytes that come.
    pub insert: Vec<u8>,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The version that is there now; the one before when the bytes were the same.
    pub version: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Whether the file is new.
    pub created: bool,
    /// Unified diff against the replaced version, at most about 8 KiB; empty when nothing changed.
    pub diff: String,
    /// What could not be kept.
    pub note: Option<String>,
    /// The file itself, links followed, relative to the root.
    pub real: String,
    /// The bytes that were replaced; `None` when nothing was, or when they were the same.
    pub before: Option<Vec<u8>>,
}

/// The file as it was found.
struct Current {
    file: File,
    bytes: Vec<u8>,
    stat: Stat,
    version: String,
}

/// New content, and which of its lines the model knows.
struct Changed {
    bytes: Vec<u8>,
    known: LineSet,
}

impl Jail {
    /// Makes `bytes` the whole content of the file. Parents of a new file are created. A link is
    /// written through; mode and owner are kept; identical bytes are not written.
    ///
    /// # Errors
    /// `conflict` when the file is not what `basis` says, `denied` for `.git`, the spill view and
    /// links that lead out, `too-large` beyond 64 MiB.
    pub fn write(
        &self,
        path: &JailPath,
        bytes: &[u8],
        basis: &Basis,
        seen: &Observations,
    ) -> Result<Receipt, Fault> {
        self.change(path, basis, seen, |_, _| {
            Ok(Changed { bytes: bytes.to_vec(), known: LineSet::through(lines::count(bytes)) })
        })
    }

    /// Replaces ranges of a file, given in rising order and without overlap. Otherwise as
    /// [`Jail::write`].
    ///
    /// # Errors
    /// As [`Jail::write`]; `invalid-input` for ranges out of order or beyond the end, `not-found`
    /// when there is no file.
    pub fn patch(
        &self,
        path: &JailPath,
        replacements: &[Replacement],
        basis: &Basis,
        seen: &Observations,
    ) -> Result<Receipt, Fault> {
        self.change(path, basis, seen, |current, observed| {
            let Some(current) = current else {
                return Err(Fault::new(FaultKind::NotFound, format!("`{path}` does not exist")));
            };
            let bytes = splice::splice(&current.bytes, replacements)
                .map_err(|what| Fault::new(FaultKind::InvalidInput, format!("`{path}`: {what}")))?;
            let before = observed
                .filter(|observed| observed.version == current.version && !observed.is_forgotten)
                .map(|observed| observed.lines)
                .unwrap_or_default();
            let mut known = splice::shift(&before, &current.bytes, replacements);
            known.clip(lines::count(&bytes));
            Ok(Changed { bytes, known })
        })
    }

    fn change(
        &self,
        path: &JailPath,
        basis: &Basis,
        seen: &Observations,
        make: impl FnOnce(Option<&Current>, Option<Observed>) -> Result<Changed, Fault>,
    ) -> Result<Receipt, Fault> {
        let mut place = self.writable_place(path, LastLink::Follow)?;
        let current = load(&place, path)?;
        let observed = seen.of(&place.real);
        basis::check(path, &place, basis, current.as_ref(), observed.as_ref())?;
        let Changed { bytes, known } = make(current.as_ref(), observed)?;
        if bytes.len() as u64 > MAX_CHANGED_BYTES {
            return Err(too_large(path, bytes.len() as u64));
        }
        let size_bytes = bytes.len() as u64;
        if let Some(current) = current.as_ref().filter(|current| current.bytes == bytes) {
            seen.written(&place.real, &current.version, known);
            return Ok(Receipt {
                version: current.version.clone(),
                size_bytes,
                created: false,
                diff: String::new(),
                note: None,
                real: place.real.clone(),
                before: None,
            });
        }
        if current.is_none() {
            must_not_name_directory(path)?;
            tree::create_parents(&mut place, path)?;
        }
        let installed = install::install(self, &place, path, current.as_ref(), &bytes)?;
        seen.written(&place.real, &installed.version, known);
        Ok(Receipt {
            version: installed.version,
            size_bytes,
            created: current.is_none(),
            diff: diff::unified(path, current.as_ref().map(|current| &current.bytes[..]), &bytes),
            note: installed.note,
            real: place.real.clone(),
            before: current.map(|current| current.bytes),
        })
    }
}

/// Reads the file that is to be changed; `None` when nothing is there.
fn load(place: &Place, path: &JailPath) -> Result<Option<Current>, Fault> {
    let Some(stat) = place.stat else {
        return Ok(None);
    };
    if stat.kind == EntryKind::File && stat.size_bytes > MAX_CHANGED_BYTES {
        return Err(too_large(path, stat.size_bytes));
    }
    let (file, stat) = place.open_file(path)?;
    let bytes = handles::read_up_to(&file, MAX_CHANGED_BYTES + 1, stat.size_bytes)
        .map_err(|err| Fault::from_io("read", path, &err))?;
    if bytes.len() as u64 > MAX_CHANGED_BYTES {
        return Err(too_large(path, bytes.len() as u64));
    }
    let version = version::of_bytes(&bytes, &stat);
    Ok(Some(Current { file, bytes, stat, version }))
}

fn too_large(path: &JailPath, size_bytes: u64) -> Fault {
    Fault::new(
        FaultKind::TooLarge,
        format!(
            "`{path}` is {size_bytes} bytes, over the limit of {MAX_CHANGED_BYTES} for changes"
        ),
    )
    .with_hint("change it with a command in the shell")
}
