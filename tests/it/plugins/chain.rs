//! Every way in which a guard can fail, in every place of a chain: the call does not run.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use harness::config::{Layers, Settings};
use harness::plugin::{Engine, Guard, Plugins, Source, Workspace, judge};
use harness::redact::Redactor;
use harness::wit::{Call, Effects, Proposal};
use harness_jail::{Jail, Shell};
use proptest::prelude::*;

use super::{grabby_guard, misbehave_guard, misbehave_tool};

/// What each guard of the tests does; those before `REFUSING` let calls pass.
const GUARDS: [&str; 16] = [
    "pass",
    "log-flood",
    "none-of-its-tools",
    "none-of-its-effects", // these let pass
    "deny",
    "panic",
    "loop",
    "memory",
    "recurse",
    "huge-reason",
    "unknown",
    "missing-file",
    "wrong-digest",
    "no-component",
    "grabby",
    HOST_PANIC,
];

const REFUSING: usize = 4;

/// The guard whose lines make the host panic.
const HOST_PANIC: &str = "host-panic";

fn table(what: &str) -> String {
    let guest = |path: &str| format!("path = \"/{path}\"\n");
    let of = |what: &str| {
        guest("misbehave")
            + "limits = { fuel_millions = 20 }\n"
            + &format!("config = {{ do = \"{what}\" }}\n")
    };
    let fields = match what {
        "missing-file" | "no-component" | "grabby" => guest(what),
        "wrong-digest" => of("pass") + &format!("digest = \"blake3:{}\"\n", "0".repeat(64)),
        "none-of-its-tools" => of("deny") + "tools = [\"read\", \"mcp_*\"]\n",
        "none-of-its-effects" => of("deny") + "effects = [\"execute\", \"network\"]\n",
        HOST_PANIC => of("log-flood"),
        what => of(what),
    };
    format!("[plugin.{what}]\n{fields}")
}

/// The guards, loaded once; by what they do.
fn guards() -> &'static BTreeMap<String, Guard> {
    static LOADED: OnceLock<BTreeMap<String, Guard>> = OnceLock::new();
    LOADED.get_or_init(|| {
        // For the whole process: a check may move to another thread. Nobody else has that guard.
        let _ = tracing::subscriber::set_global_default(Panics);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let place = tempfile::tempdir().unwrap();
            let jail = Jail::open(place.path(), None).unwrap();
            let redactor = Arc::new(Redactor::new(std::iter::empty()));
            let scratch = Arc::new(Workspace::new(jail, Shell::none(), redactor));
            let file: String = GUARDS.iter().map(|what| table(what)).collect();
            let file = Some(("h.toml".to_owned(), file));
            let settings = Settings::merge(&Layers { file, ..Layers::default() });
            assert_eq!(settings.problems(), []);
            let sources =
                Source::all(settings.plugins(), |path| match path.to_str().unwrap_or_default() {
                    "/misbehave" => Ok(misbehave_guard::GUEST.bytes.to_vec()),
                    "/grabby" => Ok(grabby_guard::GUEST.bytes.to_vec()),
                    "/no-component" => Ok(misbehave_tool::GUEST.bytes[..999].to_vec()),
                    _ => Err(std::io::ErrorKind::NotFound.into()),
                });
            let plugins = Plugins::load(&Engine::new().unwrap(), sources, &scratch).await;
            let named = |guard: &Guard| (guard.name().to_owned(), guard.clone());
            let all: BTreeMap<String, Guard> = plugins.guards().iter().map(named).collect();
            assert!(GUARDS.iter().all(|what| all.contains_key(*what)), "{:?}", all.keys());
            all
        })
    })
}

fn proposal() -> Proposal {
    Proposal {
        call: Call {
            id: "c".to_owned(),
            tool: "write".to_owned(),
            input: "{}".to_owned(),
            turn: 1,
            remaining_ms: 60_000,
        },
        input_digest: "d".to_owned(),
        effects: Effects::READ | Effects::WRITE,
        paths: Vec::new(),
        timeout_ms: None,
        earlier: Vec::new(),
        config: String::new(),
        extra: None,
    }
}

/// Whether a chain of these refuses.
fn refuses(chain: &[usize]) -> bool {
    let guards: Vec<Guard> = chain.iter().map(|at| guards()[GUARDS[*at]].clone()).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(judge(&guards, &mut proposal())).is_some()
}

#[test]
fn each_guard_does_what_it_is_here_for() {
    for (at, what) in GUARDS.iter().enumerate() {
        assert_eq!(refuses(&[at]), at >= REFUSING, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn one_that_refuses_is_enough_wherever_it_stands(
        chain in prop::collection::vec(0..GUARDS.len(), 0..6),
        more in 0..GUARDS.len(),
        at in any::<prop::sample::Index>(),
    ) {
        let refused = refuses(&chain);
        prop_assert_eq!(refused, chain.iter().any(|guard| *guard >= REFUSING));
        let mut longer = chain.clone();
        longer.insert(at.index(chain.len() + 1), more);
        prop_assert!(!refused || refuses(&longer), "{:?} after {:?}", longer, chain);
        let mut other_way = chain.clone();
        other_way.reverse();
        prop_assert_eq!(refuses(&other_way), refused);
    }
}

/// Panics in the host when a line of the guard `host-panic` is told.
struct Panics;

impl tracing::Subscriber for Panics {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.fields().field("plugin").is_some()
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Panics);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}

impl tracing::field::Visit for Panics {
    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        let is_meant = field.name() == "plugin" && value == HOST_PANIC;
        assert!(!is_meant, "the host panics where the guest's line is told");
    }

    fn record_debug(&mut self, _: &tracing::field::Field, _: &dyn std::fmt::Debug) {}
}
