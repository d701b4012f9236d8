//! A plugin that broke: what happened, told to its two readers.
//!
//! Causes come from the engine's trap codes and from our own flags. The model gets one line it can
//! act on; the person gets plugin, export, cause, where it was, what it used and the guest's own
//! last words. Never decides what a breakage means: for a tool it is a failed call, for a guard a
//! refusal.

mod frames;

use std::time::Duration;

use wasmtime::{PoolConcurrencyLimitError, Trap};

use super::engine::Meter;
use super::sink::Sink;
use super::wasi::{Exit, Stopped};

/// Bytes of a guest's last words that are told, from each end of them: some languages say what went
/// wrong before the trace of their calls, some behind it.
const WORDS_BYTES: usize = 400;

/// Beginnings of lines that runtimes print when they break, and that say nothing of the plugin.
const NOISE: [&str; 4] = [
    "note: run with `RUST_BACKTRACE",
    "Redirecting call to abort()",
    "thread '<unnamed>' (1) panicked at runtime/src/lib.rs",
    "Python function threw an unexpected exception",
];

/// Why a plugin's export did not return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It panicked, or aborted.
    Panic,
    /// It used up its instruction budget.
    Fuel {
        /// The budget, in fuel units.
        limit: u64,
    },
    /// It wanted more memory than it may have.
    Memory {
        /// So many bytes.
        limit_bytes: usize,
    },
    /// It was stopped by the clock.
    Time,
    /// It recursed too deep.
    Stack {
        /// The function that was called again and again, if it has a name.
        function: Option<String>,
    },
    /// It handed over more than the host takes in one call.
    Data {
        /// Bytes that are taken.
        limit: usize,
    },
    /// It ended itself, as a program does and a plugin must not.
    Exited(Exit),
    /// It called what this host does not give to anybody's runtime.
    Denied(String),
    /// The engine stopped it for another reason.
    Trap(String),
    /// What it exports, takes or hands over has not the contract's form.
    Misfit(String),
    /// A fault of the host.
    Host(String),
}

/// A plugin that broke in the middle of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` broke in `{export}` after {}{}: {}", self.used(), self.place(), self.what())]
pub struct Breakage {
    /// The plugin's name in the configuration.
    pub plugin: String,
    /// The export that was called.
    pub export: &'static str,
    /// What happened.
    pub cause: Cause,
    /// From the call to the end.
    pub elapsed: Duration,
    /// Where it was, and what it had used.
    pub trace: Box<Trace>,
    /// The last error the plugin logged, or else the end of what it printed: for a panic, its
    /// message and place.
    pub last_words: Option<String>,
}

/// Where a guest was when it broke, and what it had used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Instructions that it ran, in fuel units.
    pub fuel: u64,
    /// The most memory it had, in bytes.
    pub memory_bytes: usize,
    /// The functions it was in, the innermost first, as far as they have names and are its own.
    pub frames: Vec<String>,
}

/// What is left in a store whose guest broke.
pub(super) struct Remains<'a> {
    pub(super) meter: &'a Meter,
    pub(super) sink: &'a Sink,
    /// In fuel units, as the store was given them.
    pub(super) fuel_limit: u64,
    pub(super) fuel_left: u64,
    /// Bytes that the host takes in one call.
    pub(super) handed_limit: usize,
    pub(super) elapsed: Duration,
}

impl Breakage {
    pub(super) fn new(
        plugin: &str,
        export: &'static str,
        error: &wasmtime::Error,
        remains: &Remains<'_>,
    ) -> Breakage {
        let cause = cause(error, remains);
        let mut breakage = Breakage::of(plugin, export, cause, remains);
        breakage.trace.frames = frames::names(error);
        breakage
    }

    pub(super) fn out_of_time(
        plugin: &str,
        export: &'static str,
        remains: &Remains<'_>,
    ) -> Breakage {
        Breakage::of(plugin, export, Cause::Time, remains)
    }

    pub(super) fn of_host(plugin: &str, export: &'static str, what: &str) -> Breakage {
        Breakage {
            plugin: plugin.to_owned(),
            export,
            cause: Cause::Host(what.to_owned()),
            elapsed: Duration::ZERO,
            trace: Box::default(),
            last_words: None,
        }
    }

    fn of(plugin: &str, export: &'static str, cause: Cause, remains: &Remains<'_>) -> Breakage {
        let trace = Trace {
            fuel: remains.fuel_limit.saturating_sub(remains.fuel_left),
            memory_bytes: remains.meter.used_bytes(),
            frames: Vec::new(),
        };
        Breakage {
            plugin: plugin.to_owned(),
            export,
            cause,
            elapsed: remains.elapsed,
            trace: Box::new(trace),
            last_words: last_words(remains.sink),
        }
    }

    /// What happened, in one sentence without a period.
    pub fn what(&self) -> String {
        let words = self.last_words.as_deref();
        match &self.cause {
            Cause::Panic => match words {
                Some(words) => format!("it panicked: {words}"),
                None => "it panicked without a message".to_owned(),
            },
            Cause::Fuel { limit } => {
                format!("it used up its budget of {} million instructions", limit / 1_000_000)
            }
            Cause::Memory { limit_bytes } => {
                format!("it needed more than {} MiB of memory", limit_bytes >> 20)
            }
            Cause::Time => format!("it was stopped after {} ms", self.elapsed.as_millis()),
            // Go's own way to crash does, after the panic was told.
            Cause::Stack { .. } if words.is_some_and(|words| words.starts_with("panic: ")) => {
                format!("it panicked: {}", words.unwrap_or_default())
            }
            Cause::Stack { function: Some(function) } => {
                format!("it ran out of stack, in `{function}` again and again")
            }
            Cause::Stack { function: None } => {
                "it ran out of stack (endless recursion?)".to_owned()
            }
            Cause::Data { limit } => {
                format!("it handed over more than {} MiB in one call", limit >> 20)
            }
            Cause::Exited(exit) => match words {
                Some(words) => format!("it exited, {exit}: {words}"),
                None => format!("it exited, {exit}"),
            },
            Cause::Denied(denied) => denied.clone(),
            Cause::Trap(trap) => format!("the engine stopped it: {trap}"),
            Cause::Misfit(misfit) => format!("it does not fit the contract: {misfit}"),
            Cause::Host(error) => format!("the host stopped it: {error}"),
        }
    }

    /// For the model: whose fault it is not, and the one next step.
    pub fn for_model(&self) -> String {
        format!(
            "the tool's plugin `{}` broke: {}. This is a fault of the plugin, not of your call.\n\
             hint: do it another way, or with smaller input; the same call will likely break again",
            self.plugin,
            self.what()
        )
    }

    /// Time, instructions and memory.
    fn used(&self) -> String {
        let millis = self.elapsed.as_millis();
        let Trace { fuel, memory_bytes, .. } = *self.trace;
        if memory_bytes == 0 {
            return format!("{millis} ms");
        }
        let (fuel, memory) = (in_millions(fuel), memory_bytes.div_ceil(1 << 20));
        format!("{millis} ms, {fuel} million instructions and {memory} MiB of memory")
    }

    /// The functions it was in.
    fn place(&self) -> String {
        let frames = &self.trace.frames;
        if frames.is_empty() {
            return String::new();
        }
        format!(", in `{}`", frames.join("` < `"))
    }
}

fn cause(error: &wasmtime::Error, remains: &Remains<'_>) -> Cause {
    let trap = error.downcast_ref::<Trap>();
    // These two are certain. A refused allocation is not: the guest may have gone on without it.
    match trap {
        Some(Trap::OutOfFuel) => return Cause::Fuel { limit: remains.fuel_limit },
        Some(Trap::Interrupt) => return Cause::Time,
        _ => {}
    }
    if remains.meter.exceeded {
        return Cause::Memory { limit_bytes: remains.meter.limit_bytes };
    }
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return match stopped {
            Stopped::Exited(exit) => Cause::Exited(*exit),
            denied => Cause::Denied(denied.to_string()),
        };
    }
    match trap {
        Some(Trap::UnreachableCodeReached) => Cause::Panic,
        Some(Trap::StackOverflow) => Cause::Stack { function: frames::repeated(error) },
        Some(other) => {
            // Many languages keep a stack of their own in the memory, which ends where the memory
            // does: a fault there, in functions that call one another, is the end of that stack.
            let function = frames::repeated(error).filter(|_| *other == Trap::MemoryOutOfBounds);
            let trap = Cause::Trap(other.to_string());
            function.map_or(trap, |function| Cause::Stack { function: Some(function) })
        }
        None if is_too_much_data(error) => Cause::Data { limit: remains.handed_limit },
        None if error.is::<PoolConcurrencyLimitError>() => Cause::Host(error.to_string()),
        // No import gives the engine an error, so all others are about types and texts.
        None => Cause::Misfit(error.root_cause().to_string()),
    }
}

/// The engine has a type for this and keeps it to itself, so its words have to do; where they change,
/// the cause is told in them.
fn is_too_much_data(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().starts_with("too much data is being copied between the host")
}

/// With one digit where it matters.
fn in_millions(count: u64) -> String {
    match count {
        0..10_000_000 => {
            let tenths = count.div_ceil(100_000);
            format!("{}.{}", tenths / 10, tenths % 10)
        }
        _ => (count / 1_000_000).to_string(),
    }
}

/// The last error, or the end of what was printed, as one line: a panic's message comes with its
/// place, in two, and an exception's after the trace of its calls.
fn last_words(sink: &Sink) -> Option<String> {
    let printed = sink.printed();
    let words = sink.last_error().unwrap_or(&printed);
    let is_noise =
        |line: &str| line.is_empty() || NOISE.iter().any(|noise| line.starts_with(noise));
    let lines = words.lines().map(str::trim).filter(|line| !is_noise(line));
    let mut lines: Vec<&str> = lines.collect();
    // The trace of an endless recursion.
    lines.dedup();
    let line = lines.join(" ");
    if line.is_empty() {
        return None;
    }
    if line.len() <= 2 * WORDS_BYTES {
        return Some(line);
    }
    let head = line.floor_char_boundary(WORDS_BYTES);
    let tail = line.ceil_char_boundary(line.len() - WORDS_BYTES);
    Some(format!("{} … {}", &line[..head], &line[tail..]))
}
