//! What one question to a plugin used: time, instructions, memory, and which powers were called.
//!
//! Only measured and told; nothing is decided by it. The limits stand with what enforces them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wasmtime::Store;

use super::engine::Meter;

/// What one question to a plugin used, in an instance made for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// Making the instance.
    pub instantiating: Duration,
    /// The question itself, what the host did for it included.
    pub answering: Duration,
    /// Instructions, in fuel units; those of making the instance included. Of a call that the clock
    /// stopped, those up to its last question to the host.
    pub fuel: u64,
    /// Memory of the new instance, in bytes.
    pub memory_at_start_bytes: usize,
    /// The most it had, in bytes: memories never shrink.
    pub memory_bytes: usize,
    /// How often each power was called; of those that were.
    pub powers: BTreeMap<&'static str, u32>,
}

/// Measures one question.
pub(super) struct Gauge {
    started: Instant,
    fuel_given: u64,
    /// When the instance stood, and its memory.
    stood: Option<(Instant, usize)>,
}

impl Gauge {
    /// Starts, before the instance is made; `fuel_given` is what its store has.
    pub(super) fn start(fuel_given: u64) -> Gauge {
        Gauge { started: Instant::now(), fuel_given, stood: None }
    }

    /// The instance stands.
    pub(super) fn stands(&mut self, meter: &Meter) {
        self.stood = Some((Instant::now(), meter.used_bytes()));
    }

    /// It is over, however it ended.
    pub(super) fn read<T: 'static>(&self, store: &Store<T>, meter: &Meter) -> Used {
        let (stood, memory_at_start_bytes) = self.stood.unwrap_or((Instant::now(), 0));
        Used {
            instantiating: stood.duration_since(self.started),
            answering: stood.elapsed(),
            fuel: self.fuel_given.saturating_sub(store.get_fuel().unwrap_or(0)),
            memory_at_start_bytes,
            memory_bytes: meter.used_bytes(),
            powers: BTreeMap::new(),
        }
    }
}
