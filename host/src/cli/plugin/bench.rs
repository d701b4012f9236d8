//! Where one plugin is tried out: an engine, the plugin compiled once, and workspaces to lend.
//!
//! Loads it with the server's own code, as often as another configuration is wanted. No server
//! runs, no model is asked, and nothing is left on the disk.

use std::path::Path;
use std::sync::Arc;

use anyhow::anyhow;
use harness_jail::{Jail, PrivateDir, Shell, ensure_directory};
use serde_json::{Map, Value};

use super::super::temporary;
use crate::config::PluginConfig;
use crate::plugin::{Anatomy, Engine, LoadError, Plugins, Source, Workspace};
use crate::redact::Redactor;
use crate::servers::Entry;

/// A host that no name server knows, now or ever (RFC 2606): there must be one where `fetch` is
/// granted.
const NOWHERE: &str = "nowhere.invalid";

/// One plugin, and what it takes to try it out.
pub(super) struct Bench {
    name: String,
    engine: Engine,
    pub(super) anatomy: Anatomy,
    redactor: Arc<Redactor>,
}

/// Directories that are gone when this is dropped: a workspace, and what is spilled beside it.
pub(super) struct Stage {
    base: Option<PrivateDir>,
    /// The directory of the workspace, to put files into.
    pub(super) files: PrivateDir,
    spill: PrivateDir,
    /// For the temporary files of commands.
    pub(super) tmp: PrivateDir,
}

impl Bench {
    /// Compiles the component of the plugin `name`, unless the engine has kept it.
    ///
    /// # Errors
    ///
    /// When it is no component this host can run, or there is no engine.
    pub(super) async fn open(
        engine: Engine,
        name: &str,
        component: Vec<u8>,
        redactor: Redactor,
    ) -> anyhow::Result<Result<Bench, LoadError>> {
        let read = Anatomy::read(&engine, component).await;
        let (name, redactor) = (name.to_owned(), Arc::new(redactor));
        Ok(read.map(|anatomy| Bench { name, engine, anatomy, redactor }))
    }

    /// Loads the plugin with this table, as if it were its own in the configuration.
    ///
    /// # Errors
    ///
    /// When there is no directory to lend. A plugin that does not load is listed so.
    pub(super) async fn load(&self, table: PluginConfig) -> anyhow::Result<Plugins> {
        let stage = Stage::open()?;
        let scratch = Arc::new(self.workspace(&stage, None, Shell::none())?);
        let sources = vec![Source::of(&self.anatomy, &self.name, table)];
        Ok(Plugins::load(&self.engine, sources, &scratch).await)
    }

    /// The same with these settings and every power it imports; one that does not load is an error.
    ///
    /// # Errors
    ///
    /// Why it does not load.
    pub(super) async fn load_granted(&self, config: Map<String, Value>) -> anyhow::Result<Plugins> {
        let plugins = self.load(PluginConfig { config, ..self.all_granted() }).await?;
        for listed in plugins.listed() {
            if let Err(cause) = &listed.offers {
                return Err(anyhow!("the plugin `{}` does not load: {cause}", self.name));
            }
        }
        Ok(plugins)
    }

    /// A table that grants every power it imports. Of servers it grants one that nobody can have.
    pub(super) fn all_granted(&self) -> PluginConfig {
        let powers = &self.anatomy.powers;
        let mut table = PluginConfig {
            grants: Some(powers.iter().map(|power| (*power).to_owned()).collect()),
            ..PluginConfig::default()
        };
        if powers.contains(&"fetch") {
            table.servers.hosts.extend(Entry::parse(NOWHERE));
        }
        table
    }

    /// A workspace: that of the stage, or the directory `root` of a person's.
    ///
    /// # Errors
    ///
    /// When the directory cannot be one.
    pub(super) fn workspace(
        &self,
        stage: &Stage,
        root: Option<&Path>,
        shell: Shell,
    ) -> anyhow::Result<Workspace> {
        let root = root.unwrap_or(stage.files.path());
        let jail = Jail::open(root, Some(stage.spill.path()))?;
        Ok(Workspace::new(jail, shell, self.redactor.clone()))
    }
}

impl Stage {
    /// Makes the directories.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub(super) fn open() -> anyhow::Result<Stage> {
        let place = temporary("bench");
        ensure_directory(&place)?;
        let base = PrivateDir::open(&place)?;
        Ok(Stage {
            files: base.subdirectory("workspace")?,
            spill: base.subdirectory("spill")?,
            tmp: base.subdirectory("tmp")?,
            base: Some(base),
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What stays behind lies in the system's temporary directory, and harms nobody.
        let _ = self.base.take().map(PrivateDir::remove_tree);
    }
}

/// Members of a JSON object; of anything else, none.
pub(super) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
