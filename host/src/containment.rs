//! Which walls stand around commands: from what is configured and what the machine lets us build.
//!
//! Found out once, at the start, and told to whoever asks: the log, `doctor`, `/readyz`, the model.
//! Never lowers them later; a session whose walls cannot be built runs no command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_jail::{Limits, Posture, Refusal, Sandbox, Shell, probe, secret_places};

use crate::config::{PluginConfig, ShellConfig, Walls};

/// The plugin that runs commands.
const SHELL: &str = "shell";

/// Walls that were asked for and cannot be had; for the operator.
#[derive(Debug, thiserror::Error)]
#[error(
    "`shell.sandbox = \"{}\"` cannot be had on this machine: {cause}\n\
     hint: `auto` takes the highest walls that can be had", walls.name()
)]
pub struct NoWalls {
    walls: Posture,
    cause: String,
}

/// What commands run in.
#[derive(Clone, Debug)]
pub struct Containment {
    sandbox: Arc<Sandbox>,
    /// Why there are no higher walls.
    refusals: Vec<Refusal>,
    /// Whether memory and the number of processes are bounded.
    is_bounded: bool,
}

impl Containment {
    /// Tries the walls out in `directory`, a canonical one of the server's own. `masked`: the
    /// server's own places. Waits some milliseconds for the processes that takes.
    ///
    /// # Errors
    ///
    /// When walls were asked for by name and cannot be built.
    pub fn find(
        shell: &ShellConfig,
        home: Option<&Path>,
        masked: Vec<PathBuf>,
        directory: &Path,
    ) -> Result<Containment, NoWalls> {
        let mut sandbox = Sandbox {
            posture: Posture::None,
            network: shell.network,
            read: shell.read.clone(),
            write: shell.write.clone(),
            masked: [masked, secret_places(home)].concat(),
            limits: Limits {
                memory_bytes: shell.memory_bytes,
                processes: shell.processes,
                cpu_seconds: shell.cpu_seconds,
                file_bytes: shell.file_bytes,
            },
            // Ourselves, even when the file was replaced meanwhile.
            init: vec!["/proc/self/exe".to_owned(), "sandbox-init".to_owned()],
        };
        let wanted = match shell.walls {
            Walls::Auto => vec![Posture::Full, Posture::Partial],
            Walls::Full => vec![Posture::Full],
            Walls::Partial => vec![Posture::Partial],
            Walls::None => Vec::new(),
        };
        let (found, mut refusals) = probe(&sandbox, &wanted, directory);
        match (found, &*wanted) {
            (Some(posture), _) => sandbox.posture = posture,
            (None, [walls]) => {
                let cause = refusals.pop().map(|refusal| refusal.cause).unwrap_or_default();
                return Err(NoWalls { walls: *walls, cause });
            }
            (None, _) if shell.allow_unsandboxed => {}
            (None, _) => sandbox.init.clear(),
        }
        let is_bounded = sandbox.is_bounded();
        Ok(Containment { sandbox: Arc::new(sandbox), refusals, is_bounded })
    }

    /// In which no command runs.
    pub fn none() -> Containment {
        let sandbox = Arc::new(Sandbox::none());
        Containment { sandbox, refusals: Vec::new(), is_bounded: true }
    }

    /// Whether commands run at all.
    pub fn runs_commands(&self) -> bool {
        !self.sandbox.init.is_empty()
    }

    /// Whether commands run that can reach the server's own directories.
    pub fn leaves_state_open(&self) -> bool {
        self.runs_commands() && self.posture() == Posture::None
    }

    /// The one word for it.
    pub fn posture(&self) -> Posture {
        self.sandbox.posture
    }

    /// Commands of a session; `tmp` is for their temporary files.
    pub fn shell(&self, environment: Vec<(String, String)>, session: &str, tmp: PathBuf) -> Shell {
        Shell::new(environment, session, Arc::clone(&self.sandbox), tmp)
    }

    /// What a person should know, on one line; and whether nothing of it is a worry.
    pub fn summary(&self) -> (String, bool) {
        let causes: Vec<_> = self
            .refusals
            .iter()
            .map(|it| format!("no walls `{}`: {}", it.posture.name(), it.cause))
            .collect();
        if !self.runs_commands() {
            let why = match &*causes {
                [] => "no command is run: `shell.sandbox` is `none`".to_owned(),
                causes => format!("no command is run: {}", causes.join("; ")),
            };
            return (format!("{why}; `shell.allow_unsandboxed = true` runs them without"), false);
        }
        let posture = self.posture();
        let mut said = vec![match posture {
            Posture::Full => "posture `full`: namespaces and Landlock".to_owned(),
            Posture::Partial => {
                "posture `partial`: Landlock; docs/security.md lists what leaks".into()
            }
            Posture::None => "posture `none`: commands run as the server's user, unconfined".into(),
        }];
        if self.sandbox.network {
            said.push("commands have the network".to_owned());
        }
        if !self.is_bounded {
            said.push("memory and processes are not bounded, no control group can be made".into());
        }
        said.extend(causes);
        (said.join("; "), posture == Posture::Full && self.is_bounded)
    }

    /// Tells the log.
    pub fn report(&self) {
        match self.summary() {
            (summary, true) => tracing::info!("commands: {summary}"),
            (summary, false) => tracing::warn!("commands: {summary}"),
        }
    }

    /// Tells the plugin that runs commands what they run in, so that the model knows; where none
    /// runs, it is not offered.
    pub fn tell(&self, plugins: &mut BTreeMap<String, PluginConfig>) {
        let plugin = plugins.entry(SHELL.to_owned()).or_default();
        if self.runs_commands() {
            plugin.config.insert("contained".to_owned(), self.for_models().into());
        } else {
            plugin.enabled = Some(false);
        }
    }

    fn for_models(&self) -> &'static str {
        match (self.posture(), self.sandbox.network) {
            (Posture::None, _) => "",
            (_, true) => "A sandbox lets commands write in the workspace and $TMPDIR only.",
            (Posture::Full, false) => {
                "A sandbox lets commands write in the workspace and /tmp only, and gives them no \
                 network but loopback."
            }
            (Posture::Partial, false) => {
                "A sandbox lets commands write in the workspace and $TMPDIR only, and gives them \
                 no network at all."
            }
        }
    }
}
