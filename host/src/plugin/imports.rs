//! The powers behind a tool's imports: each interface of the contract, one `impl`.
//!
//! An import translates and checks the called tool's declared effects; the jail, the shell and
//! `fetch` decide and do. A tool that did not declare an effect is refused here, whatever it was granted.
//! Nothing in here knows the loop or the model.

mod fetch;
mod process;
mod state;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use harness_jail::{Jail, Scope};
use wasmtime::component::{HasSelf, Linker};

use super::engine::Meter;
use super::sink::Sink;
use super::wasi::{Inert, Runtime};
use super::workspace::Workspace;
use crate::config::PluginConfig;
use crate::deadline::Deadline;
use crate::fetch::Fetch;
use crate::wit::{
    Effects, Fault, FaultKind, ambient, fetch as fetch_import, log, process as process_import,
    state as state_import, types, workspace_read, workspace_write,
};

/// What one tool call has in its store.
pub(super) struct CallState {
    pub(super) meter: Meter,
    pub(super) sink: Sink,
    pub(super) inert: Inert,
    pub(super) workspace: Arc<Workspace>,
    /// What may be reached of it, where that is less than all.
    pub(super) jail: Option<Jail>,
    pub(super) reach: Arc<Reach>,
    pub(super) plugin: Arc<str>,
    pub(super) config: Arc<str>,
    pub(super) fetch: Arc<Fetch>,
    pub(super) effects: Effects,
    pub(super) deadline: Deadline,
    /// Bytes in the workspace were changed through the write import.
    pub(super) altered: bool,
    /// A command was started: what it changed is unknown.
    pub(super) executed: bool,
    /// How often each power was called.
    pub(super) powers: BTreeMap<&'static str, u32>,
}

/// How far a plugin's powers go, as they are narrowed in its table.
#[derive(Debug, Default)]
pub(super) struct Reach {
    /// Of the workspace.
    pub(super) scope: Scope,
    /// The programs it may start; any when None.
    run: Option<Vec<String>>,
}

impl Reach {
    pub(super) fn of(config: &PluginConfig) -> Reach {
        let scope = Scope { read: config.read.clone(), write: config.write.clone() };
        Reach { scope, run: config.run.clone() }
    }

    pub(super) fn is_all_of_workspace(&self) -> bool {
        self.scope.read.is_none() && self.scope.write.is_none()
    }
}

impl CallState {
    /// The workspace, as far as this plugin may reach.
    fn jail(&self) -> &Jail {
        self.jail.as_ref().unwrap_or(&self.workspace.jail)
    }

    /// Counts a call of a power.
    fn calls(&mut self, power: &'static str) -> &mut CallState {
        let calls = self.powers.entry(power).or_default();
        *calls = calls.saturating_add(1);
        self
    }

    /// Refuses what the called tool did not declare.
    fn require(&self, effect: Effects, doing: &str) -> Result<(), Fault> {
        if self.effects.contains(effect) {
            return Ok(());
        }
        Err(Fault {
            kind: FaultKind::Denied,
            message: format!("this tool may not {doing}: it did not declare that effect"),
            hint: None,
        })
    }

    /// The point by which a host function must be back, or a fault when it has passed.
    fn until(&self) -> Result<Instant, Fault> {
        if self.deadline.is_over() {
            return Err(Fault {
                kind: FaultKind::TimedOut,
                message: "no time is left in this run".to_owned(),
                hint: None,
            });
        }
        Ok(self.deadline.instant())
    }
}

impl Runtime for CallState {
    fn inert(&mut self) -> &mut Inert {
        &mut self.inert
    }

    fn sink(&mut self) -> &mut Sink {
        &mut self.sink
    }
}

impl types::Host for CallState {}

impl ambient::Host for CallState {
    fn config(&mut self) -> wasmtime::Result<String> {
        Ok(self.config.to_string())
    }

    fn now_ms(&mut self) -> wasmtime::Result<u64> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Ok(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
    }

    fn random(&mut self) -> wasmtime::Result<u64> {
        Ok(uuid::Uuid::new_v4().as_u64_pair().0)
    }

    fn remaining_ms(&mut self) -> wasmtime::Result<u32> {
        Ok(self.deadline.left_ms())
    }
}

/// Links what every tool has and the powers that were granted, and nothing else.
pub(super) fn link(
    engine: &wasmtime::Engine,
    powers: &[&'static str],
) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::new(engine);
    types::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut CallState| state)?;
    log::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut CallState| &mut state.sink)?;
    ambient::add_to_linker::<_, HasSelf<_>>(&mut linker, |state: &mut CallState| state)?;
    for power in powers {
        match *power {
            "workspace-read" => {
                workspace_read::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| {
                    state.calls("workspace-read")
                })?;
            }
            "workspace-write" => {
                workspace_write::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| {
                    state.calls("workspace-write")
                })?;
            }
            "process" => {
                process_import::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| {
                    state.calls("process")
                })?;
            }
            "state" => {
                state_import::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| {
                    state.calls("state")
                })?;
            }
            "fetch" => {
                fetch_import::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| {
                    state.calls("fetch")
                })?;
            }
            other => unreachable!("`{other}` is not in the list of powers"),
        }
    }
    Ok(linker)
}

/// The jail's fault in the contract's words.
fn fault(fault: harness_jail::Fault) -> Fault {
    use harness_jail::FaultKind as Jail;
    let kind = match fault.kind {
        Jail::InvalidInput => FaultKind::InvalidInput,
        Jail::NotFound => FaultKind::NotFound,
        Jail::Denied => FaultKind::Denied,
        Jail::Conflict => FaultKind::Conflict,
        Jail::TooLarge => FaultKind::TooLarge,
        Jail::TimedOut => FaultKind::TimedOut,
        Jail::Cancelled => FaultKind::Cancelled,
        Jail::Unavailable => FaultKind::Unavailable,
        Jail::Unsupported => FaultKind::Unsupported,
        Jail::Failed => FaultKind::Failed,
    };
    Fault { kind, message: fault.message, hint: fault.hint }
}
