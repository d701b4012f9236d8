//! Where the commands of a workspace come from: its shell, or a script.
//!
//! A script is for trying a tool out: it starts no process, and a command that it has no result for
//! is a fault that says so. Whether a tool may run commands at all is the import's business.

use std::sync::{Mutex, MutexGuard, PoisonError};

use harness_jail::{Ask, Command, Completion, Ending, Fault, FaultKind, Jail, Job, Request, Shell};

/// What runs commands.
#[derive(Debug)]
pub enum Commands {
    /// Processes.
    Shell(Box<Shell>),
    /// Nothing: results are there already.
    Scripted(Scripted),
}

/// The result of one command, known before it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptedCommand {
    /// The text of the command; of one in words, these with a space between each two.
    pub run: String,
    /// The exit code.
    pub exit: i32,
    /// What it writes.
    pub output: String,
}

/// Results in the order in which they are given to the same command; the last is given again.
#[derive(Debug, Default)]
pub struct Scripted(Mutex<Given>);

#[derive(Debug, Default)]
struct Given {
    left: Vec<ScriptedCommand>,
    /// Jobs that were started.
    jobs: usize,
}

impl Scripted {
    /// A script with these results.
    pub fn new(commands: Vec<ScriptedCommand>) -> Scripted {
        Scripted(Mutex::new(Given { left: commands, jobs: 0 }))
    }

    fn given(&self) -> MutexGuard<'_, Given> {
        // A poisoned script is still whole: each change is one remove or one count.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, request: Request) -> Result<Completion, Fault> {
        let asked = match request.command {
            Command::Shell(text) => text,
            Command::Argv(words) => words.join(" "),
        };
        let left = &mut self.given().left;
        let mut fitting = (0..left.len()).filter(|at| left[*at].run == asked);
        let (first, is_last) = (fitting.next(), fitting.next().is_none());
        let result = match first {
            Some(at) if is_last => left[at].clone(),
            Some(at) => left.remove(at),
            None if left.is_empty() => return Err(unscripted("no command is scripted", &asked)),
            None => return Err(unscripted(&format!("`{asked}` is not scripted"), &asked)),
        };
        Ok(exited(result.exit, result.output))
    }

    fn start_job(&self, request: Request) -> Result<Job, Fault> {
        let completion = self.run(request)?;
        let mut given = self.given();
        given.jobs += 1;
        Ok(Job { id: format!("job-{}", given.jobs), completion })
    }

    /// A scripted job is over in its first moment, and says nothing more.
    fn ask_job(&self, id: &str) -> Result<Completion, Fault> {
        let jobs = self.given().jobs;
        if (1..=jobs).any(|number| id == format!("job-{number}")) {
            return Ok(exited(0, String::new()));
        }
        Err(Fault::new(FaultKind::NotFound, format!("no job `{id}` was started")))
    }
}

fn unscripted(message: &str, command: &str) -> Fault {
    let hint = format!("add this to the row's `commands`: {{ run = {command:?}, exit = 0 }}");
    Fault::new(FaultKind::Unavailable, message).with_hint(hint)
}

fn exited(code: i32, output: String) -> Completion {
    Completion {
        ending: Ending::Exited(code),
        output,
        omitted_bytes: 0,
        spill: None,
        still_running: 0,
        notes: Vec::new(),
        duration_ms: 1,
    }
}

impl Commands {
    /// As [`Shell::run`].
    pub(super) async fn run(&self, jail: &Jail, request: Request) -> Result<Completion, Fault> {
        match self {
            Commands::Shell(shell) => shell.run(jail, request).await,
            Commands::Scripted(script) => script.run(request),
        }
    }

    /// As [`Shell::start_job`].
    pub(super) async fn start_job(&self, jail: &Jail, request: Request) -> Result<Job, Fault> {
        match self {
            Commands::Shell(shell) => shell.start_job(jail, request).await,
            Commands::Scripted(script) => script.start_job(request),
        }
    }

    /// As [`Shell::ask_job`].
    pub(super) async fn ask_job(&self, id: &str, ask: Ask) -> Result<Completion, Fault> {
        match self {
            Commands::Shell(shell) => shell.ask_job(id, ask).await,
            Commands::Scripted(script) => script.ask_job(id),
        }
    }

    /// Ends whatever runs on. Blocks.
    pub fn end(&self) {
        if let Commands::Shell(shell) = self {
            shell.end();
        }
    }
}
