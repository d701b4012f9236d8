//! Where things lie on disk: the ledger, fresh workspaces, spilled outputs.
//!
//! Paths of the server's own, made and named in one place; whoever needs one asks here. Never
//! looks into a workspace: that is the jail's.

use std::path::{Path, PathBuf};

use harness_jail::{Jail, OpenError, PrivateDir};

/// The layout under `state.dir`, and the parent of fresh workspaces.
pub struct Places {
    state: PrivateDir,
    workspaces: PathBuf,
}

impl Places {
    /// Creates what is missing, private to the server's user.
    ///
    /// # Errors
    ///
    /// When a directory cannot be made, or belongs to somebody else.
    pub fn open(state_dir: &Path, workspace_root: Option<&Path>) -> std::io::Result<Places> {
        let state = PrivateDir::open(state_dir)?;
        let workspaces = match workspace_root {
            Some(root) => PrivateDir::open(root)?.path().to_owned(),
            None => state.subdirectory("workspaces")?.path().to_owned(),
        };
        Ok(Places { state, workspaces })
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
        let made = PrivateDir::open(&self.workspaces.join(session))?;
        Ok(made.path().display().to_string())
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
    /// What is wrong with it; the text is fit for a client.
    pub fn canonical(&self, directory: &str) -> Result<String, OpenError> {
        let jail = Jail::open(Path::new(directory), None)?;
        Ok(jail.root().display().to_string())
    }
}
