//! The one table of settings: name, kind, default and meaning.
//!
//! Everything that lists or reads settings (file, environment, flags, documentation) goes through
//! it, so that no layer knows a key that another does not.

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
}

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// Text that is never shown.
    Secret,
    /// `true` or `false`.
    Bool,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// `IP:PORT` on a loopback address.
    LoopbackAddress,
    /// An `http://` or `https://` address.
    Url,
    /// A folder; `~/` is the home directory.
    Path,
    /// One of these words.
    Word(&'static [&'static str]),
}

impl Kind {
    /// What is allowed, for a message.
    pub fn allowed(self) -> String {
        match self {
            Kind::Text | Kind::Secret => "a text that is not empty".to_owned(),
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::Number(min, max) => format!("a whole number from {min} to {max}"),
            Kind::LoopbackAddress => "a loopback `IP:PORT`, such as `127.0.0.1:8080`".to_owned(),
            Kind::Url => "an `http://` or `https://` address".to_owned(),
            Kind::Path => "an absolute path, or one that starts with `~/`".to_owned(),
            Kind::Word(words) => format!("one of `{}`", words.join("`, `")),
        }
    }

    /// Whether `text` is such a value.
    ///
    /// # Errors
    ///
    /// What was expected and what came; a secret is not repeated.
    pub fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Kind::Text | Kind::Secret => !text.trim().is_empty(),
            Kind::Bool => matches!(text, "true" | "false"),
            Kind::Number(min, max) => {
                text.parse::<u64>().is_ok_and(|number| (min..=max).contains(&number))
            }
            Kind::LoopbackAddress => {
                text.parse::<std::net::SocketAddr>().is_ok_and(|addr| addr.ip().is_loopback())
            }
            Kind::Url => {
                let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
                rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
            }
            Kind::Path => text.starts_with('/') || text.starts_with("~/"),
            Kind::Word(words) => words.contains(&text),
        };
        match (fits, self) {
            (true, _) => Ok(()),
            (false, Kind::Secret) => Err(format!("expected {}, got none", self.allowed())),
            (false, _) => Err(format!("expected {}, got `{text}`", self.allowed())),
        }
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
        Kind::LoopbackAddress,
        Some("127.0.0.1:8080"),
        "where to listen; its short environment name is `HARNESS_ADDR`",
    ),
    key(
        "server.max_body_bytes",
        Kind::Number(1024, 1 << 30),
        Some("16777216"),
        "largest request body, in bytes",
    ),
    key("server.max_runs", Kind::Number(1, 100_000), Some("64"), "runs at one time"),
    key("upstream.base_url", Kind::Url, None, "up to and without `/chat/completions`"),
    key("upstream.api_key", Kind::Secret, None, "sent upstream as a bearer token"),
    key("upstream.model", Kind::Text, None, "asked when a request names none, or `harness`"),
    key(
        "upstream.profile",
        Kind::Text,
        None,
        "the provider profile; chosen by URL and model when not set",
    ),
    key("agent.max_turns", Kind::Number(1, 100_000), Some("50"), "replies asked of the model"),
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
        "workspace.root",
        Kind::Path,
        None,
        "parent of fresh workspaces; `workspaces` under `state.dir` when not set",
    ),
    key("shell.enabled", Kind::Bool, Some("true"), "offer the `bash` tool"),
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
];
