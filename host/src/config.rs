//! What is in force: every setting, once checked, in the type it is used in.
//!
//! Built in one place from four layers (defaults, file, environment, flags; `config/layers.rs`),
//! from the one table of keys (`config/keys.rs`). Reads no file and no environment itself: the
//! door hands both over as text. A value is never half valid: all problems are told at once.

mod check;
mod file;
mod keys;
mod kind;
mod layers;
mod plugins;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use harness_jail::Globs;

pub use keys::{KEYS, Key};
pub use kind::Kind;
pub use layers::{Layers, Origin, Problem, Setting, Settings};

pub use plugins::{PLUGIN_FIELDS, is_default, is_name};

use crate::servers::Servers;

/// Everything in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen. One that other machines reach only with `tokens`.
    pub addr: SocketAddr,
    /// What clients show; none when whoever reaches the server may ask.
    pub tokens: Tokens,
    /// The largest request body, in bytes.
    pub max_body_bytes: usize,
    /// Runs at one time; one more is told to come back.
    pub max_runs: usize,
    /// The upstream.
    pub upstream: UpstreamConfig,
    /// The budget of one run.
    pub budget: Budget,
    /// Reads that run at the same time.
    pub parallel_reads: usize,
    /// Whether a conversation is shrunk before it outgrows the window.
    pub context_enabled: bool,
    /// Tokens the model's context holds, as far as a person said so.
    pub context_window: Option<u64>,
    /// Parent of fresh workspaces; under `state_dir` when None.
    pub workspace_root: Option<PathBuf>,
    /// Where the workspaces that clients name must lie, when there are any.
    pub workspace_roots: Vec<PathBuf>,
    /// What a run meets whose workspace another one has.
    pub busy: Busy,
    /// Days a fresh workspace is kept after its last use; 0 for ever.
    pub keep_days: u64,
    /// What keeps commands within bounds.
    pub shell: ShellConfig,
    /// Where the ledger, fresh workspaces and spilled outputs lie.
    pub state_dir: PathBuf,
    /// Whether a ledger commit survives a power cut, not only a kill.
    pub ledger_sync: LedgerSync,
    /// Which lines are logged: a level or a filter.
    pub log_level: String,
    /// How a line is logged.
    pub log_format: LogFormat,
    /// File that gets a line for each command, each denial and each request turned away.
    pub audit_log: Option<PathBuf>,
    /// By plugin name.
    pub plugins: BTreeMap<String, PluginConfig>,
}

impl Config {
    /// Where the workspaces lie that a client may name; anywhere when None. Whoever reaches us from
    /// another machine may name only what was set up for that.
    pub fn named_under(&self) -> Option<&[PathBuf]> {
        let is_bound = !self.workspace_roots.is_empty() || !self.addr.ip().is_loopback();
        is_bound.then_some(&self.workspace_roots)
    }
}

/// Where models are asked.
#[derive(Clone)]
pub struct UpstreamConfig {
    /// Up to and without `/chat/completions`.
    pub base_url: String,
    /// Sent as a bearer token; never shown.
    pub api_key: Option<String>,
    /// Asked when the request names no model, or `harness`; each names its own when None.
    pub model: Option<String>,
    /// The profile's name; chosen by URL and model when None.
    pub profile: Option<String>,
    /// For making a connection, TLS included.
    pub connect: Duration,
    /// From a request to the first event of its reply.
    pub first_token: Duration,
    /// From one event of a reply to the next.
    pub idle: Duration,
    /// Times a model is asked for one reply while it fails in passing; at least 1.
    pub attempts: u32,
}

impl std::fmt::Debug for UpstreamConfig {
    /// Without the key, so that no log line can hold it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("model", &self.model)
            .field("profile", &self.profile)
            .field("connect", &self.connect)
            .field("first_token", &self.first_token)
            .field("idle", &self.idle)
            .field("attempts", &self.attempts)
            .finish()
    }
}

/// The secrets of `server.tokens`. Derefs to the texts, for comparing; never shown.
#[derive(Clone, Default)]
pub struct Tokens(Vec<String>);

impl Tokens {
    pub(crate) fn new(tokens: Vec<String>) -> Tokens {
        Tokens(tokens)
    }
}

impl Deref for Tokens {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Debug for Tokens {
    /// Their number, so that no log line can hold one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} tokens", self.0.len())
    }
}

/// What one run may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Replies asked of the model, the closing turn not counted.
    pub max_turns: u32,
    /// From start to end, the closing turn included.
    pub max_time: Duration,
    /// Prompt and completion tokens of every upstream call together.
    pub max_total_tokens: u64,
}

/// `[shell]`, but for what the plugin is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellConfig {
    /// Which walls stand around commands.
    pub walls: Walls,
    /// Whether commands run where there are none.
    pub allow_unsandboxed: bool,
    /// Whether commands have the server's network.
    pub network: bool,
    /// What they may read although it is masked.
    pub read: Vec<PathBuf>,
    /// What they may write besides the workspace.
    pub write: Vec<PathBuf>,
    /// Bytes of memory of a session's commands together.
    pub memory_bytes: u64,
    /// Processes and threads of a session's commands at one time.
    pub processes: u32,
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
    /// Bytes of the largest file they write.
    pub file_bytes: u64,
}

/// `shell.sandbox`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walls {
    /// The highest that can be had.
    Auto,
    /// Namespaces and Landlock, or no server.
    Full,
    /// Landlock, or no server.
    Partial,
    /// None.
    None,
}

/// `workspace.busy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// 409, with the run that holds the workspace.
    Refuse,
    /// Waits for its turn.
    Queue,
}

/// `log.format`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For a person.
    Text,
    /// One JSON object a line.
    Json,
}

/// `ledger.sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LedgerSync {
    /// Survives `kill -9`.
    Normal,
    /// Survives a power cut, at about 50 times the cost of a commit.
    Full,
}

/// `[plugin.NAME]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginConfig {
    /// A component file, or a profile's table; None for one that ships.
    pub path: Option<PathBuf>,
    /// It was found in the configuration directory, and no table names its path.
    pub found: Option<Found>,
    /// `blake3:` and the digest that the file must have, in hexadecimal.
    pub digest: Option<String>,
    /// Interfaces it may import, beyond the sink; None for the built-in grants of one that ships.
    pub grants: Option<Vec<String>>,
    /// What of a workspace it may read; all of it when None.
    pub read: Option<Globs>,
    /// What of a workspace it may change; all of it when None.
    pub write: Option<Globs>,
    /// The programs it may start, by name; any when None.
    pub run: Option<Vec<String>>,
    /// Handed to the plugin as JSON.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// What a call of it may use.
    pub limits: PluginLimits,
    /// False: not loaded.
    pub enabled: Option<bool>,
    /// Which servers it may ask: `fetch`, `fetch_private` and `credentials`.
    pub servers: Servers,
    /// Tools of other plugins that its own of the same name stand in for.
    pub replaces: Vec<String>,
    /// Of a guard: the tools whose calls it judges; all when None.
    pub tools: Option<Globs>,
    /// Of a guard: it judges calls that may have one of these effects; all when None.
    pub effects: Option<Vec<String>>,
}

impl PluginConfig {
    /// What must not be seen of it. Its `config` is the plugin's own to know.
    pub fn secrets(&self) -> impl Iterator<Item = String> {
        self.servers.credentials.values().map(|credential| credential.value.clone())
    }
}

/// Where in the configuration directory a plugin was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// In `plugins`.
    Plugins,
    /// In `profiles`: nothing but a profile is loaded from there.
    Profiles,
}

/// What one call of a plugin may use; the default of its role where nothing is said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PluginLimits {
    /// Memory, in bytes.
    pub memory_bytes: Option<usize>,
    /// Instructions of a guard's check or a profile's call, in fuel units.
    pub fuel: Option<u64>,
    /// The longest a tool's call may take, instead of what the tool says itself.
    pub seconds: Option<u32>,
}
