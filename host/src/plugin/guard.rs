//! Guards: one check each, by a component that can only refuse.
//!
//! A fresh instance per check, linked to the sink alone, bounded by fuel, so that the verdict is a
//! function of the proposal. Whatever goes wrong in a guard is a refusal; a guard that did not
//! load refuses everything until a person disables it.

use std::time::Instant;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Store, UpdateDeadline};

use super::breakage::Breakage;
use super::engine::{Engine, Meter};
use super::sink::Sink;
use crate::wit::guard_world::GuardPluginPre;
use crate::wit::{Denial, Proposal, log};

/// Fuel of one check: JSON costs about 145 a byte, so this reads three megabytes.
const FUEL: u64 = 500_000_000;

/// Backstop in epoch ticks (2 s): fuel stops a guard long before, but fuel does not tick while
/// the machine is short of processors.
const BACKSTOP_TICKS: u64 = 200;

/// Bytes of a reason that the model reads.
const REASON_BYTES: usize = 4 << 10;

/// Bytes of a rule's name.
const RULE_BYTES: usize = 64;

/// What a sealed component has in its store: nothing to do anything with.
pub(super) struct Sealed {
    pub(super) meter: Meter,
    pub(super) sink: Sink,
}

impl Sealed {
    pub(super) fn store(engine: &Engine, plugin: &str, fuel: u64, ticks: u64) -> Store<Sealed> {
        let sealed = Sealed { meter: Meter::default(), sink: Sink::new(plugin, None) };
        let mut store = Store::new(engine.wasmtime(), sealed);
        store.limiter(|sealed| &mut sealed.meter);
        store.set_fuel(fuel).expect("fuel is on in the engine's configuration");
        store.set_epoch_deadline(1);
        let mut left = ticks;
        // Each tick yields, so that a spinning guard does not keep a runtime's thread to itself.
        store.epoch_deadline_callback(move |_| {
            left = left.saturating_sub(1);
            Ok(if left == 0 { UpdateDeadline::Interrupt } else { UpdateDeadline::Yield(1) })
        });
        store
    }
}

/// The linker of guards and profiles: the sink, and nothing else.
pub(super) fn sealed_linker(engine: &Engine) -> wasmtime::Result<Linker<Sealed>> {
    let mut linker = Linker::new(engine.wasmtime());
    log::add_to_linker::<_, HasSelf<_>>(&mut linker, |sealed: &mut Sealed| &mut sealed.sink)?;
    Ok(linker)
}

/// One guard in the chain.
pub struct Guard {
    name: String,
    config: String,
    body: Body,
}

enum Body {
    Loaded {
        engine: Engine,
        pre: GuardPluginPre<Sealed>,
    },
    /// It did not load, and why.
    Missing(String),
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
    pub(super) fn new(
        engine: &Engine,
        name: &str,
        config: &str,
        pre: GuardPluginPre<Sealed>,
    ) -> Guard {
        let body = Body::Loaded { engine: engine.clone(), pre };
        Guard { name: name.to_owned(), config: config.to_owned(), body }
    }

    /// A guard that did not load: it stays in the chain and refuses.
    pub(super) fn missing(name: &str, cause: String) -> Guard {
        Guard { name: name.to_owned(), config: String::new(), body: Body::Missing(cause) }
    }

    /// Judges a proposal; None lets it pass to the next guard. Takes tens of microseconds.
    pub async fn check(&self, proposal: &mut Proposal) -> Option<Refused> {
        let (engine, pre) = match &self.body {
            Body::Loaded { engine, pre } => (engine, pre),
            Body::Missing(cause) => return Some(self.broken(cause)),
        };
        proposal.config.clone_from(&self.config);
        let mut store = Sealed::store(engine, &self.name, FUEL, BACKSTOP_TICKS);
        let started = Instant::now();
        let checked = async {
            let instance = pre.instantiate_async(&mut store).await?;
            instance.harness_plugin_guard().call_check(&mut store, proposal).await
        };
        match checked.await {
            Ok(None) => None,
            Ok(Some(denial)) => {
                let Denial { mut rule, mut reason } = denial;
                rule.truncate(rule.floor_char_boundary(RULE_BYTES));
                reason.truncate(reason.floor_char_boundary(REASON_BYTES));
                Some(Refused { guard: self.name.clone(), rule, reason })
            }
            Err(err) => {
                let Sealed { meter, sink } = store.data();
                let elapsed = started.elapsed();
                let breakage = Breakage::new(&self.name, "check", &err, meter, sink, FUEL, elapsed);
                tracing::error!(guard = self.name, "{breakage}");
                Some(self.broken(&breakage.what()))
            }
        }
    }

    fn broken(&self, cause: &str) -> Refused {
        Refused {
            guard: self.name.clone(),
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
