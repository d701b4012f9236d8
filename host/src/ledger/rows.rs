//! What the ledger stores beside events: sessions and what they were shown, what marks a request,
//! files that a run changed.
//!
//! Plain data; `schema` has the tables they lie in.

/// A session: one caller in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRow {
    /// Unique.
    pub id: String,
    /// Who it belongs to.
    pub caller: String,
    /// The workspace's directory on this machine.
    pub workspace: String,
    /// True when the server made the directory, and may remove it.
    pub fresh: bool,
    /// When it was opened, in milliseconds since 1970.
    pub created_ms: u64,
}

/// By what a request is known again when it is sent twice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mark {
    /// Who sent it.
    pub caller: String,
    /// Its `Idempotency-Key`, if it had one.
    pub key: Option<String>,
    /// Of its body, and of the headers that say where it is to run.
    pub digest: String,
}

/// A request that became a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The run.
    pub run: String,
    /// The request's digest.
    pub digest: String,
}

/// A part of a list: newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Only what comes after this id.
    pub after: Option<String>,
    /// So many at most.
    pub limit: usize,
}

/// When a file was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the run first changed it.
    Before,
    /// When the run ended.
    After,
}

impl Moment {
    /// As stored.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Moment::Before => "before",
            Moment::After => "after",
        }
    }
}

/// What was in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// There was none.
    Absent,
    /// All of it.
    Bytes(Vec<u8>),
    /// Too much to be kept.
    NotKept {
        /// So much.
        size_bytes: u64,
    },
}

impl Content {
    /// What it takes to keep it.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Content::Bytes(bytes) => bytes.len(),
            Content::Absent | Content::NotKept { .. } => 0,
        }
    }
}

/// A file at one moment of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Relative to the workspace.
    pub path: String,
    /// When.
    pub moment: Moment,
    /// What was in it.
    pub content: Content,
}

/// What a session was shown of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The file's own path, relative to the workspace.
    pub path: String,
    /// In the jail's words; None once there is nothing to know of it.
    pub seen: Option<String>,
}

/// A small value that a plugin keeps for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The plugin's name in the configuration.
    pub plugin: String,
    /// Of the plugin's own choice.
    pub key: String,
    /// Counted from 1; None once it was removed.
    pub value: Option<(u64, Vec<u8>)>,
}

/// What is stored in one commit with events.
#[derive(Debug, Default)]
pub struct Beside {
    /// States of files that the run changed. Of a file and a moment the first is kept, and later
    /// ones are passed over.
    pub files: Vec<FileState>,
    /// What changed in what the run's session was shown. The last of a file counts.
    pub observations: Vec<Observation>,
}

impl Beside {
    /// About how much it takes.
    pub(super) fn bytes(&self) -> usize {
        let files = self.files.iter().map(|file| file.content.bytes());
        let observations = self.observations.iter().map(Observation::bytes);
        files.chain(observations).sum()
    }
}

impl Observation {
    /// What it takes to keep it.
    pub(super) fn bytes(&self) -> usize {
        self.path.len() + self.seen.as_ref().map_or(0, String::len)
    }
}

/// A file that a run changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Relative to the workspace.
    pub path: String,
    /// Before the first change.
    pub before: Content,
    /// At the end of the run; None while it runs, and when its process died.
    pub after: Option<Content>,
}
