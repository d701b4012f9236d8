//! Where things lie on disk: the ledger, fresh workspaces, spilled outputs.
//!
//! Paths of the server's own, made and named in one place; whoever needs one asks here. Never
//! looks into a workspace: that is the jail's.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use harness_jail::{
    Jail, OpenError, PrivateDir, directories_in, ensure_directory, real_path, remove_directory,
};

use crate::wire::chat::is_session_id;

/// The parent of fresh workspaces, when it lies under `state.dir`.
const WORKSPACES: &str = "workspaces";

/// Compiled plugins, under `state.dir`.
const COMPILED: &str = "compiled";

/// The layout under `state.dir`, and the parent of fresh workspaces.
pub struct Places {
    state: PrivateDir,
    /// Canonical, as every path here that is compared.
    state_path: PathBuf,
    workspaces: PathBuf,
    /// Whether other servers may make workspaces there too.
    shares_workspaces: bool,
    /// What a client may name lies under one of these; anywhere, when None.
    roots: Option<Vec<PathBuf>>,
    /// The configuration, and what it counts on: whoever could write there would rule the server.
    apart: Mutex<Vec<PathBuf>>,
}

/// Why the server's own directories cannot be used; for the operator.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// One cannot be made, or is not private.
    #[error("cannot use the directory `{}`", path.display())]
    Directory {
        /// As configured.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A workspace could be named that holds the ledger.
    #[error(
        "`workspace.root`, `{}`, and `state.dir`, `{}`, lie in one another\n\
         hint: set `workspace.root` to a directory beside the other one",
        root.display(), state_dir.display()
    )]
    Overlap {
        /// As configured.
        root: PathBuf,
        /// As configured.
        state_dir: PathBuf,
    },
}

/// A directory that cannot be a workspace. The text is fit for a client.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// Missing, no directory, or one that is never a workspace.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A name that JSON cannot carry.
    #[error("the directory's path is not UTF-8")]
    NotText,
    /// The server's own files lie in it, or around it. Where these lie is not the client's to know.
    #[error("the directory `{0}` holds the server's own directories, or lies in them")]
    ServersOwn(String),
    /// Under none of the configured roots.
    #[error("the directory lies under none of the server's `workspace.roots`, or there are none")]
    OutsideRoots,
}

/// A directory that a client named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Canonical.
    pub path: String,
    /// The session whose fresh workspace it is, or lies in, by its name. Whether there is such a
    /// session, and whose, is not known here.
    pub fresh_of: Option<String>,
}

impl Places {
    /// Creates what is missing, private to the server's user. The `roots` must exist.
    ///
    /// # Errors
    ///
    /// When a directory cannot be made, a root is not there, the state directory is not private, or
    /// it overlaps the parent of fresh workspaces.
    pub fn open(
        state_dir: &Path,
        workspace_root: Option<&Path>,
        roots: Option<&[PathBuf]>,
    ) -> Result<Places, LayoutError> {
        Places::check(state_dir, workspace_root)?;
        let unusable = |path: &Path| {
            let path = path.to_owned();
            move |source| LayoutError::Directory { path, source }
        };
        let state = PrivateDir::open(state_dir).map_err(unusable(state_dir))?;
        let state_path = ensure_directory(state_dir).map_err(unusable(state_dir))?;
        let own = state_path.join(WORKSPACES);
        let parent = workspace_root.map_or(own.clone(), Path::to_owned);
        let workspaces = ensure_directory(&parent).map_err(unusable(&parent))?;
        // Links show only now that both are there.
        check_overlap(&state_path, &workspaces)?;
        let canonical = |root: &PathBuf| match Jail::open(root, None) {
            Ok(jail) => Ok(jail.root().to_owned()),
            Err(err) => Err(unusable(root)(std::io::Error::other(err))),
        };
        let canonical = |roots: &[PathBuf]| roots.iter().map(canonical).collect();
        let roots = roots.map(canonical).transpose()?;
        let shares_workspaces = workspaces != own;
        let apart = Mutex::default();
        Ok(Places { state, state_path, workspaces, shares_workspaces, roots, apart })
    }

    /// Whether two directories could be such a layout, as far as their paths tell. Makes nothing.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Overlap`].
    pub fn check(state_dir: &Path, workspace_root: Option<&Path>) -> Result<(), LayoutError> {
        workspace_root.map_or(Ok(()), |root| check_overlap(state_dir, root))
    }

    /// Keeps these files and directories out of every workspace, instead of those named before.
    pub fn keep_apart(&self, paths: impl Iterator<Item = PathBuf>) {
        // As it is named too: a link inside a workspace could be made to lead elsewhere.
        let paths = paths.flat_map(|path| [real_path(&path), path]).collect();
        *self.apart.lock().unwrap_or_else(PoisonError::into_inner) = paths;
    }

    /// Where compiled plugins are kept.
    ///
    /// # Errors
    ///
    /// When it cannot be made, or is not private.
    pub fn compiled(&self) -> std::io::Result<PrivateDir> {
        Places::compiled_in(&self.state)
    }

    /// The same under a state directory of no running server.
    ///
    /// # Errors
    ///
    /// As [`Places::compiled`].
    pub fn compiled_in(state: &PrivateDir) -> std::io::Result<PrivateDir> {
        state.subdirectory(COMPILED)
    }

    /// Forgets the compiled plugins, with the key that vouches for them.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn forget_compiled(&self) -> std::io::Result<()> {
        self.state.remove(COMPILED)
    }

    /// The ledger's file.
    pub fn ledger(&self) -> PathBuf {
        Places::ledger_in(self.state.path())
    }

    /// The ledger's file under a state directory, which may not exist.
    pub fn ledger_in(state_dir: &Path) -> PathBuf {
        state_dir.join("ledger.sqlite")
    }

    /// An empty directory to lend to tools while they say what they offer.
    ///
    /// # Errors
    ///
    /// When it cannot be made or opened.
    pub fn scratch(&self) -> std::io::Result<Jail> {
        let scratch = self.state.subdirectory("scratch")?;
        Jail::open(scratch.path(), None).map_err(std::io::Error::other)
    }

    /// Makes the directory of a session's fresh workspace and returns it.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn fresh_workspace(&self, session: &str) -> std::io::Result<String> {
        let made = ensure_directory(&self.workspaces.join(session))?;
        made.into_os_string().into_string().map_err(|_| std::io::Error::other(PlaceError::NotText))
    }

    /// Opens a directory as the jail of a session, with the session's own place for spilled outputs.
    ///
    /// # Errors
    ///
    /// What is wrong with the directory; the text is fit for a client.
    pub fn jail(&self, directory: &str, session: &str) -> Result<Jail, OpenError> {
        let spill = self.state.subdirectory("spill").and_then(|dir| dir.subdirectory(session));
        let spill = match &spill {
            Ok(spill) => Some(spill.path()),
            Err(err) => {
                // A session without spill is better than none: long outputs are cut, and say so.
                tracing::warn!(session, "no place for spilled outputs: {err}");
                None
            }
        };
        let jail = Jail::open(Path::new(directory), spill)?;
        Ok(match self.state.subdirectory("unfinished") {
            Ok(own) => jail.remembering_writes(own),
            Err(err) => {
                // Writes are right without it; a kill in the middle of one leaves a file behind.
                tracing::warn!(session, "no place to remember unfinished writes: {err}");
                jail
            }
        })
    }

    /// Where the commands of a session keep their temporary files. Made when it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn temporary(&self, session: &str) -> std::io::Result<PathBuf> {
        let tmp = self.state.subdirectory("tmp")?.subdirectory(session)?;
        ensure_directory(tmp.path())
    }

    /// What of the server's own no command is to see.
    pub fn own(&self) -> [&Path; 2] {
        [&self.state_path, &self.workspaces]
    }

    /// The canonical form of a directory that a client named.
    ///
    /// # Errors
    ///
    /// Why it cannot be a workspace.
    pub fn canonical(&self, directory: &str) -> Result<Named, PlaceError> {
        let jail = Jail::open(Path::new(directory), None)?;
        let root = jail.root();
        let fresh_of = self.fresh_of(root).map(str::to_owned);
        let overlaps = root.starts_with(&self.state_path) || self.state_path.starts_with(root);
        // Whoever had the parent of fresh workspaces would have everyone's.
        let overlaps = overlaps || self.workspaces.starts_with(root);
        if (overlaps && fresh_of.is_none()) || !self.is_apart(root) {
            return Err(PlaceError::ServersOwn(directory.to_owned()));
        }
        if !self.is_allowed(root) {
            return Err(PlaceError::OutsideRoots);
        }
        let path = root.to_str().map(str::to_owned).ok_or(PlaceError::NotText)?;
        Ok(Named { path, fresh_of })
    }

    /// Whether a directory, by its canonical path, has nothing to do with what is kept apart.
    pub fn is_apart(&self, directory: &Path) -> bool {
        let apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
        !apart.iter().any(|own| own.starts_with(directory) || directory.starts_with(own))
    }

    /// Whether a client may work in a directory it named, by its canonical path: under a root, or in
    /// a fresh workspace, whose owner is not known here.
    pub fn is_allowed(&self, directory: &Path) -> bool {
        let mut roots = self.roots.iter().flatten();
        self.roots.is_none()
            || roots.any(|root| directory.starts_with(root))
            || self.fresh_of(directory).is_some()
    }

    /// The name of the fresh workspace that a directory is, or lies in.
    fn fresh_of<'a>(&self, directory: &'a Path) -> Option<&'a str> {
        let inside = directory.strip_prefix(&self.workspaces).ok()?;
        inside.iter().next()?.to_str().filter(|name| is_session_id(name))
    }

    /// Removes what a session leaves: its spilled outputs, and the workspace if we made it, wherever
    /// the parent of fresh workspaces was then. A directory of a client's is never touched.
    ///
    /// # Errors
    ///
    /// What the system says; the rest was tried all the same.
    pub fn remove_session(&self, session: &str, fresh: Option<&str>) -> std::io::Result<()> {
        let remove = |place| self.state.subdirectory(place).and_then(|dir| dir.remove(session));
        let (spill, tmp) = (remove("spill"), remove("tmp"));
        // Only under the name we gave it.
        let fresh = fresh.map(Path::new).filter(|path| path.ends_with(session));
        if let Some(parent) = fresh.and_then(Path::parent) {
            remove_directory(parent, session)?;
        }
        spill.and(tmp)
    }

    /// The names of directories that sessions left or have: fresh workspaces, places for spilled
    /// outputs and for temporary files, with the time of their last change in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn of_sessions(&self) -> std::io::Result<Vec<(String, u64)>> {
        let mut found = directories_in(&self.workspaces)?;
        for place in ["spill", "tmp"] {
            found.extend(directories_in(self.state.subdirectory(place)?.path())?);
        }
        found.retain(|(name, _)| is_session_id(name));
        Ok(found)
    }

    /// Whether other servers may make fresh workspaces where this one does.
    pub fn shares_workspaces(&self) -> bool {
        self.shares_workspaces
    }

    /// Opens a directory for looking at it.
    ///
    /// # Errors
    ///
    /// What is wrong with the directory.
    pub fn look(&self, directory: &str) -> Result<Jail, OpenError> {
        Jail::open(Path::new(directory), None)
    }

    /// Where the fresh workspace of a session lies.
    pub fn fresh_path(&self, session: &str) -> Option<String> {
        self.workspaces.join(session).into_os_string().into_string().ok()
    }
}

/// Every directory below the parent of fresh workspaces may be named as one, so nothing of the
/// server's may lie there.
fn check_overlap(state_dir: &Path, root: &Path) -> Result<(), LayoutError> {
    let overlap = state_dir.starts_with(root) || root.starts_with(state_dir);
    if overlap && root != state_dir.join(WORKSPACES) {
        let (root, state_dir) = (root.to_owned(), state_dir.to_owned());
        return Err(LayoutError::Overlap { root, state_dir });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_workspaces_holds_nothing_of_the_servers() {
        let check = |root: &str, fits: bool| {
            let checked = Places::check(Path::new("/s/state"), Some(Path::new(root)));
            assert_eq!(checked.is_ok(), fits, "{root}: {checked:?}");
        };
        check("/w", true);
        check("/s/statements", true);
        check("/s/state/workspaces", true);
        check("/s/state", false);
        check("/s", false);
        check("/", false);
        check("/s/state/spill", false);
        check("/s/state/workspaces/mine", false);
    }

    #[test]
    fn a_link_does_not_hide_that_they_overlap() {
        let directory = tempfile::tempdir().expect("a directory");
        let (state, link) = (directory.path().join("state"), directory.path().join("link"));
        Places::open(&state, None, None).expect("a layout");
        std::os::unix::fs::symlink(directory.path(), &link).expect("a link");
        let opened = Places::open(&state, Some(&link), None).map(|_| ());
        assert!(matches!(opened, Err(LayoutError::Overlap { .. })), "{opened:?}");
    }
}
