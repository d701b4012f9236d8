//! A throw-away workspace with a jail on it, and the ways around the jail that tests need.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use harness_jail::{Basis, Content, Fault, FaultKind, Jail, JailPath, Observations, Receipt};
use tempfile::TempDir;

/// Beside the workspace lies `outside`, which nothing may reach.
pub(crate) struct Workspace {
    temp: TempDir,
    pub(crate) jail: Jail,
    pub(crate) seen: Observations,
}

impl Workspace {
    pub(crate) fn new() -> Workspace {
        Workspace::new_in(&std::env::temp_dir())
    }

    /// One that lies below `place`.
    pub(crate) fn new_in(place: &Path) -> Workspace {
        Workspace::within(TempDir::new_in(place).expect("a temporary directory"))
    }

    /// In memory where that can be had: quicker than a disk by far, for thousands of rounds.
    pub(crate) fn in_memory() -> Workspace {
        Workspace::within(memory())
    }

    fn within(temp: TempDir) -> Workspace {
        for name in ["w", "spill", "tmp", "outside"] {
            fs::create_dir(temp.path().join(name)).expect("a directory");
        }
        fs::write(temp.path().join("outside/secret"), "secret").expect("a secret");
        let jail = Jail::open(&temp.path().join("w"), Some(&temp.path().join("spill")));
        Workspace { jail: jail.expect("a jail"), temp, seen: Observations::new() }
    }

    /// The host path of something in the workspace.
    pub(crate) fn host(&self, path: &str) -> PathBuf {
        self.jail.root().join(path)
    }

    /// The host path of the session's own temporary files.
    pub(crate) fn tmp(&self) -> PathBuf {
        self.temp.path().join("tmp").canonicalize().expect("made")
    }

    /// The host path of what lies outside.
    pub(crate) fn outside(&self) -> PathBuf {
        self.temp.path().join("outside")
    }

    /// Puts a file there, with its parents.
    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let host = self.host(path);
        fs::create_dir_all(host.parent().expect("a parent")).expect("parents");
        fs::write(host, bytes).expect("a file");
    }

    pub(crate) fn make_dir(&self, path: &str) {
        fs::create_dir_all(self.host(path)).expect("a directory");
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, path: &str) {
        symlink(target, self.host(path)).expect("a link");
    }

    pub(crate) fn hard_link(&self, from: &str, to: &str) {
        fs::hard_link(self.host(from), self.host(to)).expect("a hard link");
    }

    /// The bytes on disk, as text.
    pub(crate) fn text(&self, path: &str) -> String {
        fs::read_to_string(self.host(path)).expect(path)
    }

    pub(crate) fn is_link(&self, path: &str) -> bool {
        self.host(path).is_symlink()
    }

    pub(crate) fn mode(&self, path: &str) -> u32 {
        let metadata = fs::metadata(self.host(path)).expect(path);
        metadata.permissions().mode() & 0o7777
    }

    pub(crate) fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.host(path), fs::Permissions::from_mode(mode)).expect(path);
    }

    /// Sets the time of the last change, in seconds since 1970.
    pub(crate) fn set_modified(&self, path: &str, seconds: u64) {
        let file = fs::File::options().write(true).open(self.host(path)).expect(path);
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).expect(path);
    }

    /// Everything in the directory, sorted.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.host(path)).expect(path);
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect(path).file_name().into_string().expect("utf-8"))
            .collect();
        names.sort();
        names
    }

    pub(crate) fn path(&self, raw: &str) -> JailPath {
        self.jail.parse(raw).expect(raw)
    }

    /// Parses and reads whole.
    pub(crate) fn read(&self, raw: &str) -> Result<Content, Fault> {
        self.jail.read(&self.jail.parse(raw)?, 0, 0)
    }

    /// Reads, and marks these lines as shown to the model.
    pub(crate) fn show(&self, raw: &str, first: u64, last: u64) {
        let version = self.read(raw).expect(raw).version;
        let path = self.path(raw);
        self.jail.mark_shown(&path, &version, first, last, &self.seen).expect(raw);
    }

    pub(crate) fn write(&self, raw: &str, text: &str, basis: &Basis) -> Result<Receipt, Fault> {
        self.jail.write(&self.jail.parse(raw)?, text.as_bytes(), basis, &self.seen)
    }
}

/// A temporary directory in memory where that can be had, on a disk otherwise.
pub(crate) fn memory() -> TempDir {
    let place = Path::new("/dev/shm");
    let temp = if place.is_dir() { TempDir::new_in(place) } else { TempDir::new() };
    temp.expect("a temporary directory")
}

/// Far enough away never to be met.
pub(crate) fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// Checks kind and words of a fault.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(got: Result<T, Fault>, kind: FaultKind, words: &str) {
    let fault = got.expect_err(words);
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.to_string().contains(words), "`{words}` not in: {fault}");
}
