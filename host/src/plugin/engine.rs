//! The engine all components run on, and what bounds one store.
//!
//! One engine a process: Cranelift, on-demand memory, fuel and epochs both on. Everything the
//! contract does not need is switched off, because most of what ever went wrong in such engines
//! went wrong there. Knows nothing of tools, guards or the disk.

use std::time::Duration;

use wasmtime::{Config, ResourceLimiter};

/// How often the epoch moves on. A busy guest yields to the runtime at each tick, so this bounds
/// how late a time-out or a cancel can be.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Memory of one store, summed over every memory in it.
pub(super) const MEMORY_BYTES: usize = 64 << 20;

/// Elements of one table; an ordinary guest has some hundreds.
const TABLE_ELEMENTS: usize = 20_000;

/// The engine could not be set up on this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine does not start: {0:#}")]
pub struct EngineError(wasmtime::Error);

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine(wasmtime::Engine);

impl Engine {
    /// Starts the engine and the thread that moves its epoch on; the thread ends with the engine.
    ///
    /// # Errors
    ///
    /// When the machine has no support for what the engine needs.
    pub fn new() -> Result<Engine, EngineError> {
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .epoch_interruption(true)
            .wasm_threads(false)
            .gc_support(false)
            .wasm_gc(false)
            .wasm_function_references(false)
            .wasm_memory64(false)
            .wasm_exceptions(false);
        let engine = wasmtime::Engine::new(&config).map_err(EngineError)?;
        let weak = engine.weak();
        std::thread::Builder::new()
            .name("epoch".to_owned())
            .spawn(move || {
                while let Some(engine) = weak.upgrade() {
                    engine.increment_epoch();
                    drop(engine);
                    std::thread::sleep(TICK);
                }
            })
            .map_err(|err| EngineError(err.into()))?;
        Ok(Engine(engine))
    }

    pub(super) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.0
    }
}

/// What one store may use, and whether it asked for more.
#[derive(Debug, Default)]
pub(super) struct Meter {
    used_bytes: usize,
    /// An allocation that is refused looks like any panic from outside: this flag tells it apart.
    pub(super) exceeded: bool,
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let used_bytes = self.used_bytes.saturating_add(desired.saturating_sub(current));
        if used_bytes > MEMORY_BYTES {
            self.exceeded = true;
            return Ok(false);
        }
        self.used_bytes = used_bytes;
        Ok(true)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS)
    }

    fn instances(&self) -> usize {
        64
    }

    fn tables(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        8
    }
}
