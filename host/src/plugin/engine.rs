//! The engine all components run on, and what bounds one store.
//!
//! One engine a process: Cranelift, fuel and epochs both on. Everything the contract does not need
//! is switched off, because most of what ever went wrong in such engines went wrong there. Memories
//! and stacks come from a pool: a turn makes four instances, and mapping each anew cost more than
//! running it. Knows nothing of tools, guards or the disk.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use harness_jail::PrivateDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig, ResourceLimiter, Store,
    UpdateDeadline,
};

use super::cache::Cache;

/// How often the epoch moves on. A busy guest yields to the runtime at each tick, so this bounds
/// how late a time-out or a cancel can be.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Ticks that a tool computes as it likes; more than an ordinary call takes.
const QUICK_TICKS: u32 = 20;

/// Memory of one store, summed over every memory in it, where nothing else is configured.
pub(super) const MEMORY_BYTES: usize = 64 << 20;

/// Elements of one table; an ordinary guest has some hundreds.
const TABLE_ELEMENTS: usize = 20_000;

/// Functions, the innermost first, that a guest which broke is asked for: as many as tell a recursion
/// from a deep call.
pub(super) const FRAMES: NonZeroUsize = NonZeroUsize::new(64).expect("64 is not zero");

/// Tables and core instances of one store.
const TABLES: u32 = 64;
const INSTANCES: u32 = 64;

/// Memories of one store: its own, and one of an adapter's.
const MEMORIES: u32 = 2;

/// Stores at one time, at least; the next one waits. Each reserves 8 GiB of addresses and no memory,
/// but two entries in the kernel's map of the process, which every start of a command copies.
const STORES: u32 = 128;

/// Of these, for guards and profiles.
const SEALED_STORES: u32 = 32;

/// Stores at one time, at most: 32 TiB of addresses, a quarter of what a process has.
const MOST_STORES: u32 = 4_096;

/// Stores beside one for each run that may go on, which a command may occupy for minutes: for what
/// takes microseconds.
const SPARE_STORES: usize = 64;

/// Places that keep the pages of the component they last held while nobody uses them.
const WARM: u32 = 32;

/// Bytes of a memory that such a place keeps, which is more than an ordinary guest writes. They are
/// put back as they were at first before the next store sees them; the rest goes to the system.
const RESIDENT_BYTES: usize = 256 << 10;

/// The engine could not be set up on this machine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine does not start: {0:#}")]
pub struct EngineError(wasmtime::Error);

/// The engine. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    wasmtime: wasmtime::Engine,
    /// Where compiled components are kept between processes, if anywhere.
    cache: Option<Arc<Cache>>,
    /// Places for tools, which may hold one for minutes.
    tools: Arc<Semaphore>,
    /// Of these, what calls may have beside the first one of their run.
    spare: Arc<Semaphore>,
    /// Places for guards and profiles, which hold one for microseconds and are not to wait for tools.
    sealed: Arc<Semaphore>,
    /// Turns of tools that compute for long: one fewer than there are cores, so that one is left.
    turns: Arc<Semaphore>,
}

impl Engine {
    /// Starts the engine and the thread that moves its epoch on; the thread ends with the engine.
    ///
    /// # Errors
    ///
    /// When the machine has no support for what the engine needs.
    pub fn new() -> Result<Engine, EngineError> {
        Engine::for_runs(0)
    }

    /// The same, with room for so many runs at one time.
    ///
    /// # Errors
    ///
    /// When the machine has no support for what the engine needs.
    pub fn for_runs(runs: usize) -> Result<Engine, EngineError> {
        let stores = u32::try_from(runs.saturating_add(SPARE_STORES)).unwrap_or(u32::MAX);
        let stores = stores.clamp(STORES, MOST_STORES);
        let mut config = Config::new();
        config
            .consume_fuel(true)
            .epoch_interruption(true)
            .wasm_threads(false)
            .gc_support(false)
            .wasm_gc(false)
            .wasm_function_references(false)
            .wasm_memory64(false)
            .wasm_exceptions(false)
            .wasm_backtrace_max_frames(Some(FRAMES))
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(stores)));
        let engine = wasmtime::Engine::new(&config).or_else(|err| {
            // A limit on addresses, as `ulimit -v` sets one. Slower is better than not at all.
            tracing::warn!("no pool of memories for plugins: {err:#}; each instance maps its own");
            config
                .allocation_strategy(InstanceAllocationStrategy::OnDemand)
                .memory_reservation(MEMORY_BYTES as u64)
                .memory_reservation_for_growth(0)
                .memory_guard_size(0);
            wasmtime::Engine::new(&config)
        });
        let engine = engine.map_err(EngineError)?;
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
        let places = |stores: u32| Arc::new(Semaphore::new(stores as usize));
        let (tools, sealed) = (stores - SEALED_STORES, places(SEALED_STORES));
        // One is left for a plugin that is loaded meanwhile.
        let taken = u32::try_from(runs).unwrap_or(u32::MAX).saturating_add(1);
        let spare = places(tools.saturating_sub(taken).max(1));
        let tools = places(tools);
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let turns = Arc::new(Semaphore::new(cores.saturating_sub(1).max(1)));
        Ok(Engine { wasmtime: engine, cache: None, tools, spare, sealed, turns })
    }

    /// The same engine, which keeps what it compiles in `directory`. Whoever can write there, or read
    /// the key that lies there, can run code as this process: no command may.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read or written.
    pub fn keeping_compiled(mut self, directory: PrivateDir) -> std::io::Result<Engine> {
        self.cache = Some(Arc::new(Cache::open(directory, &self.wasmtime)?));
        Ok(self)
    }

    pub(super) fn cache(&self) -> Option<&Cache> {
        self.cache.as_deref()
    }

    pub(super) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.wasmtime
    }

    /// Waits for a tool's place in the pool. Whoever has one may make one store, and drops that first.
    pub(super) async fn tool_place(&self) -> OwnedSemaphorePermit {
        self.tools.clone().acquire_owned().await.expect("the semaphore is never closed")
    }

    /// The same for a call of a run, whose first one at a time is `first`: that needs no spare place, so
    /// that no run waits for those of others.
    pub(super) async fn call_place(&self, first: &Arc<Semaphore>) -> [OwnedSemaphorePermit; 2] {
        let leave = tokio::select! {
            biased;
            first = first.clone().acquire_owned() => first,
            spare = self.spare.clone().acquire_owned() => spare,
        };
        let leave = leave.expect("the semaphore is never closed");
        [leave, self.tool_place().await]
    }

    /// Has a tool's guest yield at each tick. One that has computed for longer than [`QUICK_TICKS`] waits
    /// for its turn among others of the kind, and a turn is a tick: together they leave a core to
    /// everybody else, however many they are.
    pub(super) fn share<T: 'static>(&self, store: &mut Store<T>) {
        let (turns, mut ticks) = (self.turns.clone(), 0_u32);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            ticks = ticks.saturating_add(1);
            if ticks <= QUICK_TICKS {
                return Ok(UpdateDeadline::Yield(1));
            }
            let turns = turns.clone();
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(next_turn(turns))))
        });
    }

    /// The same for a guard or a profile.
    pub(super) async fn sealed_place(&self) -> OwnedSemaphorePermit {
        self.sealed.clone().acquire_owned().await.expect("the semaphore is never closed")
    }
}

/// Returns when a guest may compute for a tick. The turn ends by the clock, as the guest may spend it
/// waiting for a disk or a process.
async fn next_turn(turns: Arc<Semaphore>) {
    tokio::task::yield_now().await;
    let turn = turns.acquire_owned().await.expect("the semaphore is never closed");
    tokio::spawn(async move {
        tokio::time::sleep(TICK).await;
        drop(turn);
    });
}

/// Room for so many stores. An ordinary one has one memory and up to three tables.
fn pool(stores: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(stores)
        .total_core_instances(stores.saturating_mul(INSTANCES))
        .total_memories(stores.saturating_mul(MEMORIES))
        .total_tables(stores.saturating_mul(4))
        .total_stacks(stores)
        .max_tables_per_module(TABLES)
        .table_elements(TABLE_ELEMENTS)
        .max_unused_warm_slots(WARM)
        .linear_memory_keep_resident(RESIDENT_BYTES)
        .table_keep_resident(RESIDENT_BYTES)
        // Asks the kernel which pages a guest has written. Before Linux 6.7 it cannot say, and the
        // lowest are put back, written or not.
        .pagemap_scan(Enabled::Auto);
    pool
}

/// What one store may use, and whether it asked for more.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) limit_bytes: usize,
    used_bytes: usize,
    /// An allocation that is refused looks like any panic from outside: this flag tells it apart.
    pub(super) exceeded: bool,
}

impl Meter {
    /// For a store that may use the memory that is configured for it, or what any may.
    pub(super) fn new(limit_bytes: Option<usize>) -> Meter {
        Meter { limit_bytes: limit_bytes.unwrap_or(MEMORY_BYTES), used_bytes: 0, exceeded: false }
    }

    /// The memory of the store now, which is the most it had.
    pub(super) fn used_bytes(&self) -> usize {
        self.used_bytes
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let used_bytes = self.used_bytes.saturating_add(desired.saturating_sub(current));
        if used_bytes > self.limit_bytes {
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
        INSTANCES as usize
    }

    fn tables(&self) -> usize {
        TABLES as usize
    }

    fn memories(&self) -> usize {
        MEMORIES as usize
    }
}
