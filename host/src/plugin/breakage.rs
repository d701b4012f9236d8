//! A plugin that broke: what happened, told to its two readers.
//!
//! Causes come from the engine's trap codes and from our own flags, never from message text. The
//! model gets one line it can act on, the person gets plugin, export, cause and the panic's own
//! message. Never decides what a breakage means: for a tool it is a failed call, for a guard a
//! refusal.

use std::time::Duration;

use wasmtime::Trap;

use super::engine::Meter;
use super::sink::Sink;

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
    Stack,
    /// The engine stopped it for another reason.
    Trap(String),
    /// An import or the instantiation failed: a fault of the host, or of the component's form.
    Host(String),
}

/// A plugin that broke in the middle of a call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` broke in `{export}` after {} ms: {}", elapsed.as_millis(), self.what())]
pub struct Breakage {
    /// The plugin's name in the configuration.
    pub plugin: String,
    /// The export that was called.
    pub export: &'static str,
    /// What happened.
    pub cause: Cause,
    /// From the call to the end.
    pub elapsed: Duration,
    /// The last error the plugin logged: for a panic, its message and place.
    pub last_words: Option<String>,
}

impl Breakage {
    pub(super) fn new(
        plugin: &str,
        export: &'static str,
        error: &wasmtime::Error,
        meter: &Meter,
        sink: &Sink,
        fuel_limit: u64,
        elapsed: Duration,
    ) -> Breakage {
        let cause = match error.downcast_ref::<Trap>() {
            _ if meter.exceeded => Cause::Memory { limit_bytes: meter.limit_bytes },
            Some(Trap::OutOfFuel) => Cause::Fuel { limit: fuel_limit },
            Some(Trap::Interrupt) => Cause::Time,
            Some(Trap::UnreachableCodeReached) => Cause::Panic,
            Some(Trap::StackOverflow) => Cause::Stack,
            Some(other) => Cause::Trap(other.to_string()),
            None => Cause::Host(error.root_cause().to_string()),
        };
        Breakage { plugin: plugin.to_owned(), export, cause, elapsed, last_words: last_words(sink) }
    }

    pub(super) fn out_of_time(
        plugin: &str,
        export: &'static str,
        sink: &Sink,
        elapsed: Duration,
    ) -> Breakage {
        Breakage {
            plugin: plugin.to_owned(),
            export,
            cause: Cause::Time,
            elapsed,
            last_words: last_words(sink),
        }
    }

    pub(super) fn of_host(plugin: &str, export: &'static str, what: &str) -> Breakage {
        Breakage {
            plugin: plugin.to_owned(),
            export,
            cause: Cause::Host(what.to_owned()),
            elapsed: Duration::ZERO,
            last_words: None,
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
            Cause::Stack => "it ran out of stack (endless recursion?)".to_owned(),
            Cause::Trap(trap) => format!("the engine stopped it: {trap}"),
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
}

/// The last error as one line: a panic's message comes with its place, in two.
fn last_words(sink: &Sink) -> Option<String> {
    let words = sink.last_error()?;
    Some(words.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}
