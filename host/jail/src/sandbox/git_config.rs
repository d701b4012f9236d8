//! Keys of `.git/config` that make git run programs: what a command did to them is undone.
//!
//! Git writes the file in ordinary work, so it stays writable. But whoever uses the workspace later
//! runs git without a sandbox, and must not run what a command chose. Looks at the repository at the
//! root of the workspace; at no other, and never at what a key's program would be.

use std::io::{self, Read, Write};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};

mod keys;
mod text;

use text::Config;

/// Both are read by git; the second only when the first says so.
const FILES: [&str; 2] = [".git/config", ".git/config.worktree"];

/// Where it is, git takes keys and hooks from the place it names. Git makes none in a repository's
/// own directory.
const ELSEWHERE: &str = ".git/commondir";

/// Where what is put back is written before it takes the file's place.
const DRAFT: &str = ".git/config.harness-tmp";

/// The largest file that is looked into, in bytes. One that grew beyond it is put back whole.
const MAX_BYTES: u64 = 1024 * 1024;

/// One of the files as it was.
#[derive(Debug)]
enum Before {
    /// Not there.
    Absent,
    Bytes(Vec<u8>),
    /// There, but not to be read: too large, no file, or led to by a link out. What it was cannot be
    /// put back, so it is left alone.
    Unreadable,
}

impl Before {
    fn read(workspace: &Dir, file: &str) -> Before {
        match read(workspace, file) {
            Ok(bytes) => Before::Bytes(bytes),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Before::Absent,
            Err(_) => Before::Unreadable,
        }
    }
}

/// The keys of a repository as they were.
#[derive(Debug)]
pub(crate) struct GitConfig {
    workspace: Dir,
    before: [Before; 2],
    elsewhere: Option<Vec<u8>>,
}

impl GitConfig {
    /// Reads what is there. `workspace` is the directory at its root.
    pub(crate) fn read(workspace: &Dir) -> io::Result<GitConfig> {
        let workspace = workspace.try_clone()?;
        let before = FILES.map(|file| Before::read(&workspace, file));
        let elsewhere = read(&workspace, ELSEWHERE).ok();
        Ok(GitConfig { workspace, before, elsewhere })
    }

    /// Undoes what was done to the keys since. Gives the names of those that were touched.
    ///
    /// # Errors
    /// What the system says; then the keys may still be what they were made.
    pub(crate) fn put_back(&self) -> io::Result<Vec<String>> {
        let mut touched = Vec::new();
        for (file, before) in FILES.into_iter().zip(&self.before) {
            let (before, was_there) = match before {
                Before::Absent => (&[][..], false),
                Before::Bytes(bytes) => (&bytes[..], true),
                Before::Unreadable => continue,
            };
            let now = match read(&self.workspace, file) {
                Ok(now) => now,
                Err(err) if err.kind() == io::ErrorKind::NotFound => continue,
                // A repository that a command made, with its directory elsewhere.
                Err(err) if !was_there && err.kind() == io::ErrorKind::NotADirectory => continue,
                // Grown beyond reading, or a link that leads out.
                Err(_) => {
                    self.write(file, before)?;
                    touched.push(file.to_owned());
                    continue;
                }
            };
            if now == before {
                continue;
            }
            let (old, new) = (Config::parse(before), Config::parse(&now));
            let (Some(old), Some(new)) = (old, new) else {
                // Git could not read it either.
                self.write(file, before)?;
                touched.push(file.to_owned());
                continue;
            };
            let (was, is) = (old.programs(), new.programs());
            if was != is {
                let differing = was.iter().filter(|entry| !is.contains(entry));
                let differing = differing.chain(is.iter().filter(|entry| !was.contains(entry)));
                touched.extend(differing.map(|entry| entry.name()));
                self.write(file, &new.with_programs_of(&old))?;
            }
        }
        let is_there = self.workspace.symlink_metadata(ELSEWHERE).is_ok();
        if is_there != self.elsewhere.is_some()
            || read(&self.workspace, ELSEWHERE).ok() != self.elsewhere
        {
            match &self.elsewhere {
                Some(before) => self.write(ELSEWHERE, before)?,
                None => self.workspace.remove_file(ELSEWHERE)?,
            }
            touched.push(ELSEWHERE.to_owned());
        }
        touched.sort();
        touched.dedup();
        Ok(touched)
    }

    fn write(&self, file: &str, bytes: &[u8]) -> io::Result<()> {
        let mode = OpenOptions::new().write(true).create_new(true).mode(0o644).clone();
        let _ = self.workspace.remove_file(DRAFT);
        self.workspace.open_with(DRAFT, &mode)?.write_all(bytes)?;
        if let Ok(metadata) = self.workspace.symlink_metadata(file)
            && metadata.is_file()
        {
            self.workspace.set_permissions(DRAFT, metadata.permissions())?;
        }
        self.workspace.rename(DRAFT, &self.workspace, file)
    }
}

fn read(workspace: &Dir, file: &str) -> io::Result<Vec<u8>> {
    let options = OpenOptions::new().read(true).custom_flags(nix::libc::O_NONBLOCK).clone();
    let file = workspace.open_with(file, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}
