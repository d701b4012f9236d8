//! Files and links put into a directory of the server's own, for a workspace to begin with.
//!
//! No path of a model comes here: what is put stands in a file of a person's. Nothing leaves the
//! directory, whatever the paths say.

use std::io;
use std::path::Path;

use super::PrivateDir;

impl PrivateDir {
    /// Writes a file at `path`, with `/` between names; directories that are missing are made.
    ///
    /// # Errors
    /// `PermissionDenied` for a path that leads outside; otherwise what the system says.
    pub fn put_file(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.make_parents(path)?;
        self.dir.write(path, bytes)
    }

    /// Makes a link at `path` that leads to `target`, as it stands there: it may lead nowhere, or
    /// outside.
    ///
    /// # Errors
    /// As [`PrivateDir::put_file`].
    pub fn put_link(&self, path: &str, target: &str) -> io::Result<()> {
        self.make_parents(path)?;
        self.dir.symlink_contents(target, path)
    }

    fn make_parents(&self, path: &str) -> io::Result<()> {
        match Path::new(path).parent() {
            Some(parent) if !parent.as_os_str().is_empty() => self.dir.create_dir_all(parent),
            _ => Ok(()),
        }
    }
}
