//! What is in force: every setting, once checked, in the type it is used in.
//!
//! Built in one place from four layers (defaults, file, environment, flags; `config/layers.rs`),
//! from the one table of keys (`config/keys.rs`). Reads no file and no environment itself: the
//! door hands both over as text. A value is never half valid: all problems are told at once.

mod keys;
mod layers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use keys::{KEYS, Key, Kind};
pub use layers::{Layers, Origin, Problem, Setting, Settings};
use serde::Deserialize;

/// Everything in force.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where to listen; loopback only.
    pub addr: SocketAddr,
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
    /// Parent of fresh workspaces; under `state_dir` when None.
    pub workspace_root: Option<PathBuf>,
    /// What a client may name as a workspace lies under one of these, when there are any.
    pub workspace_roots: Vec<PathBuf>,
    /// What becomes of a run whose workspace another one is at work in.
    pub busy: Busy,
    /// Days for which an unused fresh workspace is kept; 0 for ever.
    pub keep_days: u64,
    /// What callers show to be let in; anyone is when there are none.
    pub tokens: Vec<String>,
    /// Where the ledger, fresh workspaces and spilled outputs lie.
    pub state_dir: PathBuf,
    /// Whether a ledger commit survives a power cut, not only a kill.
    pub ledger_sync: LedgerSync,
    /// By plugin name.
    pub plugins: BTreeMap<String, PluginConfig>,
}

/// Where models are asked.
#[derive(Clone)]
pub struct UpstreamConfig {
    /// Up to and without `/chat/completions`.
    pub base_url: String,
    /// Sent as a bearer token; never shown.
    pub api_key: Option<String>,
    /// Asked when the request names no model, or `harness`.
    pub model: String,
    /// The profile's name; chosen by URL and model when None.
    pub profile: Option<String>,
}

impl std::fmt::Debug for UpstreamConfig {
    /// Without the key, so that no log line can hold it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("model", &self.model)
            .field("profile", &self.profile)
            .finish()
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

/// `workspace.busy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// It is refused.
    Refuse,
    /// It waits.
    Queue,
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
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PluginConfig {
    /// A component file; None for one that ships.
    pub path: Option<PathBuf>,
    /// Interfaces it may import, beyond the sink; None for the built-in grants of one that ships.
    pub grants: Option<Vec<String>>,
    /// Handed to the plugin as JSON.
    pub config: serde_json::Map<String, serde_json::Value>,
    /// False: not loaded.
    pub enabled: Option<bool>,
}
