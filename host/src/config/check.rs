//! Settings to the configuration in force, or every problem there is.
//!
//! What one value alone may be is its kind's to say; here is what two of them together may not be.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::layers::{Problem, Settings};
use super::{
    Budget, Busy, Config, LedgerSync, LogFormat, ShellConfig, Tokens, UpstreamConfig, Walls,
};

const MIB: u64 = 1 << 20;

/// Settings without a default that nothing can do without.
const REQUIRED: [&str; 1] = ["upstream.base_url"];

impl Settings {
    /// The configuration in force.
    ///
    /// # Errors
    ///
    /// Every problem of every layer.
    pub fn check(&self) -> Result<Config, Vec<Problem>> {
        let mut problems = self.problems.clone();
        for (key, setting) in self.iter() {
            match setting {
                Some(setting) => {
                    let messages = self.homeless(key.kind, &setting.texts).into_iter();
                    problems.extend(messages.map(|message| Problem {
                        place: format!("{} ({})", key.name, setting.origin),
                        message,
                    }));
                }
                None if REQUIRED.contains(&key.name) => problems.push(Problem {
                    place: key.name.to_owned(),
                    message: format!("not set; set it in the file or as `{}`", key.variable()),
                }),
                None => {}
            }
        }
        problems.extend(self.address_problem());
        problems.extend(self.writable_problem());
        match self.state_dir() {
            Some(state_dir) if problems.is_empty() => Ok(self.config(state_dir)),
            Some(_) => Err(problems),
            None => {
                problems.push(Problem {
                    place: "state.dir".to_owned(),
                    message: "not set, and there is no `HOME` to put it under".to_owned(),
                });
                Err(problems)
            }
        }
    }

    /// An address that other machines reach is asked for twice, and never open to everybody.
    fn address_problem(&self) -> Option<Problem> {
        let address: SocketAddr = self.text("server.addr").parse().ok()?;
        let message = match self.text("server.allow_non_loopback") {
            _ if address.ip().is_loopback() => return None,
            "true" if !self.texts("server.tokens").is_empty() => return None,
            "true" => "set `server.tokens`: without, whoever reaches it could run commands here",
            _ => {
                "to want that, set `server.allow_non_loopback` (`--allow-non-loopback`) and \
                 `server.tokens`"
            }
        };
        let origin = self.values.get("server.addr").map(|setting| setting.origin.to_string());
        Some(Problem {
            place: format!("server.addr ({})", origin.unwrap_or_default()),
            message: format!("other machines reach `{address}`; {message}"),
        })
    }

    /// What a sandbox cannot be without.
    fn writable_problem(&self) -> Option<Problem> {
        let is_vital = |path: &PathBuf| {
            *path == Path::new("/")
                || ["/dev", "/proc", "/sys"].iter().any(|it| path.starts_with(it))
        };
        let path = self.paths("shell.write").into_iter().find(is_vital)?;
        let origin = self.values.get("shell.write").map(|setting| setting.origin.to_string());
        Some(Problem {
            place: format!("shell.write ({})", origin.unwrap_or_default()),
            message: format!(
                "`{}` cannot be given to commands: `/`, `/dev`, `/proc` and `/sys` are the sandbox's",
                path.display()
            ),
        })
    }

    fn config(&self, state_dir: PathBuf) -> Config {
        Config {
            addr: self.parsed("server.addr"),
            tokens: Tokens::new(self.texts("server.tokens").to_vec()),
            max_body_bytes: self.parsed("server.max_body_bytes"),
            max_runs: self.parsed("server.max_runs"),
            upstream: UpstreamConfig {
                base_url: self.text("upstream.base_url").trim_end_matches('/').to_owned(),
                api_key: self.optional("upstream.api_key"),
                model: self.optional("upstream.model"),
                profile: self.optional("upstream.profile"),
                connect: self.seconds("upstream.connect_seconds"),
                first_token: self.seconds("upstream.first_token_seconds"),
                idle: self.seconds("upstream.idle_seconds"),
                attempts: self.parsed("upstream.attempts"),
            },
            budget: Budget {
                max_turns: self.parsed("agent.max_turns"),
                max_time: self.seconds("agent.max_seconds"),
                max_total_tokens: self.parsed("agent.max_total_tokens"),
            },
            parallel_reads: self.parsed("agent.parallel_reads"),
            context_enabled: self.parsed("context.enabled"),
            context_window: self.optional("context.window").map(|_| self.parsed("context.window")),
            workspace_root: self.path("workspace.root"),
            workspace_roots: self.paths("workspace.roots"),
            busy: match self.text("workspace.busy") {
                "queue" => Busy::Queue,
                _ => Busy::Refuse,
            },
            keep_days: self.parsed("workspace.keep_days"),
            shell: self.shell(),
            state_dir,
            ledger_sync: match self.text("ledger.sync") {
                "full" => LedgerSync::Full,
                _ => LedgerSync::Normal,
            },
            log_level: self.text("log.level").to_owned(),
            log_format: match self.text("log.format") {
                "json" => LogFormat::Json,
                _ => LogFormat::Text,
            },
            audit_log: self.path("log.audit"),
            plugins: self.plugins.clone(),
        }
    }

    fn shell(&self) -> ShellConfig {
        ShellConfig {
            walls: match self.text("shell.sandbox") {
                "full" => Walls::Full,
                "partial" => Walls::Partial,
                "none" => Walls::None,
                _ => Walls::Auto,
            },
            allow_unsandboxed: self.parsed("shell.allow_unsandboxed"),
            network: self.parsed("shell.network"),
            read: self.paths("shell.read"),
            write: self.paths("shell.write"),
            memory_bytes: self.parsed::<u64>("shell.memory_mb") * MIB,
            processes: self.parsed("shell.processes"),
            cpu_seconds: self.parsed("shell.cpu_seconds"),
            file_bytes: self.parsed::<u64>("shell.file_mb") * MIB,
        }
    }

    fn optional(&self, name: &str) -> Option<String> {
        self.texts(name).first().cloned()
    }

    fn paths(&self, name: &str) -> Vec<PathBuf> {
        self.texts(name).iter().map(|text| self.expand(text)).collect()
    }

    fn seconds(&self, name: &str) -> Duration {
        Duration::from_secs(self.parsed(name))
    }

    /// Only for numbers, flags and addresses, when there are no problems.
    fn parsed<T: std::str::FromStr>(&self, name: &str) -> T {
        match self.text(name).parse() {
            Ok(value) => value,
            Err(_) => unreachable!("`{name}` was checked against its kind before"),
        }
    }
}
