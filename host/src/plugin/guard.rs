//! Guards: one check each, by a component that can only refuse.
//!
//! A fresh instance per check, linked to the sink alone, bounded by fuel, so that the verdict is a
//! function of the proposal. Whatever goes wrong in a guard is a refusal; a guard that did not
//! load refuses everything until a person disables it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use harness_jail::Globs;
use tokio::task::spawn_blocking;
use wasmtime::Store;
use wasmtime::component::{HasSelf, Linker};

use super::breakage::{Breakage, Cause};
use super::engine::{Engine, Meter};
use super::sink::Sink;
use crate::config::{PluginConfig, PluginLimits};
use crate::wit::guard_world::GuardPluginPre;
use crate::wit::{Denial, Effects, Proposal, log};

/// Fuel of one check: JSON costs about 145 a byte, so this reads three megabytes.
const FUEL: u64 = 500_000_000;

/// Backstop in epoch ticks (2 s): fuel stops a guard long before, but fuel does not tick while
/// the machine is short of processors.
const BACKSTOP_TICKS: u64 = 200;

/// Epoch ticks (10 to 20 ms) that a check may take on the caller's thread. Nearly all take tens of
/// microseconds, and a stack or a thread of its own would cost more than that.
const PROMPT_TICKS: u64 = 2;

/// Bytes of a reason that the model reads.
const REASON_BYTES: usize = 4 << 10;

/// Bytes of a rule's name.
const RULE_BYTES: usize = 64;

/// What one call of a sealed component may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) fuel: u64,
    memory_bytes: Option<usize>,
}

impl Bounds {
    /// What is configured, or so much fuel and the memory any store may have.
    pub(super) fn of(limits: PluginLimits, fuel: u64) -> Bounds {
        Bounds { fuel: limits.fuel.unwrap_or(fuel), memory_bytes: limits.memory_bytes }
    }
}

/// What a sealed component has in its store: nothing to do anything with.
pub(super) struct Sealed {
    pub(super) meter: Meter,
    pub(super) sink: Sink,
}

impl Sealed {
    pub(super) fn store(
        engine: &Engine,
        plugin: &str,
        bounds: Bounds,
        ticks: u64,
    ) -> Store<Sealed> {
        let Bounds { fuel, memory_bytes } = bounds;
        let sealed = Sealed { meter: Meter::new(memory_bytes), sink: Sink::held(plugin) };
        let mut store = Store::new(engine.wasmtime(), sealed);
        store.limiter(|sealed| &mut sealed.meter);
        store.set_fuel(fuel).expect("fuel is on in the engine's configuration");
        store.set_epoch_deadline(ticks);
        store
    }
}

/// The linker of guards and profiles: the sink, and nothing else.
pub(super) fn sealed_linker(engine: &Engine) -> wasmtime::Result<Linker<Sealed>> {
    let mut linker = Linker::new(engine.wasmtime());
    log::add_to_linker::<_, HasSelf<_>>(&mut linker, |sealed: &mut Sealed| &mut sealed.sink)?;
    Ok(linker)
}

/// Which calls a guard judges, as it is configured.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    tools: Option<Globs>,
    effects: Option<Effects>,
}

impl Scope {
    pub(super) fn of(config: &PluginConfig) -> Scope {
        let effects = config
            .effects
            .as_ref()
            .map(|names| names.iter().fold(Effects::empty(), |all, name| all | effect_named(name)));
        Scope { tools: config.tools.clone(), effects }
    }

    fn admits(&self, proposal: &Proposal) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.admit(&proposal.call.tool))
            && self.effects.is_none_or(|effects| effects.intersects(proposal.effects))
    }
}

/// The configuration checked the names.
fn effect_named(name: &str) -> Effects {
    match name {
        "read" => Effects::READ,
        "write" => Effects::WRITE,
        "execute" => Effects::EXECUTE,
        "network" => Effects::NETWORK,
        _ => Effects::all(),
    }
}

/// One guard in the chain. Cheap to clone.
#[derive(Clone)]
pub struct Guard {
    name: Arc<str>,
    config: Arc<str>,
    scope: Arc<Scope>,
    body: Body,
}

#[derive(Clone)]
enum Body {
    Loaded(Arc<Loaded>),
    /// It did not load, and why.
    Missing(Arc<str>),
}

/// A component that can be asked.
struct Loaded {
    engine: Engine,
    name: Arc<str>,
    bounds: Bounds,
    /// How many past calls it wants to see.
    earlier: usize,
    pre: GuardPluginPre<Sealed>,
}

/// A refusal, with the guard that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The guard's name in the configuration.
    pub guard: String,
    /// The guard's word for the rule; `guard-broken` when the guard itself failed.
    pub rule: String,
    /// For the model.
    pub reason: String,
}

impl Guard {
    /// Asks the component what it wants to see, which is the first it does.
    ///
    /// # Errors
    ///
    /// It broke at that.
    pub(super) async fn new(
        engine: &Engine,
        name: &str,
        config: &PluginConfig,
        pre: GuardPluginPre<Sealed>,
    ) -> Result<Guard, Breakage> {
        let bounds = Bounds::of(config.limits, FUEL);
        let name: Arc<str> = name.into();
        let mut loaded =
            Loaded { engine: engine.clone(), name: name.clone(), bounds, earlier: 0, pre };
        let place = engine.sealed_place().await;
        let asking = spawn_blocking(move || {
            let _place = place;
            loaded.earlier = loaded.ask()?;
            Ok(loaded)
        });
        let loaded = asking.await.unwrap_or_else(|panicked| {
            Err(Breakage::of_host(&name, "earlier", &panicked.to_string()))
        })?;
        let scope = Arc::new(Scope::of(config));
        let config = serde_json::Value::Object(config.config.clone()).to_string().into();
        Ok(Guard { name, config, scope, body: Body::Loaded(Arc::new(loaded)) })
    }

    /// A guard that did not load: it stays in the chain and refuses what it would have judged.
    pub(super) fn missing(name: &str, scope: Scope, cause: String) -> Guard {
        let (name, config) = (name.into(), Arc::from(""));
        Guard { name, config, scope: Arc::new(scope), body: Body::Missing(cause.into()) }
    }

    /// In the configuration.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Judges a proposal; None lets it pass to the next guard. Takes tens of microseconds.
    pub async fn check(&self, proposal: &mut Proposal) -> Option<Refused> {
        if !self.scope.admits(proposal) {
            return None;
        }
        let loaded = match &self.body {
            Body::Loaded(loaded) => loaded,
            Body::Missing(cause) => return Some(self.broken(cause)),
        };
        proposal.config.replace_range(.., &self.config);
        // Moved, not copied: the chain asks each guard before each call.
        let mut passed_over = std::mem::take(&mut proposal.earlier);
        let seen_from = passed_over.len().saturating_sub(loaded.earlier);
        proposal.earlier = passed_over.split_off(seen_from);
        let refused = self.ask(loaded, proposal).await;
        passed_over.append(&mut proposal.earlier);
        proposal.earlier = passed_over;
        refused
    }

    async fn ask(&self, loaded: &Arc<Loaded>, proposal: &Proposal) -> Option<Refused> {
        let place = loaded.engine.sealed_place().await;
        // A panic of ours is one more way for a guard to break.
        let prompt = || loaded.check(proposal, PROMPT_TICKS);
        let mut checked = catch_unwind(AssertUnwindSafe(prompt)).unwrap_or_else(|_| {
            Err(Breakage::of_host(&self.name, "check", "the server panicked in the check"))
        });
        if let Err(Breakage { cause: Cause::Time, .. }) = checked {
            // Begun again where it holds up nobody; its verdict depends on the proposal alone.
            let (loaded, proposal) = (loaded.clone(), proposal.clone());
            let checking = spawn_blocking(move || {
                let _place = place;
                loaded.check(&proposal, BACKSTOP_TICKS)
            });
            checked = checking.await.unwrap_or_else(|panicked| {
                Err(Breakage::of_host(&self.name, "check", &panicked.to_string()))
            });
        }
        match checked {
            Ok(None) => None,
            Ok(Some(denial)) => {
                let Denial { mut rule, mut reason } = denial;
                rule.truncate(rule.floor_char_boundary(RULE_BYTES));
                reason.truncate(reason.floor_char_boundary(REASON_BYTES));
                Some(Refused { guard: self.name.to_string(), rule, reason })
            }
            Err(breakage) => {
                tracing::error!(guard = &*self.name, "{breakage}");
                Some(self.broken(&breakage.what()))
            }
        }
    }

    fn broken(&self, cause: &str) -> Refused {
        Refused {
            guard: self.name.to_string(),
            rule: "guard-broken".to_owned(),
            reason: format!(
                "the guard `{0}` itself failed, and a guard that fails refuses: {cause}. This is \
                 not a fault of your call.\n\
                 hint: tell the user that guard `{0}` must be mended or disabled",
                self.name
            ),
        }
    }
}

/// What a chain of guards says of a proposal: the first refusal. So another guard never makes a
/// refusal a permission, and their order decides only whose words are read.
pub async fn judge(guards: &[Guard], proposal: &mut Proposal) -> Option<Refused> {
    for guard in guards {
        let refused = guard.check(proposal).await;
        if refused.is_some() {
            return refused;
        }
    }
    None
}

impl Loaded {
    /// How many past calls it wants to see.
    fn ask(&self) -> Result<usize, Breakage> {
        let mut store = Sealed::store(&self.engine, &self.name, self.bounds, BACKSTOP_TICKS);
        let started = Instant::now();
        let instance = self.pre.instantiate(&mut store);
        let asked =
            instance.and_then(|instance| instance.harness_plugin_guard().call_earlier(&mut store));
        let earlier = asked.map_err(|err| self.breakage("earlier", &err, &store, started))?;
        Ok(usize::try_from(earlier).unwrap_or(usize::MAX))
    }

    /// One check in an instance of its own, on this thread.
    fn check(&self, proposal: &Proposal, ticks: u64) -> Result<Option<Denial>, Breakage> {
        let mut store = Sealed::store(&self.engine, &self.name, self.bounds, ticks);
        let started = Instant::now();
        let instance = self.pre.instantiate(&mut store);
        let checked = instance
            .and_then(|instance| instance.harness_plugin_guard().call_check(&mut store, proposal));
        let checked = checked.map_err(|err| self.breakage("check", &err, &store, started));
        let is_begun_again =
            ticks == PROMPT_TICKS && matches!(checked, Err(Breakage { cause: Cause::Time, .. }));
        if is_begun_again {
            store.data_mut().sink.discard();
        }
        checked
    }

    fn breakage(
        &self,
        export: &'static str,
        err: &wasmtime::Error,
        store: &Store<Sealed>,
        started: Instant,
    ) -> Breakage {
        let Sealed { meter, sink } = store.data();
        Breakage::new(&self.name, export, err, meter, sink, self.bounds.fuel, started.elapsed())
    }
}
