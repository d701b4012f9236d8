//! The one table of settings: name, kind, default and meaning.
//!
//! Everything that lists or reads settings (file, environment, flags, documentation) goes through
//! it, so that no layer knows a key that another does not.

use super::Kind;

/// One setting. Its environment variable is `HARNESS_` and the name in capitals, `_` for `.`.
#[derive(Debug)]
pub struct Key {
    /// As in the file, with dots.
    pub name: &'static str,
    /// What a value may be.
    pub kind: Kind,
    /// As it would be typed; None when there is no default.
    pub default: Option<&'static str>,
    /// One line.
    pub about: &'static str,
}

impl Key {
    /// The setting's environment variable.
    pub fn variable(&self) -> String {
        format!("HARNESS_{}", self.name.replace('.', "_").to_uppercase())
    }

    /// The part before the first dot.
    pub fn section(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    /// The part behind it.
    pub fn field(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, field)| field)
    }

    /// The setting of that name.
    pub fn find(name: &str) -> Option<&'static Key> {
        KEYS.iter().find(|key| key.name == name)
    }
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: Option<&'static str>,
    about: &'static str,
) -> Key {
    Key { name, kind, default, about }
}

/// Every setting but `[plugin.NAME]`.
pub const KEYS: &[Key] = &[
    key(
        "server.addr",
        Kind::Address,
        Some("127.0.0.1:8080"),
        "where to listen; its short environment name is `HARNESS_ADDR`",
    ),
    key(
        "server.allow_non_loopback",
        Kind::Bool,
        Some("false"),
        "let `server.addr` be one that other machines reach; needs `server.tokens`",
    ),
    key("server.tokens", Kind::Tokens, None, "what clients show as a bearer token"),
    key(
        "server.max_body_bytes",
        Kind::Number(1024, 1 << 30),
        Some("16777216"),
        "largest request body, in bytes",
    ),
    key("server.max_runs", Kind::Number(1, 100_000), Some("64"), "runs at one time"),
    key("upstream.base_url", Kind::Url, None, "up to and without `/chat/completions`"),
    key("upstream.api_key", Kind::Secret, None, "sent upstream as a bearer token"),
    key(
        "upstream.model",
        Kind::Text,
        None,
        "asked when a request names none, or `harness`; without it each request names its own",
    ),
    key(
        "upstream.profile",
        Kind::Text,
        None,
        "the provider profile; chosen by URL and model when not set",
    ),
    key(
        "upstream.connect_seconds",
        Kind::Number(1, 600),
        Some("10"),
        "seconds to make a connection, TLS included",
    ),
    key(
        "upstream.first_token_seconds",
        Kind::Number(1, 86_400),
        Some("600"),
        "seconds from a request to the first event of its reply; long, for local models",
    ),
    key(
        "upstream.idle_seconds",
        Kind::Number(1, 86_400),
        Some("120"),
        "seconds from one event of a reply to the next; comments and pings do not count",
    ),
    key(
        "upstream.attempts",
        Kind::Number(1, 10),
        Some("3"),
        "times a model is asked for one reply while it fails in passing; `1`: never again",
    ),
    key(
        "agent.max_turns",
        Kind::Number(1, 100_000),
        Some("50"),
        "replies asked of the model, the closing turn not counted",
    ),
    key(
        "agent.max_seconds",
        Kind::Number(1, 86_400),
        Some("540"),
        "seconds a run may take, closing turn included",
    ),
    key(
        "agent.max_total_tokens",
        Kind::Number(1, 1 << 50),
        Some("10000000"),
        "prompt and completion tokens a run may use",
    ),
    key("agent.parallel_reads", Kind::Number(1, 64), Some("10"), "reads that run at one time"),
    key(
        "context.enabled",
        Kind::Bool,
        Some("true"),
        "shrink a conversation before it outgrows the window; not built yet, changes nothing",
    ),
    key(
        "context.window",
        Kind::Number(1024, 1 << 40),
        None,
        "tokens the model's context holds; asked of the upstream when not set",
    ),
    key(
        "workspace.root",
        Kind::Path,
        None,
        "parent of fresh workspaces; `workspaces` under `state.dir` when not set",
    ),
    key(
        "workspace.roots",
        Kind::Paths,
        None,
        "where the workspaces that clients name must lie; anywhere when not set, off loopback nowhere",
    ),
    key(
        "workspace.busy",
        Kind::Word(&["refuse", "queue"]),
        Some("refuse"),
        "what a run meets whose workspace another one has: `refuse` a 409, `queue` a wait",
    ),
    key(
        "workspace.keep_days",
        Kind::Number(0, 36_500),
        Some("30"),
        "days a fresh workspace is kept after its last use; `0` for ever",
    ),
    key("shell.enabled", Kind::Bool, Some("true"), "offer the `bash` tool"),
    key(
        "shell.timeout_seconds",
        Kind::Number(1, 600),
        Some("120"),
        "seconds a command gets when its call names none",
    ),
    key(
        "shell.sandbox",
        Kind::Word(&["auto", "full", "partial", "none"]),
        Some("auto"),
        "the walls around commands: `auto` the highest that can be had, another word those or no server",
    ),
    key(
        "shell.allow_unsandboxed",
        Kind::Bool,
        Some("false"),
        "offer `bash` also where there are no walls at all",
    ),
    key("shell.network", Kind::Bool, Some("false"), "let commands use the network of the server"),
    key(
        "shell.read",
        Kind::Paths,
        None,
        "what commands may read although it is masked or, behind partial walls, new",
    ),
    key(
        "shell.write",
        Kind::Paths,
        None,
        "what commands may write besides the workspace and a `/tmp` of their own",
    ),
    key(
        "shell.memory_mb",
        Kind::Number(64, 1 << 24),
        Some("4096"),
        "MiB of memory of a session's commands together",
    ),
    key(
        "shell.processes",
        Kind::Number(16, 1 << 22),
        Some("1024"),
        "processes and threads of a session's commands at one time",
    ),
    key(
        "shell.cpu_seconds",
        Kind::Number(1, 1 << 24),
        Some("3600"),
        "seconds of processor time of one process of a command",
    ),
    key(
        "shell.file_mb",
        Kind::Number(1, 1 << 24),
        Some("4096"),
        "MiB of the largest file a command writes",
    ),
    key(
        "guards.deny",
        Kind::Texts,
        None,
        "commands that the guard `denylist` refuses besides its own",
    ),
    key(
        "state.dir",
        Kind::Path,
        None,
        "ledger, fresh workspaces, spilled outputs; `$XDG_STATE_HOME/harness` when not set",
    ),
    key(
        "ledger.sync",
        Kind::Word(&["normal", "full"]),
        Some("normal"),
        "`normal` survives a kill, `full` a power cut too",
    ),
    key("log.level", Kind::Filter, Some("info"), "which lines are logged, on standard error"),
    key(
        "log.format",
        Kind::Word(&["text", "json"]),
        Some("text"),
        "a log line as `text`, or as one `json` object",
    ),
    key(
        "log.audit",
        Kind::Path,
        None,
        "file that gets a line for each command, each denial and each request turned away",
    ),
];
