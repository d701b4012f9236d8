//! The harness: everything a server process has, and the start of every run.
//!
//! Opens sessions, holds the lock of each directory, puts a run together and lets it go in a task
//! of its own, so that its end is on record whatever becomes of the connection that asked for it.
//! Decides nothing inside a run: that is `agent`.

mod begin;
mod holds;
mod live;
mod open;
mod refusal;
mod request;
mod run;
mod runs;
mod sessions;
mod twice;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use harness_jail::Shell;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::Audit;
use crate::config::{Config, PluginConfig};
use crate::containment::Containment;
use crate::error::{Refusal, RefusalKind};
use crate::ledger::Ledger;
use crate::places::Places;
use crate::plugin::{Engine, Plugins, Profile, Source, Workspace};
use crate::redact::Redactor;
use crate::session::Sessions;
use crate::upstream::Upstream;

use holds::Holds;
use live::LiveRuns;

pub use live::Run;
pub use request::{AnswerOptions, Finished, RunRequest, Tighter, ToolUse};
pub use runs::{FileDiff, RunDiff};
pub use sessions::SessionView;

/// The id under which clients name no model in particular.
pub const ANY_MODEL: &str = "harness";

/// Everything a server process has.
pub struct Harness {
    config: Config,
    places: Arc<Places>,
    ledger: Ledger,
    upstream: Upstream,
    redactor: Arc<Redactor>,
    environment: Vec<(String, String)>,
    /// Found out while the server listens already; no run begins before.
    containment: OnceLock<Containment>,
    /// None until every plugin is compiled and linked.
    plugins: watch::Sender<Option<Arc<Plugins>>>,
    sessions: Mutex<Sessions>,
    holds: Arc<Holds>,
    live: LiveRuns,
    audit: Option<Arc<Audit>>,
    /// Serialises the start of runs and the end of sessions, so that one directory never gets two
    /// sessions, nor one request two runs.
    opening: tokio::sync::Mutex<()>,
    permits: Arc<Semaphore>,
    /// Runs, and the starts of runs.
    runs: TaskTracker,
    stopping: AtomicBool,
    cancel: CancellationToken,
}

/// What a harness is put together from.
pub struct Parts {
    /// What is in force.
    pub config: Config,
    /// Where things lie.
    pub places: Places,
    /// The record.
    pub ledger: Ledger,
    /// Who is asked.
    pub upstream: Upstream,
    /// Knows every secret of the process.
    pub redactor: Arc<Redactor>,
    /// What commands may see of the environment.
    pub environment: Vec<(String, String)>,
    /// Where commands and denials are told beside the record.
    pub audit: Option<Arc<Audit>>,
}

impl Harness {
    /// Puts a harness together. It takes runs at once; they wait until [`Harness::load`] is done.
    pub fn new(parts: Parts) -> Arc<Harness> {
        let Parts { config, places, ledger, upstream, redactor, environment, audit } = parts;
        Arc::new(Harness {
            permits: Arc::new(Semaphore::new(config.max_runs)),
            opening: tokio::sync::Mutex::new(()),
            config,
            places: Arc::new(places),
            ledger,
            upstream,
            redactor,
            environment,
            containment: OnceLock::new(),
            plugins: watch::Sender::new(None),
            sessions: Mutex::default(),
            holds: Arc::default(),
            live: LiveRuns::default(),
            audit,
            runs: TaskTracker::new(),
            stopping: AtomicBool::new(false),
            cancel: CancellationToken::new(),
        })
    }

    /// Compiles and links the plugins. Takes tens of milliseconds each; the server listens meanwhile.
    ///
    /// # Errors
    ///
    /// When there is no directory to lend to tools while they say what they offer.
    pub async fn load(&self, engine: &Engine, sources: Vec<Source>) -> std::io::Result<()> {
        let scratch = self.scratch()?;
        let plugins = Plugins::load(engine, sources, &scratch).await;
        self.plugins.send_replace(Some(Arc::new(plugins)));
        Ok(())
    }

    /// Loads plugins anew. Runs under way keep those they began with; the next one gets the new.
    ///
    /// # Errors
    ///
    /// As [`Harness::load`]; then nothing changes.
    pub async fn reload(
        &self,
        engine: &Engine,
        sources: Vec<Source>,
        configured: &BTreeMap<String, PluginConfig>,
    ) -> std::io::Result<()> {
        let scratch = self.scratch()?;
        let before = self.plugins().await;
        let plugins = before.reload(engine, sources, configured, &scratch).await;
        self.plugins.send_replace(Some(Arc::new(plugins)));
        Ok(())
    }

    /// Says in a configuration of plugins what commands run in.
    pub fn tell_plugins(&self, configured: &mut BTreeMap<String, PluginConfig>) {
        if let Some(containment) = self.containment.get() {
            containment.tell(configured);
        }
    }

    fn scratch(&self) -> std::io::Result<Arc<Workspace>> {
        let jail = self.places.scratch()?;
        let shell = Shell::none();
        Ok(Arc::new(Workspace::new(jail, shell, self.redactor.clone())))
    }

    /// Says what commands run in; before [`Harness::load`], and once. Without, none runs.
    pub fn contain(&self, containment: Containment) {
        let _ = self.containment.set(containment);
    }

    /// Which walls stand around commands; None where none runs.
    pub fn walls(&self) -> Option<&'static str> {
        let containment = self.containment.get()?;
        containment.runs_commands().then(|| containment.posture().name())
    }

    /// Where the server's own things lie.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// The plugins, once they are loaded.
    pub async fn plugins(&self) -> Arc<Plugins> {
        let mut loaded = self.plugins.subscribe();
        loop {
            if let Some(plugins) = loaded.borrow_and_update().clone() {
                return plugins;
            }
            // Never closed: the sender is a field of `self`.
            let _ = loaded.changed().await;
        }
    }

    /// The record.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Where commands and denials are told beside the record, if anywhere.
    pub fn audit(&self) -> Option<&Audit> {
        self.audit.as_deref()
    }

    /// What is in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Ids that clients may name: the configured model, and `harness` for the same; none when no
    /// model is configured.
    pub fn models(&self) -> Vec<String> {
        let configured = self.config.upstream.model.iter().cloned();
        configured.flat_map(|model| [model, ANY_MODEL.to_owned()]).collect()
    }

    /// Tokens the configured model holds, as far as that is known now. Asks nobody.
    pub fn known_window(&self) -> Option<u64> {
        let plugins = self.plugins.borrow().clone();
        let profile = plugins.as_deref().and_then(|plugins| self.profile(plugins).ok());
        let quirks = profile.map(|profile| profile.quirks.clone()).unwrap_or_default();
        self.upstream.known_window(self.config.upstream.model.as_deref()?, &quirks)
    }

    /// The profile for the configured model. Where nobody said how many tokens that model holds,
    /// the upstream is asked in the background.
    ///
    /// # Errors
    ///
    /// For the operator: the profile is not there.
    pub async fn prepare_upstream(&self) -> Result<(), String> {
        let plugins = self.plugins().await;
        let profile = self.profile(&plugins)?;
        if let Some(model) = &self.config.upstream.model {
            self.upstream.window(model, &profile.quirks);
        }
        Ok(())
    }

    fn profile<'a>(&self, plugins: &'a Plugins) -> Result<&'a Profile, String> {
        let upstream = &self.config.upstream;
        let model = upstream.model.as_deref().unwrap_or_default();
        plugins.profile(upstream.profile.as_deref(), &upstream.base_url, model)
    }

    /// Whether a run would be taken and could start.
    ///
    /// # Errors
    ///
    /// Why not, for the operator.
    pub fn ready(&self) -> Result<(), String> {
        if self.stopping.load(Ordering::Acquire) {
            return Err("the server is stopping".to_owned());
        }
        if self.plugins.borrow().is_none() {
            return Err("the plugins are still being compiled".to_owned());
        }
        Ok(())
    }

    /// Takes no run from now on.
    pub fn begin_shutdown(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Takes no run from now on, cancels those there are, and waits at most `grace` for their end
    /// to be on record. Ends what their commands left running.
    pub async fn shutdown(&self, grace: Duration) {
        self.begin_shutdown();
        self.cancel.cancel();
        self.runs.close();
        if tokio::time::timeout(grace, self.runs.wait()).await.is_err() {
            tracing::error!("{} runs did not end within {grace:?}", self.runs.len());
        }
        let sessions: Vec<_> = self.sessions().iter().cloned().collect();
        // Waits until they are gone: not on the runtime's threads.
        let ending = tokio::task::spawn_blocking(move || {
            sessions.iter().for_each(|session| session.workspace.shell.end());
        });
        if let Err(err) = ending.await {
            tracing::error!("what commands left running was not ended: {err}");
        }
        self.ledger.close().await;
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse_when_stopping(&self) -> Result<(), Refusal> {
        if !self.stopping.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Refusal {
            status: 503,
            kind: RefusalKind::ServerError,
            message: "the server is stopping and takes no more runs".to_owned(),
            param: None,
            code: Some("stopping".to_owned()),
            may_retry: true,
            retry_after: Some(5),
        })
    }
}
