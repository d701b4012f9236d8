//! Guards: one check each, by a component that can only refuse.
//!
//! A fresh instance per check, linked to the sink and to a WASI that reaches nothing, bounded by fuel,
//! so that the verdict is a function of the proposal. Whatever goes wrong in a guard is a refusal; a
//! guard that did not load refuses everything until a person disables it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use harness_jail::Globs;
use tokio::task::spawn_blocking;
use wasmtime::Store;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};

use super::breakage::{Breakage, Cause, Remains};
use super::engine::{Engine, Meter};
use super::load::{self, LoadError};
use super::sink::Sink;
use super::used::{Gauge, Used};
use super::wasi::{Inert, Runtime};
use crate::config::{PluginConfig, PluginLimits};
use crate::wit::guard_world::GuardPluginPre;
use crate::wit::{Denial, EFFECTS, Effects, Proposal, log};

/// Fuel of one check: JSON costs about 145 a byte, so this reads three megabytes.
pub const FUEL: u64 = 500_000_000;

/// Backstop in epoch ticks (2 s): fuel stops a guard long before, but fuel does not tick while
/// the machine is short of processors.
const BACKSTOP_TICKS: u64 = 200;

/// Epoch ticks (10 to 20 ms) that a check may take on the caller's thread. Nearly all take tens of
/// microseconds, and a stack or a thread of its own would cost more than that.
const PROMPT_TICKS: u64 = 2;

/// Bytes that a guard or a profile may hand over in one call of it or of the sink. Words for people
/// are a few kilobytes, a table of quirks some dozens; a guest that has more is not to fill the host.
const HANDED_BYTES: usize = 2 << 20;

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
    inert: Inert,
}

impl Runtime for Sealed {
    fn inert(&mut self) -> &mut Inert {
        &mut self.inert
    }

    fn sink(&mut self) -> &mut Sink {
        &mut self.sink
    }
}

impl Sealed {
    pub(super) fn store(
        engine: &Engine,
        plugin: &str,
        bounds: Bounds,
        ticks: u64,
    ) -> Store<Sealed> {
        let Bounds { fuel, memory_bytes } = bounds;
        let (meter, sink) = (Meter::new(memory_bytes), Sink::held(plugin));
        let sealed = Sealed { meter, sink, inert: Inert::fixed() };
        let mut store = Store::new(engine.wasmtime(), sealed);
        store.limiter(|sealed| &mut sealed.meter);
        store.set_fuel(fuel).expect("fuel is on in the engine's configuration");
        store.set_epoch_deadline(ticks);
        store.set_hostcall_fuel(HANDED_BYTES);
        store
    }

    /// What is left in a store whose guest broke.
    pub(super) fn remains(store: &Store<Sealed>, bounds: Bounds, started: Instant) -> Remains<'_> {
        let Sealed { meter, sink, .. } = store.data();
        Remains {
            meter,
            sink,
            fuel_limit: bounds.fuel,
            fuel_left: store.get_fuel().unwrap_or_default(),
            handed_limit: HANDED_BYTES,
            elapsed: started.elapsed(),
        }
    }
}

/// Links a guard or a profile: to the sink, to an inert WASI where it has a runtime, and to nothing
/// else.
pub(super) fn sealed(
    engine: &Engine,
    component: &Component,
) -> Result<InstancePre<Sealed>, LoadError> {
    let mut linker = Linker::new(engine.wasmtime());
    log::add_to_linker::<_, HasSelf<_>>(&mut linker, |sealed: &mut Sealed| &mut sealed.sink)
        .map_err(LoadError::misfit)?;
    load::link(linker, component)
}

/// Which calls a guard judges, as it is configured.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    tools: Option<Globs>,
    effects: Option<Effects>,
}

impl Scope {
    pub(super) fn of(config: &PluginConfig) -> Scope {
        let effects = config.effects.as_ref().map(|names| {
            // The configuration checked them.
            let named = EFFECTS.iter().filter(|(name, _)| names.iter().any(|it| it == name));
            named.fold(Effects::empty(), |all, (_, effect)| all | *effect)
        });
        Scope { tools: config.tools.clone(), effects }
    }

    fn admits(&self, proposal: &Proposal) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.admit(&proposal.call.tool))
            && self.effects.is_none_or(|effects| effects.intersects(proposal.effects))
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

/// A check, with what it used.
#[derive(Debug)]
pub struct Checked {
    /// None where it lets the call pass.
    pub refused: Option<Refused>,
    /// The guard itself failed, which is a refusal too.
    pub broken: Option<Breakage>,
    /// What it used; of the second attempt, when there was one.
    pub used: Used,
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
    ) -> Result<(Guard, Used), Breakage> {
        let bounds = Bounds::of(config.limits, FUEL);
        let name: Arc<str> = name.into();
        let mut loaded =
            Loaded { engine: engine.clone(), name: name.clone(), bounds, earlier: 0, pre };
        let place = engine.sealed_place().await;
        let asking = spawn_blocking(move || {
            let _place = place;
            let used;
            (loaded.earlier, used) = loaded.ask()?;
            Ok((loaded, used))
        });
        let (loaded, used) = asking.await.unwrap_or_else(|panicked| {
            Err(Breakage::of_host(&name, "earlier", &panicked.to_string()))
        })?;
        let scope = Arc::new(Scope::of(config));
        let config = serde_json::Value::Object(config.config.clone()).to_string().into();
        Ok((Guard { name, config, scope, body: Body::Loaded(Arc::new(loaded)) }, used))
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
        self.measure(proposal).await.refused
    }

    /// The same, with what it used.
    pub async fn measure(&self, proposal: &mut Proposal) -> Checked {
        if !self.scope.admits(proposal) {
            return Checked { refused: None, broken: None, used: Used::default() };
        }
        let loaded = match &self.body {
            Body::Loaded(loaded) => loaded,
            Body::Missing(cause) => {
                let refused = Some(self.broken(cause));
                return Checked { refused, broken: None, used: Used::default() };
            }
        };
        proposal.config.replace_range(.., &self.config);
        // Moved, not copied: the chain asks each guard before each call.
        let mut passed_over = std::mem::take(&mut proposal.earlier);
        let seen_from = passed_over.len().saturating_sub(loaded.earlier);
        proposal.earlier = passed_over.split_off(seen_from);
        let checked = self.ask(loaded, proposal).await;
        passed_over.append(&mut proposal.earlier);
        proposal.earlier = passed_over;
        checked
    }

    async fn ask(&self, loaded: &Arc<Loaded>, proposal: &Proposal) -> Checked {
        let place = loaded.engine.sealed_place().await;
        // A panic of ours is one more way for a guard to break.
        let prompt = || loaded.check(proposal, PROMPT_TICKS);
        let prompt = catch_unwind(AssertUnwindSafe(prompt)).unwrap_or_else(|_| {
            let what = "the server panicked in the check";
            (Err(Breakage::of_host(&self.name, "check", what)), Used::default())
        });
        let (mut checked, mut used) = prompt;
        if let Err(Breakage { cause: Cause::Time, .. }) = checked {
            // Begun again where it holds up nobody; its verdict depends on the proposal alone.
            let (loaded, proposal) = (loaded.clone(), proposal.clone());
            let checking = spawn_blocking(move || {
                let _place = place;
                loaded.check(&proposal, BACKSTOP_TICKS)
            });
            (checked, used) = checking.await.unwrap_or_else(|panicked| {
                let broken = Breakage::of_host(&self.name, "check", &panicked.to_string());
                (Err(broken), Used::default())
            });
        }
        match checked {
            Ok(None) => Checked { refused: None, broken: None, used },
            Ok(Some(denial)) => {
                let Denial { mut rule, mut reason } = denial;
                rule.truncate(rule.floor_char_boundary(RULE_BYTES));
                reason.truncate(reason.floor_char_boundary(REASON_BYTES));
                let refused = Some(Refused { guard: self.name.to_string(), rule, reason });
                Checked { refused, broken: None, used }
            }
            Err(breakage) => {
                tracing::error!(guard = &*self.name, "{breakage}");
                let refused = Some(self.broken(&breakage.what()));
                Checked { refused, broken: Some(breakage), used }
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
    /// How many past calls it wants to see, and what saying so used.
    fn ask(&self) -> Result<(usize, Used), Breakage> {
        let mut store = Sealed::store(&self.engine, &self.name, self.bounds, BACKSTOP_TICKS);
        let started = Instant::now();
        let mut gauge = Gauge::start(self.bounds.fuel);
        let instance = self.pre.instantiate(&mut store);
        gauge.stands(&store.data().meter);
        let asked =
            instance.and_then(|instance| instance.harness_plugin_guard().call_earlier(&mut store));
        let earlier = asked.map_err(|err| self.breakage("earlier", &err, &store, started))?;
        let used = gauge.read(&store, &store.data().meter);
        Ok((usize::try_from(earlier).unwrap_or(usize::MAX), used))
    }

    /// One check in an instance of its own, on this thread.
    fn check(&self, proposal: &Proposal, ticks: u64) -> (Result<Option<Denial>, Breakage>, Used) {
        let mut store = Sealed::store(&self.engine, &self.name, self.bounds, ticks);
        let started = Instant::now();
        let mut gauge = Gauge::start(self.bounds.fuel);
        let instance = self.pre.instantiate(&mut store);
        gauge.stands(&store.data().meter);
        let checked = instance
            .and_then(|instance| instance.harness_plugin_guard().call_check(&mut store, proposal));
        let checked = checked.map_err(|err| self.breakage("check", &err, &store, started));
        let is_begun_again =
            ticks == PROMPT_TICKS && matches!(checked, Err(Breakage { cause: Cause::Time, .. }));
        if is_begun_again {
            store.data_mut().sink.discard();
        }
        let used = gauge.read(&store, &store.data().meter);
        (checked, used)
    }

    fn breakage(
        &self,
        export: &'static str,
        err: &wasmtime::Error,
        store: &Store<Sealed>,
        started: Instant,
    ) -> Breakage {
        Breakage::new(&self.name, export, err, &Sealed::remains(store, self.bounds, started))
    }
}
