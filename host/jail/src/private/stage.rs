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
    /// What the system says, which takes no path that leads outside.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Jail, read_capped};

    #[test]
    fn files_and_links_stay_inside() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("stage");
        let stage = PrivateDir::open(&place).unwrap();
        stage.put_link("up", "..").unwrap();
        stage.put_link("a/link", "b.txt").unwrap();
        let check = |path: &str, is_put: bool| {
            assert_eq!(stage.put_file(path, b"x").is_ok(), is_put, "{path}");
        };
        check("a/b.txt", true);
        check("c/d/e.txt", true);
        for outside in ["../f.txt", "up/f.txt", "/f.txt", "a/../../f.txt"] {
            check(outside, false);
        }
        assert_eq!(read_capped(&place.join("a/link"), 10).unwrap(), b"x");
        assert!(!root.path().join("f.txt").exists());
        let jail = Jail::open(&place, None).unwrap();
        let leads = |path: &str| jail.destination(&jail.parse(path).unwrap()).ok();
        assert_eq!((leads("a/link").as_deref(), leads("up/f.txt")), (Some("a/b.txt"), None));
    }
}
