//! From a checked configuration to a harness that takes runs.
//!
//! Opens what the configuration names, in the order in which a person would want to hear of
//! trouble. Compiling plugins goes on behind it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context, anyhow, bail};
use harness_jail::PrivateDir;

use super::Loaded;
use crate::audit::Audit;
use crate::config::{Config, PluginConfig, Settings};
use crate::containment::Containment;
use crate::harness::{Harness, Parts};
use crate::ledger::{Interrupted, Ledger};
use crate::places::Places;
use crate::plugin::{Engine, FILE_BYTES, Source};
use crate::redact::{Redactor, secrets_in_environment};
use crate::upstream::{Timers, Upstream, UpstreamSettings};

/// A harness, not yet loaded with its plugins.
pub struct Boot {
    /// The harness.
    pub harness: Arc<Harness>,
    /// None before the walls are known: commands must not reach what it keeps.
    engine: OnceLock<Engine>,
    /// The home directory of whoever runs the server; commands see no secret of it.
    home: Option<PathBuf>,
    /// The configuration, which commands do not see either.
    own_files: Vec<PathBuf>,
}

impl Boot {
    /// Opens everything.
    ///
    /// # Errors
    ///
    /// For the operator: what cannot be opened, and why.
    pub(crate) fn open(loaded: Loaded) -> anyhow::Result<Boot> {
        let Loaded { config, environment, own_files, .. } = loaded;
        let root = config.workspace_root.as_deref();
        let places = Places::open(&config.state_dir, root, config.named_under())?;
        let audit = config.audit_log.as_deref().map(open_audit).transpose()?;
        let path = places.ledger();
        let (ledger, interrupted) = Ledger::open(&path, config.ledger_sync)
            .with_context(|| format!("cannot open the ledger `{}`", path.display()))?;
        for Interrupted { run, in_flight, .. } in interrupted {
            tracing::warn!(run, ?in_flight, "a run was cut off when the server died; closed now");
        }
        let redactor = Arc::new(redactor(secrets(&config), &environment));
        let upstream = Upstream::new(upstream_settings(&config))?;
        let home = environment.iter().find(|(name, _)| name == "HOME");
        let home = home.map(|(_, home)| PathBuf::from(home));
        let environment = harness_jail::allowed_environment(environment.into_iter());
        let parts = Parts { config, places, ledger, upstream, redactor, environment, audit };
        Ok(Boot { harness: Harness::new(parts), engine: OnceLock::new(), home, own_files })
    }

    /// Finds out what commands run in, then compiles and links the plugins that the configuration
    /// asks for.
    ///
    /// # Errors
    ///
    /// When walls that were asked for by name cannot be had, a default plugin does not load, or
    /// there is nowhere to try tools out.
    pub async fn load(&self) -> anyhow::Result<()> {
        let containment = self.containment().await?;
        containment.report();
        let engine = self.engine(&containment)?;
        let mut configured = self.harness.config().plugins.clone();
        containment.tell(&mut configured);
        self.harness.contain(containment);
        self.keep_apart(&configured);
        let loading = self.harness.load(self.engine.get_or_init(|| engine), sources(&configured));
        loading.await.context("the plugins cannot be loaded")?;
        let plugins = self.harness.plugins().await;
        // One of ours that nobody changed and that does not load is a fault of this process (no
        // handles left, say): better no server than one that goes on without it.
        let ours = plugins.listed().iter().filter(|it| is_unchanged(&configured, &it.name));
        for listed in ours {
            if let Err(cause) = &listed.offers {
                bail!("the default plugin `{}` does not load: {cause}", listed.name);
            }
        }
        let prepared = self.harness.prepare_upstream().await;
        prepared.map_err(|problem| anyhow!("upstream.profile: {problem}"))
    }

    /// Loads the plugins anew, as they are configured now. Runs under way keep those they began with.
    ///
    /// # Errors
    ///
    /// When there is nowhere to try tools out; nothing changes then.
    pub(super) async fn reload(
        &self,
        mut configured: BTreeMap<String, PluginConfig>,
    ) -> anyhow::Result<()> {
        let Some(engine) = self.engine.get() else { return Ok(()) };
        self.harness.tell_plugins(&mut configured);
        self.keep_apart(&configured);
        let sources = sources(&configured);
        Ok(self.harness.reload(engine, sources, &configured).await?)
    }

    /// The engine. What it compiles is kept where no command can reach it, and nowhere otherwise.
    fn engine(&self, containment: &Containment) -> anyhow::Result<Engine> {
        let engine = Engine::for_runs(self.harness.config().max_runs)?;
        let places = self.harness.places();
        if containment.leaves_state_open() {
            places.forget_compiled().context("cannot forget compiled plugins")?;
            return Ok(engine);
        }
        let keeping = places.compiled().and_then(|place| engine.clone().keeping_compiled(place));
        Ok(keeping.unwrap_or_else(|err| {
            tracing::warn!("compiled plugins cannot be kept: {err}");
            engine
        }))
    }

    /// A workspace that holds the configuration, or a plugin that no digest pins, would let its
    /// model rule the server.
    fn keep_apart(&self, configured: &BTreeMap<String, PluginConfig>) {
        let unpinned = configured.values().filter(|plugin| plugin.digest.is_none());
        let unpinned = unpinned.filter_map(|plugin| plugin.path.clone());
        self.harness.places().keep_apart(self.own_files.iter().cloned().chain(unpinned));
    }

    async fn containment(&self) -> anyhow::Result<Containment> {
        let (config, places) = (self.harness.config(), self.harness.places());
        let masked = places.own().into_iter().map(Path::to_owned).chain(self.own_files.clone());
        let mut masked: Vec<_> = masked.chain(config.audit_log.clone()).collect();
        if config.tokens.len() > 1 {
            // The workspaces of others are there.
            masked.extend(config.workspace_roots.iter().cloned());
        }
        let scratch = places.temporary("scratch")?;
        let (shell, home) = (config.shell.clone(), self.home.clone());
        let finding = tokio::task::spawn_blocking(move || {
            Containment::find(&shell, home.as_deref(), masked, &scratch)
        });
        Ok(finding.await??)
    }
}

fn open_audit(path: &Path) -> anyhow::Result<Arc<Audit>> {
    let opened = Audit::open(path);
    let audit =
        opened.with_context(|| format!("cannot open the audit log `{}`", path.display()))?;
    Ok(Arc::new(audit))
}

/// An engine for a command that runs no server. It keeps what it compiles where the server would,
/// unless commands could get there, or nobody can.
pub(super) fn engine(settings: &Settings) -> anyhow::Result<Engine> {
    let engine = Engine::new()?;
    let Some(state_dir) = settings.state_dir().filter(|_| settings.keeps_state_closed()) else {
        return Ok(engine);
    };
    let place = PrivateDir::open(&state_dir).and_then(|state| Places::compiled_in(&state));
    Ok(place.and_then(|place| engine.clone().keeping_compiled(place)).unwrap_or(engine))
}

/// Reads every plugin that is configured.
pub(super) fn sources(configured: &BTreeMap<String, PluginConfig>) -> Vec<Source> {
    Source::all(configured, |path| harness_jail::read_capped(path, FILE_BYTES as u64))
}

/// Whether a plugin is a default one as it ships; what it is told in its configuration is its own.
pub(super) fn is_unchanged(configured: &BTreeMap<String, PluginConfig>, name: &str) -> bool {
    configured.get(name).is_none_or(|plugin| plugin.path.is_none() && plugin.grants.is_none())
}

/// What the upstream client is made from.
pub(super) fn upstream_settings(config: &Config) -> UpstreamSettings {
    let upstream = &config.upstream;
    UpstreamSettings {
        base_url: upstream.base_url.clone(),
        api_key: upstream.api_key.clone(),
        timers: Timers {
            connect: upstream.connect,
            first_event: upstream.first_token,
            idle: upstream.idle,
            attempts: upstream.attempts,
            ..Timers::default()
        },
        window: config.context_window,
    }
}

/// Every secret of a configuration.
pub(super) fn secrets(config: &Config) -> impl Iterator<Item = String> {
    let own = config.upstream.api_key.iter().chain(config.tokens.iter()).cloned();
    own.chain(config.plugins.values().flat_map(PluginConfig::secrets))
}

/// Knows `secrets`, and whatever else in the environment looks like one.
pub(super) fn redactor(
    secrets: impl Iterator<Item = String>,
    environment: &[(String, String)],
) -> Redactor {
    Redactor::new(secrets.chain(secrets_in_environment(environment.iter().cloned())))
}
