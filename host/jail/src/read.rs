//! Looking at the workspace: what a path is, the bytes of a file, the names in a directory.
//!
//! Nothing here changes anything, and nothing but regular files is ever opened for its bytes.

use std::io::{Seek, SeekFrom};

use crate::entry::{Content, Entry, EntryKind};
use crate::fault::Fault;
use crate::handles;
use crate::jail::Jail;
use crate::observations::Observations;
use crate::path::JailPath;
use crate::resolve::LastLink;
use crate::search::walk::join;
use crate::unfinished::is_temporary;
use crate::version;

/// The most bytes one read returns: a guest must be able to hold them in its memory.
pub const MAX_READ_BYTES: u64 = 8 * 1024 * 1024;

impl Jail {
    /// What is at `path`; a link is followed.
    ///
    /// # Errors
    /// `not-found` with the nearest names; `denied` for a link that leads out.
    pub fn stat(&self, path: &JailPath) -> Result<Entry, Fault> {
        let stat = self.place(path, LastLink::Follow)?.existing(path)?;
        Ok(entry(path.clone(), &stat))
    }

    /// Reads `length` bytes from `offset`; a length of 0 means to the end. At most
    /// [`MAX_READ_BYTES`] come back, whatever was asked; past the end there are none.
    ///
    /// # Errors
    /// `not-found`, `denied` as for [`Jail::stat`]; `unsupported` for what is no regular file.
    pub fn read(&self, path: &JailPath, offset: u64, length: u64) -> Result<Content, Fault> {
        let (mut file, stat) = self.place(path, LastLink::Follow)?.open_file(path)?;
        let failed = |err| Fault::from_io("read", path, &err);
        let length = if length == 0 { MAX_READ_BYTES } else { length.min(MAX_READ_BYTES) };
        if let Some(mut bytes) = version::read_hashed(&file, stat.size_bytes).map_err(failed)? {
            let version = version::of_bytes(&bytes, &stat);
            let size_bytes = bytes.len() as u64;
            let start = offset.min(size_bytes);
            let end = start.saturating_add(length).min(size_bytes);
            bytes.truncate(end as usize);
            bytes.drain(..start as usize);
            return Ok(Content { bytes, version, size_bytes });
        }
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let left = stat.size_bytes.saturating_sub(offset);
        let bytes = handles::read_up_to(&file, length, left).map_err(failed)?;
        let version = version::of_stat(&stat);
        Ok(Content { bytes, version, size_bytes: stat.size_bytes })
    }

    /// What is directly in a directory, sorted by name; links are shown as links.
    ///
    /// # Errors
    /// `not-found`, `denied`; `unsupported` when `path` is no directory.
    pub fn entries(&self, path: &JailPath) -> Result<Vec<Entry>, Fault> {
        let place = self.place(path, LastLink::Follow)?;
        let dir = place.open_dir(path)?;
        let failed = |err| Fault::from_io("list", path, &err);
        let mut entries = Vec::new();
        for listed in dir.entries().map_err(failed)? {
            let name = listed.map_err(failed)?.file_name();
            if is_temporary(&name) {
                continue;
            }
            // A name that is gone by now was never there.
            let Ok(stat) = handles::stat_at(&dir, &name) else {
                continue;
            };
            let name = name.to_string_lossy();
            let is_directory = stat.kind == EntryKind::Directory;
            if path.inside_spill().is_none() && !self.shows(&join(&place.real, &name), is_directory)
            {
                continue;
            }
            let below = if path.is_root() { name.into_owned() } else { format!("{path}/{name}") };
            entries.push(entry(JailPath::trusted(below), &stat));
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Records that the model was shown the lines `first_line` to `last_line`, counted from 1, of
    /// exactly this version. An empty file is recorded with a `last_line` of 0.
    ///
    /// # Errors
    /// `not-found`, `denied`, `unsupported` as for [`Jail::read`].
    pub fn mark_shown(
        &self,
        path: &JailPath,
        version: &str,
        first_line: u64,
        last_line: u64,
        seen: &Observations,
    ) -> Result<(), Fault> {
        let place = self.place(path, LastLink::Follow)?;
        crate::resolve::must_be_file(path, &place.existing(path)?)?;
        seen.shown(&place.real, version, first_line, last_line);
        Ok(())
    }
}

pub(crate) fn entry(path: JailPath, stat: &handles::Stat) -> Entry {
    let size_bytes = if stat.kind == EntryKind::Directory { 0 } else { stat.size_bytes };
    Entry { path, kind: stat.kind, size_bytes, modified_ms: stat.modified_ms() }
}
