//! From a path to the thing itself, step by step over directory handles.
//!
//! The walk opens one directory after the other without following links, and follows the links it
//! meets by itself: relative ones, and absolute ones whose target lies under the root. A link that
//! leads anywhere else is refused. What comes out is a handle on the directory that holds the
//! thing, so a name that is swapped later cannot move the access somewhere else.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;

use cap_std::fs::{Dir, File};

use crate::entry::EntryKind;
use crate::fault::{Fault, FaultKind};
use crate::handles::{self, Stat};
use crate::nearest;
use crate::path::JailPath;

/// The most links one path may pass, as in the kernel: a loop ends here.
const MAX_LINKS: u32 = 40;

/// What to do with a link in the last place of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastLink {
    Follow,
    Keep,
}

/// Where a path leads.
pub(crate) struct Place {
    /// The directory that holds it: for a missing one, the deepest that exists.
    pub(crate) dir: Dir,
    /// Its name in `dir`; `None` when it is the root itself.
    pub(crate) name: Option<String>,
    /// Its path beneath the root, free of links; the root is empty.
    pub(crate) real: String,
    /// What is there; `None` when nothing is.
    pub(crate) stat: Option<Stat>,
    /// Directories between `dir` and the name that do not exist, outermost first.
    pub(crate) missing_parents: Vec<String>,
    /// The link that led to nothing, when one did.
    pub(crate) dangling: Option<String>,
}

impl Place {
    /// What is there, or why nothing is.
    pub(crate) fn existing(&self, path: &JailPath) -> Result<Stat, Fault> {
        match &self.stat {
            Some(stat) => Ok(*stat),
            None => Err(nearest::missing(self, path)),
        }
    }

    /// Opens the regular file that is there, checked after opening.
    pub(crate) fn open_file(&self, path: &JailPath) -> Result<(File, Stat), Fault> {
        must_be_file(path, &self.existing(path)?)?;
        let name = self.name.as_deref().ok_or_else(|| is_directory(path))?;
        let file = handles::open_file_at(&self.dir, OsStr::new(name))
            .map_err(|err| Fault::from_io("open", path, &err))?;
        let stat = handles::stat_of(&file).map_err(|err| Fault::from_io("look at", path, &err))?;
        must_be_file(path, &stat)?;
        Ok((file, stat))
    }

    /// Opens the directory that is there.
    pub(crate) fn open_dir(&self, path: &JailPath) -> Result<Dir, Fault> {
        let stat = self.existing(path)?;
        if stat.kind != EntryKind::Directory {
            return Err(Fault::new(FaultKind::Unsupported, format!("`{path}` is not a directory")));
        }
        let opened = match &self.name {
            None => self.dir.try_clone(),
            Some(name) => handles::open_dir_at(&self.dir, OsStr::new(name)),
        };
        opened.map_err(|err| Fault::from_io("open", path, &err))
    }
}

/// Refuses what is not a regular file, each kind with its own words.
pub(crate) fn must_be_file(path: &JailPath, stat: &Stat) -> Result<(), Fault> {
    match stat.kind {
        EntryKind::File => Ok(()),
        EntryKind::Directory => Err(is_directory(path)),
        EntryKind::Symlink => Err(Fault::new(
            FaultKind::Conflict,
            format!("`{path}` was replaced by a symbolic link meanwhile"),
        )),
        EntryKind::Other => Err(Fault::new(
            FaultKind::Unsupported,
            format!("`{path}` is {}, not a regular file, and is never opened", stat.other),
        )),
    }
}

fn is_directory(path: &JailPath) -> Fault {
    Fault::new(FaultKind::Unsupported, format!("`{path}` is a directory, not a file"))
        .with_hint("name a file inside it")
}

/// Resolves `path` beneath `root`; `roots` are the absolute spellings of the root.
pub(crate) fn resolve(
    root: &Dir,
    roots: &[String],
    path: &JailPath,
    last_link: LastLink,
) -> Result<Place, Fault> {
    let mut walk = Walk { root, trail: Vec::new() };
    let mut pending: VecDeque<String> = path.parts().map(str::to_owned).collect();
    let mut links = 0;
    let mut followed = None;
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            if walk.trail.pop().is_none() {
                return Err(leads_out(followed.as_deref().unwrap_or(path.as_str())));
            }
            continue;
        }
        let stat = match handles::stat_at(walk.here(), OsStr::new(&part)) {
            Ok(stat) => stat,
            Err(err) if err.kind() == io::ErrorKind::NotFound => {
                return walk.nothing(part, pending, followed, path);
            }
            Err(err) => return Err(Fault::from_io("look at", path, &err)),
        };
        let is_last = pending.is_empty();
        match stat.kind {
            EntryKind::Symlink if is_last && last_link == LastLink::Keep => {
                return walk.found(part, stat, path);
            }
            EntryKind::Symlink => {
                links += 1;
                let link = walk.path_of(&part);
                if links > MAX_LINKS {
                    return Err(Fault::new(
                        FaultKind::Denied,
                        format!(
                            "`{link}` is a symbolic link in a loop or a chain of more than {MAX_LINKS}"
                        ),
                    ));
                }
                let target = walk
                    .here()
                    .read_link_contents(&part)
                    .map_err(|err| Fault::from_io("read the link", path, &err))?;
                let Some(target) = target.to_str() else {
                    return Err(Fault::new(
                        FaultKind::Unsupported,
                        format!("`{link}` is a symbolic link to a name that is not UTF-8"),
                    ));
                };
                let target = if target.starts_with('/') {
                    walk.trail.clear();
                    beneath(target, roots).ok_or_else(|| leads_out(&link))?
                } else {
                    parts_of(target)
                };
                for part in target.into_iter().rev() {
                    pending.push_front(part.to_owned());
                }
                followed = Some(link);
            }
            _ if is_last => return walk.found(part, stat, path),
            EntryKind::Directory => {
                let opened = handles::enter_at(walk.here(), OsStr::new(&part))
                    .map_err(|err| Fault::from_io("open", path, &err))?;
                walk.trail.push((part, opened));
            }
            EntryKind::File | EntryKind::Other => {
                return Err(Fault::new(
                    FaultKind::NotFound,
                    format!(
                        "`{path}` does not exist: `{}` is not a directory",
                        walk.path_of(&part)
                    ),
                ));
            }
        }
    }
    walk.end(path)
}

/// The parts of an absolute target that lies under the root.
fn beneath<'a>(target: &'a str, roots: &[String]) -> Option<Vec<&'a str>> {
    let parts = parts_of(target);
    roots.iter().find_map(|root| {
        let root = parts_of(root);
        parts.starts_with(&root).then(|| parts[root.len()..].to_vec())
    })
}

fn parts_of(text: &str) -> Vec<&str> {
    text.split('/').filter(|part| !part.is_empty() && *part != ".").collect()
}

fn leads_out(link: &str) -> Fault {
    Fault::new(
        FaultKind::Denied,
        format!("`{link}` is a symbolic link that leads outside the workspace"),
    )
    .with_hint("work on files inside the workspace only")
}

/// The directories opened so far, outermost first.
struct Walk<'a> {
    root: &'a Dir,
    trail: Vec<(String, Dir)>,
}

impl Walk<'_> {
    fn here(&self) -> &Dir {
        self.trail.last().map_or(self.root, |(_, dir)| dir)
    }

    fn path_of(&self, name: &str) -> String {
        let mut path = String::new();
        for (part, _) in &self.trail {
            path.push_str(part);
            path.push('/');
        }
        path + name
    }

    fn found(self, name: String, stat: Stat, path: &JailPath) -> Result<Place, Fault> {
        let real = self.path_of(&name);
        Ok(Place {
            dir: self.into_here(path)?,
            name: Some(name),
            real,
            stat: Some(stat),
            missing_parents: Vec::new(),
            dangling: None,
        })
    }

    /// Nothing is called `part` here, so what is pending cannot exist either.
    fn nothing(
        self,
        part: String,
        pending: VecDeque<String>,
        dangling: Option<String>,
        path: &JailPath,
    ) -> Result<Place, Fault> {
        let mut missing_parents: Vec<String> = std::iter::once(part).chain(pending).collect();
        if missing_parents.iter().any(|part| part == "..") {
            return Err(Fault::new(FaultKind::NotFound, format!("`{path}` does not exist")));
        }
        let real = self.path_of(&missing_parents.join("/"));
        let name = missing_parents.pop();
        Ok(Place { dir: self.into_here(path)?, name, real, stat: None, missing_parents, dangling })
    }

    /// The path ended in the directory we stand in: the root, or a link to `.` or `..`.
    fn end(mut self, path: &JailPath) -> Result<Place, Fault> {
        let stat =
            handles::stat_of(self.here()).map_err(|err| Fault::from_io("look at", path, &err))?;
        match self.trail.pop() {
            Some((name, _)) => self.found(name, stat, path),
            None => Ok(Place {
                dir: self.into_here(path)?,
                name: None,
                real: String::new(),
                stat: Some(stat),
                missing_parents: Vec::new(),
                dangling: None,
            }),
        }
    }

    fn into_here(mut self, path: &JailPath) -> Result<Dir, Fault> {
        match self.trail.pop() {
            Some((_, dir)) => Ok(dir),
            None => self.root.try_clone().map_err(|err| Fault::from_io("open", path, &err)),
        }
    }
}
