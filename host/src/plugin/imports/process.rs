//! `process`: commands, by the session's shell.
//!
//! A command gets at most the time the run has left, less the moment it takes to tell the model
//! what came of it. Dropping the call kills the command and everything it started.

use std::time::Duration;

use harness_jail as jail;

use super::{CallState, fault};
use crate::wit::{Effects, Fault, process};

/// Kept back from the time that is left, at most: killing takes a grace of half a second, telling
/// the rest.
const TELLING: Duration = Duration::from_millis(1_500);

impl process::Host for CallState {
    async fn run(
        &mut self,
        request: process::Request,
    ) -> wasmtime::Result<Result<process::Completion, Fault>> {
        Ok(self.run_command(request).await)
    }
}

impl CallState {
    async fn run_command(
        &mut self,
        request: process::Request,
    ) -> Result<process::Completion, Fault> {
        self.require(Effects::EXECUTE, "run commands")?;
        self.until()?;
        let workspace = self.workspace.clone();
        let workdir = request.workdir.as_deref().map(|path| workspace.jail.parse(path));
        let left = self.deadline.left();
        let left = (left - TELLING.min(left / 4)).as_millis().max(1);
        let request = jail::Request {
            command: match request.command {
                process::Command::Shell(text) => jail::Command::Shell(text),
                process::Command::Argv(words) => jail::Command::Argv(words),
            },
            workdir: workdir.transpose().map_err(fault)?,
            timeout_ms: request.timeout_ms.min(u32::try_from(left).unwrap_or(u32::MAX)),
            environment: request.environment,
            stdin: request.stdin,
        };
        // Before the wait: when the call is stopped in the middle of it, the command has run.
        let executed_before = std::mem::replace(&mut self.executed, true);
        let completion = workspace.shell.run(&workspace.jail, request).await.map_err(|err| {
            if err.kind != jail::FaultKind::Failed {
                // Refused before anything was started.
                self.executed = executed_before;
            }
            fault(err)
        })?;
        Ok(process::Completion {
            ending: match completion.ending {
                jail::Ending::Exited(code) => process::Ending::Exited(code),
                jail::Ending::Signalled(signal) => process::Ending::Signalled(signal),
                jail::Ending::TimedOut => process::Ending::TimedOut,
            },
            output: completion.output,
            omitted_bytes: completion.omitted_bytes,
            spill: completion.spill,
            still_running: completion.still_running,
            duration_ms: completion.duration_ms,
        })
    }
}
