//! Where things lie on disk: the ledger, fresh workspaces, spilled outputs.
//!
//! Paths of the server's own, made and named in one place; whoever needs one asks here. Never
//! looks into a workspace: that is the jail's.

use std::path::{Path, PathBuf};

use harness_jail::{
    Jail, OpenError, PrivateDir, directories_in, ensure_directory, remove_directory,
};

/// The layout under `state.dir`, and the parent of fresh workspaces.
pub struct Places {
    state: PrivateDir,
    /// Canonical, as every path here that is compared.
    state_path: PathBuf,
    workspaces: PathBuf,
    /// Whether other servers may make workspaces there too.
    shares_workspaces: bool,
    /// What a client may name lies under one of these, when there are any.
    roots: Vec<PathBuf>,
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
    /// The server's own files lie in it, or around it.
    #[error("the directory holds the server's own state, or lies in it")]
    ServersOwn,
    /// Under none of the configured roots.
    #[error("the directory lies under none of the server's `workspace.roots`")]
    OutsideRoots,
}

impl Places {
    /// Creates what is missing, private to the server's user. The `roots` must exist.
    ///
    /// # Errors
    ///
    /// When a directory cannot be made, a root is not there, or the state directory is not private.
    pub fn open(
        state_dir: &Path,
        workspace_root: Option<&Path>,
        roots: &[PathBuf],
    ) -> std::io::Result<Places> {
        let state = PrivateDir::open(state_dir)?;
        let state_path = ensure_directory(state_dir)?;
        let workspaces = match workspace_root {
            Some(root) => ensure_directory(root)?,
            None => ensure_directory(&state_path.join("workspaces"))?,
        };
        let canonical = |root: &PathBuf| {
            let opened = Jail::open(root, None).map(|jail| jail.root().to_owned());
            opened.map_err(|err| std::io::Error::other(format!("workspace.roots: {err}")))
        };
        let roots = roots.iter().map(canonical).collect::<std::io::Result<_>>()?;
        let shares_workspaces = workspace_root.is_some();
        Ok(Places { state, state_path, workspaces, shares_workspaces, roots })
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
        Jail::open(Path::new(directory), spill)
    }

    /// The canonical form of a directory that a client named.
    ///
    /// # Errors
    ///
    /// Why it cannot be a workspace.
    pub fn canonical(&self, directory: &str) -> Result<String, PlaceError> {
        let jail = Jail::open(Path::new(directory), None)?;
        let root = jail.root();
        // Fresh workspaces lie under the state directory, and may be named by path.
        let is_fresh = root.starts_with(&self.workspaces) && root != self.workspaces;
        let overlaps = root.starts_with(&self.state_path) || self.state_path.starts_with(root);
        if overlaps && !is_fresh {
            return Err(PlaceError::ServersOwn);
        }
        let is_allowed = self.roots.is_empty() || self.roots.iter().any(|r| root.starts_with(r));
        if !is_allowed && !is_fresh {
            return Err(PlaceError::OutsideRoots);
        }
        root.to_str().map(str::to_owned).ok_or(PlaceError::NotText)
    }

    /// Removes what a session leaves: its spilled outputs, and the workspace if we made it. A
    /// directory of a client's is never touched.
    ///
    /// # Errors
    ///
    /// What the system says; the rest was tried all the same.
    pub fn remove_session(&self, session: &str, workspace: Option<&str>) -> std::io::Result<()> {
        let spill = self.state.subdirectory("spill").and_then(|dir| dir.remove(session));
        // Only what lies where we would put it, under the name we would give it.
        let made = workspace.is_some_and(|path| Path::new(path) == self.workspaces.join(session));
        if made {
            remove_directory(&self.workspaces, session)?;
        }
        spill
    }

    /// The names of fresh workspaces that are there, with the time of their last change in
    /// milliseconds since 1970. Empty where another server may have made some of them.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn fresh_workspaces(&self) -> std::io::Result<Vec<(String, u64)>> {
        if self.shares_workspaces {
            return Ok(Vec::new());
        }
        directories_in(&self.workspaces)
    }

    /// Where the fresh workspace of a session lies.
    pub fn fresh_path(&self, session: &str) -> Option<String> {
        self.workspaces.join(session).into_os_string().into_string().ok()
    }
}
