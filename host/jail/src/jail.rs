//! The jail: an open workspace, and the only way to it.
//!
//! A [`Jail`] holds a directory handle, opened once; every access goes beneath that handle and none
//! by a host path. Commands alone need the host path, so it is kept for them. Reading, searching,
//! changing and running stand in files of their own; this one opens the jail and finds places in it.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use nix::unistd::{User, geteuid};

use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles::{self, Stat};
use crate::path::JailPath;
use crate::resolve::{self, LastLink, Place};
use crate::scope::{Globs, Scope};
use crate::spill::SpillDir;
use crate::unfinished::Unfinished;

/// Why a directory cannot be a workspace. Read by the client or the operator, who named it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is there.
    #[error("workspace `{}` does not exist", .0.display())]
    NotFound(PathBuf),
    /// A file is there.
    #[error("workspace `{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The whole machine would be the workspace.
    #[error("workspace `/` is the root of the file system: name a directory below it")]
    FilesystemRoot,
    /// The kernel's own, seen as files: whoever writes there changes the machine.
    #[error("workspace `{}` is the system's own: name a directory of files", .0.display())]
    SystemDirectory(PathBuf),
    /// Keys and mail would be in the workspace.
    #[error("workspace `{}` is the home directory itself: name a directory inside it", .0.display())]
    HomeDirectory(PathBuf),
    /// The operating system refused.
    #[error("workspace `{}` could not be opened", path.display())]
    Io {
        /// The directory that was to be opened: the workspace or its spill directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl OpenError {
    /// True when the process, or the machine, has no handle left.
    pub fn is_out_of_handles(&self) -> bool {
        let code = match self {
            OpenError::Io { source, .. } => source.raw_os_error(),
            _ => None,
        };
        matches!(code, Some(nix::libc::EMFILE | nix::libc::ENFILE))
    }
}

/// An open workspace. Shared freely between threads; all methods take `&self`.
#[derive(Debug)]
pub struct Jail {
    pub(crate) dir: Dir,
    root: PathBuf,
    /// The absolute spellings under which the model may know the root.
    roots: Vec<String>,
    pub(crate) spill_dir: Option<SpillDir>,
    /// Where writes are remembered, so that the next one to open the workspace can sweep.
    pub(crate) unfinished: Option<Unfinished>,
    /// What may be reached of it all.
    pub(crate) scope: Scope,
}

impl Jail {
    /// Opens `root` as a workspace; `spill` is an existing directory of the server's own for
    /// outputs too long to show.
    ///
    /// # Errors
    /// [`OpenError`] when `root` is missing, not a directory, `/` or the home directory.
    pub fn open(root: &Path, spill: Option<&Path>) -> Result<Jail, OpenError> {
        let failed = |err: io::Error| match err.kind() {
            io::ErrorKind::NotFound => OpenError::NotFound(root.to_owned()),
            io::ErrorKind::NotADirectory => OpenError::NotADirectory(root.to_owned()),
            _ => OpenError::Io { path: root.to_owned(), source: err },
        };
        let canonical = root.canonicalize().map_err(failed)?;
        if canonical == Path::new("/") {
            return Err(OpenError::FilesystemRoot);
        }
        if is_system(&canonical) {
            return Err(OpenError::SystemDirectory(canonical));
        }
        if homes().contains(&canonical) {
            return Err(OpenError::HomeDirectory(canonical));
        }
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        let spill_dir = match spill {
            None => None,
            Some(path) => Some(
                SpillDir::open(path)
                    .map_err(|source| OpenError::Io { path: path.to_owned(), source })?,
            ),
        };
        let mut roots = Vec::new();
        for spelling in [canonical.as_path(), root] {
            if let (true, Some(text)) = (spelling.is_absolute(), spelling.to_str()) {
                roots.push(text.to_owned());
            }
        }
        roots.dedup();
        Ok(Jail {
            dir,
            root: canonical,
            roots,
            spill_dir,
            unfinished: None,
            scope: Scope::default(),
        })
    }

    /// The same workspace, of which no more than `scope` can be reached. Outputs that were spilled can
    /// be read as before.
    ///
    /// # Errors
    /// When no more handles are to be had.
    pub fn narrowed(&self, scope: Scope) -> io::Result<Jail> {
        Ok(Jail {
            dir: self.dir.try_clone()?,
            root: self.root.clone(),
            roots: self.roots.clone(),
            spill_dir: self.spill_dir.as_ref().map(SpillDir::try_clone).transpose()?,
            unfinished: self.unfinished.clone(),
            scope,
        })
    }

    /// Whether the root's path still leads to the directory that is open: false once it was
    /// removed or made anew.
    pub fn is_current(&self) -> bool {
        let there = Dir::open_ambient_dir(&self.root, ambient_authority());
        let identity = |dir: &Dir| handles::stat_of(dir).map(|stat| (stat.device, stat.inode));
        match (there.and_then(|there| identity(&there)), identity(&self.dir)) {
            (Ok(there), Ok(open)) => there == open,
            _ => false,
        }
    }

    /// The canonical path of the workspace on the host, for commands and for locks.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The absolute spellings of the root.
    pub(crate) fn roots(&self) -> &[String] {
        &self.roots
    }

    /// Parses a path that came from outside. An absolute path inside the workspace becomes
    /// relative.
    ///
    /// # Errors
    /// `invalid-input` for NUL and over-long names, `denied` for what lies outside.
    pub fn parse(&self, raw: &str) -> Result<JailPath, Fault> {
        JailPath::parse(raw, &self.roots)
    }

    /// Where a path leads, links followed, beneath the root; what is missing is part of it. True until
    /// somebody changes what it leads through: to be told, not to be opened.
    ///
    /// # Errors
    /// As for every use of the path: it leads outside, or through what cannot be passed.
    pub fn destination(&self, path: &JailPath) -> Result<String, Fault> {
        Ok(self.place(path, LastLink::Follow)?.real)
    }

    /// Finds where a path leads, in the workspace or in the view of the spill directory, for what is
    /// to be read.
    pub(crate) fn place(&self, path: &JailPath, last_link: LastLink) -> Result<Place, Fault> {
        let place = self.find(path, last_link)?;
        let is_directory = place.stat.is_some_and(|stat| stat.kind == EntryKind::Directory);
        if path.inside_spill().is_some() || self.shows(&place.real, is_directory) {
            return Ok(place);
        }
        Err(match &self.scope.read {
            Some(globs) => globs.refuse(path, "read"),
            None => unreachable!("without a scope everything is shown"),
        })
    }

    /// Whether what is at `real` may be seen at all.
    pub(crate) fn shows(&self, real: &str, is_directory: bool) -> bool {
        let is_shown =
            |globs: &Globs| globs.admit(real) || (is_directory && globs.lead_through(real));
        self.scope.read.as_ref().is_none_or(is_shown)
    }

    fn find(&self, path: &JailPath, last_link: LastLink) -> Result<Place, Fault> {
        let place = match path.inside_spill() {
            None => resolve::resolve(&self.dir, &self.roots, path, last_link)?,
            Some(name) => self.spill_place(name, path)?,
        };
        let is_other = |stat: Stat| stat.kind != EntryKind::Directory;
        if path.names_directory() && place.stat.is_some_and(is_other) {
            return Err(Fault::new(
                FaultKind::NotFound,
                format!("`{path}/` does not exist: `{path}` is not a directory"),
            ));
        }
        Ok(place)
    }

    /// The same for a path that is to be changed: `.git` and the spill view are read-only.
    pub(crate) fn writable_place(
        &self,
        path: &JailPath,
        last_link: LastLink,
    ) -> Result<Place, Fault> {
        if path.inside_spill().is_some() {
            return Err(Fault::new(
                FaultKind::Denied,
                format!("`{path}` is in the read-only view of spilled outputs"),
            )
            .with_hint("write to a file elsewhere in the workspace"));
        }
        // Before resolving, so that the answer does not depend on what is there; and after, for the
        // links that lead there.
        let is_git = |part: &str| part.eq_ignore_ascii_case(".git");
        if path.parts().any(is_git) {
            return Err(git_is_read_only(path));
        }
        let place = self.find(path, last_link)?;
        if place.real.split('/').any(is_git) {
            return Err(git_is_read_only(path));
        }
        if place.name.is_none() {
            return Err(Fault::new(
                FaultKind::Denied,
                format!("`{path}` is the root of the workspace itself"),
            )
            .with_hint("name a file inside the workspace"));
        }
        if let Some(globs) = self.scope.write.as_ref().filter(|globs| !globs.admit(&place.real)) {
            return Err(globs.refuse(path, "change"));
        }
        Ok(place)
    }

    fn spill_place(&self, name: &str, path: &JailPath) -> Result<Place, Fault> {
        let no_such = || {
            Fault::new(FaultKind::NotFound, format!("there is no spilled output `{path}`"))
                .with_hint("use the path that the call with the long output named")
        };
        let spill_dir = self.spill_dir.as_ref().ok_or_else(no_such)?;
        let dir = spill_dir.dir.try_clone().map_err(|err| Fault::from_io("open", path, &err))?;
        let (name, stat) = if name.is_empty() {
            (None, handles::stat_of(&dir))
        } else if name.contains('/') {
            return Err(no_such());
        } else {
            (Some(name.to_owned()), handles::stat_at(&dir, OsStr::new(name)))
        };
        let stat = stat.map_err(|_| no_such())?;
        Ok(Place {
            dir,
            name,
            real: path.as_str().to_owned(),
            stat: Some(stat),
            missing_parents: Vec::new(),
            dangling: None,
        })
    }
}

/// Whether a directory holds what the kernel shows of itself, or devices.
fn is_system(canonical: &Path) -> bool {
    let is_below = |directory: &str| canonical.starts_with(directory);
    ["/proc", "/sys", "/dev"].into_iter().any(is_below) && !canonical.starts_with("/dev/shm")
}

/// Refuses a path such as `a/` for what is to become a file: none is made in its place.
pub(crate) fn must_not_name_directory(path: &JailPath) -> Result<(), Fault> {
    if path.names_directory() {
        return Err(Fault::new(
            FaultKind::InvalidInput,
            format!("`{path}/` names a directory, not a file"),
        )
        .with_hint("end the path with the name of the file, without a slash after it"));
    }
    Ok(())
}

fn git_is_read_only(path: &JailPath) -> Fault {
    Fault::new(
        FaultKind::Denied,
        format!("`{path}` is in `.git`, which is read-only to the file tools"),
    )
    .with_hint("use git commands in the shell to change the repository")
}

/// The home directories: the one the environment names and the one of the account.
fn homes() -> Vec<PathBuf> {
    let account = User::from_uid(geteuid()).ok().flatten().map(|user| user.dir);
    std::env::home_dir()
        .into_iter()
        .chain(account)
        .filter_map(|home| home.canonicalize().ok())
        .collect()
}
