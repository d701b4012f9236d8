//! `process`: commands and jobs, by the session's shell.
//!
//! A command gets at most the time the run has left, less the moment it takes to tell the model
//! what came of it. Dropping the call kills the command and everything it started. A job outlives
//! its call, and the run; waiting for one is bounded like a command.

use std::time::Duration;

use harness_jail as jail;

use super::{CallState, fault};
use crate::wit::{Effects, Fault, FaultKind, process};

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

    async fn start_job(
        &mut self,
        request: process::Request,
    ) -> wasmtime::Result<Result<process::Job, Fault>> {
        Ok(self.start_command(request).await)
    }

    async fn ask_job(
        &mut self,
        id: String,
        ask: process::Ask,
    ) -> wasmtime::Result<Result<process::Completion, Fault>> {
        Ok(self.ask_command(&id, ask).await)
    }
}

impl CallState {
    async fn run_command(
        &mut self,
        request: process::Request,
    ) -> Result<process::Completion, Fault> {
        self.may_execute()?;
        let left = self.time_for_commands();
        let timeout_ms = request.timeout_ms.unwrap_or(u32::MAX).min(left);
        let request = self.request(request, timeout_ms)?;
        let workspace = self.workspace.clone();
        // Before the wait: when the call is stopped in the middle of it, the command has run.
        let executed_before = std::mem::replace(&mut self.executed, true);
        let ran = workspace.shell.run(&workspace.jail, request).await;
        ran.map(completion).map_err(|err| self.not_started(err, executed_before))
    }

    async fn start_command(&mut self, request: process::Request) -> Result<process::Job, Fault> {
        self.may_execute()?;
        // Forty-nine days are as long as any session.
        let timeout_ms = request.timeout_ms.unwrap_or(u32::MAX);
        let request = self.request(request, timeout_ms)?;
        let workspace = self.workspace.clone();
        let executed_before = std::mem::replace(&mut self.executed, true);
        let started = workspace.shell.start_job(&workspace.jail, request).await;
        let job = started.map_err(|err| self.not_started(err, executed_before))?;
        Ok(process::Job { id: job.id, completion: completion(job.completion) })
    }

    async fn ask_command(
        &mut self,
        id: &str,
        ask: process::Ask,
    ) -> Result<process::Completion, Fault> {
        self.may_execute()?;
        let ask = match ask {
            process::Ask::Look => jail::Ask::Look,
            process::Ask::Stop => jail::Ask::Stop,
            process::Ask::Wait(wait_ms) => {
                let wait_ms = wait_ms.min(self.time_for_commands());
                jail::Ask::Wait(Duration::from_millis(u64::from(wait_ms)))
            }
        };
        let workspace = self.workspace.clone();
        let told = workspace.shell.ask_job(id, ask).await.map_err(fault)?;
        // The job went on meanwhile, and what it changed is as unknown as with a command.
        self.executed = true;
        Ok(completion(told))
    }

    fn may_execute(&self) -> Result<(), Fault> {
        self.require(Effects::EXECUTE, "run commands")?;
        self.until().map(drop)
    }

    /// Milliseconds that a command may take; at least 1.
    fn time_for_commands(&self) -> u32 {
        let left = self.deadline.left();
        let left = (left - TELLING.min(left / 4)).as_millis().max(1);
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    fn request(&self, request: process::Request, timeout_ms: u32) -> Result<jail::Request, Fault> {
        self.may_start(&request)?;
        let workdir = request.workdir.as_deref().map(|path| self.jail().parse(path));
        Ok(jail::Request {
            command: match request.command {
                process::Command::Shell(text) => jail::Command::Shell(text),
                process::Command::Argv(words) => jail::Command::Argv(words),
            },
            workdir: workdir.transpose().map_err(fault)?,
            timeout_ms,
            environment: request.environment,
            stdin: request.stdin,
        })
    }

    /// Holds a plugin to the programs it may start. They are found by name in the `PATH` that every
    /// command has, so a plugin that is held sets no variable.
    fn may_start(&self, request: &process::Request) -> Result<(), Fault> {
        let Some(run) = &self.reach.run else { return Ok(()) };
        let is_in = |name: &str| run.iter().any(|program| program == name);
        let message = match &request.command {
            process::Command::Argv(words) => match words.first() {
                Some(name) if is_in(name) && request.environment.is_empty() => return Ok(()),
                Some(name) if is_in(name) => "this plugin may not set variables".to_owned(),
                Some(name) => format!("this plugin may not start `{name}`"),
                None => "no program is named".to_owned(),
            },
            process::Command::Shell(_) if is_in("bash") && request.environment.is_empty() => {
                return Ok(());
            }
            process::Command::Shell(_) => "this plugin may not start a shell".to_owned(),
        };
        let hint = format!(
            "a person can widen `run` in `[plugin.{}]`, which has `{}`",
            self.plugin,
            run.join("`, `")
        );
        Err(Fault { kind: FaultKind::Denied, message, hint: Some(hint) })
    }

    /// Of a command that was refused before anything was started, nothing has run.
    fn not_started(&mut self, err: jail::Fault, executed_before: bool) -> Fault {
        if err.kind != jail::FaultKind::Failed {
            self.executed = executed_before;
        }
        fault(err)
    }
}

fn completion(completion: jail::Completion) -> process::Completion {
    process::Completion {
        ending: match completion.ending {
            jail::Ending::Exited(code) => process::Ending::Exited(code),
            jail::Ending::Signalled(signal) => process::Ending::Signalled(signal),
            jail::Ending::TimedOut => process::Ending::TimedOut,
            jail::Ending::Running => process::Ending::Running,
        },
        output: completion.output,
        omitted_bytes: completion.omitted_bytes,
        spill: completion.spill,
        still_running: completion.still_running,
        notes: completion.notes,
        duration_ms: completion.duration_ms,
    }
}
