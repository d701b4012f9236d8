//! Guests: every plugin that is in force, found, loaded, granted and linked.
//!
//! The only code that calls wasmtime. Default plugins come from the bundle and are loaded like
//! anybody's; `[plugin.NAME]` adds, replaces or disables. A tool or profile that does not load is
//! left out and told; a guard that does not load stays, and refuses. Nothing here decides what a
//! run does next.

mod breakage;
mod engine;
mod guard;
mod imports;
mod load;
mod profile;
mod schema;
mod sink;
mod tool;
mod wasi;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;

use harness_bundle as bundle;
use tokio::task::spawn_blocking;

pub use breakage::{Breakage, Cause, Trace};
pub use engine::{Engine, EngineError};
pub use guard::{Guard, Refused};
pub use load::{FILE_BYTES, LoadError, POWERS, Role};
pub use profile::Profile;
pub(crate) use schema::ends_early;
pub use sink::Line;
pub use tool::{End, Input, Ran, Told, Tool};
pub use wasi::Exit;
pub use workspace::{Workspace, content_of};

use crate::config::PluginConfig;
use crate::wit::guard_world::GuardPluginPre;
use crate::wit::profile_world::ProfilePluginPre;
use crate::wit::tool_world::ToolPluginPre;

/// Every plugin in force.
#[derive(Default)]
pub struct Plugins {
    /// Sorted by name, so that what models are offered is the same bytes every time.
    tools: Vec<Tool>,
    guards: Vec<Guard>,
    profiles: Vec<Profile>,
    listed: Vec<Listed>,
}

/// One plugin as `harness plugin list` shows it.
#[derive(Debug)]
pub struct Listed {
    /// In the configuration.
    pub name: String,
    /// `built in`, or the path.
    pub source: String,
    /// None when it could not be told.
    pub role: Option<Role>,
    /// The powers it imports and was granted.
    pub powers: Vec<&'static str>,
    /// It imports WASI, as languages with a runtime do, and got one that reaches nothing.
    pub brings_runtime: bool,
    /// What it offers, or why it does not load.
    pub offers: Result<Vec<String>, String>,
    /// Size of the component, in bytes.
    pub bytes: usize,
}

/// A component to load.
pub struct Source {
    name: String,
    origin: String,
    /// What the bundle says it is; None for a file.
    role: Option<Role>,
    bytes: Result<Vec<u8>, LoadError>,
    config: PluginConfig,
}

enum Linked {
    Tools(Vec<Tool>),
    Guard(Box<Guard>),
    Profiles(Vec<Profile>),
}

impl Plugins {
    /// Loads everything the configuration asks for, one after the other: the compiler uses every
    /// core for one component, and what it needs for several at once stays with the process for
    /// good. `scratch` is lent to tools while they say what they offer; they have no effects then.
    pub async fn load(engine: &Engine, sources: Vec<Source>, scratch: &Arc<Workspace>) -> Plugins {
        let mut plugins = Plugins::default();
        for source in sources {
            let listed = Listed::of(&source);
            // In a task of its own: a panic is one plugin's.
            let loading = tokio::spawn(load_one(engine.clone(), source, scratch.clone()));
            let (listed, linked) = match loading.await {
                Ok(loaded) => loaded,
                Err(err) => not_loaded(listed, format!("loading it panicked: {err}")),
            };
            plugins.admit(listed, linked);
        }
        plugins.tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        plugins
    }

    fn admit(&mut self, mut listed: Listed, linked: Option<Linked>) {
        match linked {
            Some(Linked::Tools(tools)) => {
                let taken = tools.iter().find(|tool| self.tool(&tool.spec().name).is_some());
                if let Some(taken) = taken {
                    let name = &taken.spec().name;
                    listed.offers = Err(format!(
                        "tool `{name}` is there already\n\
                         hint: disable the plugin that offers it, or rename this one's"
                    ));
                } else {
                    self.tools.extend(tools);
                }
            }
            Some(Linked::Guard(guard)) => self.guards.push(*guard),
            Some(Linked::Profiles(profiles)) => self.profiles.extend(profiles),
            None => {}
        }
        if let Err(cause) = &listed.offers {
            tracing::error!(plugin = listed.name, "does not load: {cause}");
        }
        self.listed.push(listed);
    }

    /// The tool with that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// Every tool, by name.
    pub fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// The chain, in the order it is asked.
    pub fn guards(&self) -> &[Guard] {
        &self.guards
    }

    /// The profile with that name, or the one that suits URL and model best.
    ///
    /// # Errors
    ///
    /// For the operator: which names there are.
    pub fn profile(
        &self,
        name: Option<&str>,
        base_url: &str,
        model: &str,
    ) -> Result<&Profile, String> {
        let found = match name {
            Some(name) => self.profiles.iter().find(|profile| profile.name == name),
            None => profile::choose(&self.profiles, base_url, model),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = self.profiles.iter().map(|p| p.name.as_str()).collect();
            let wanted = name.map_or("that suits".to_owned(), |name| format!("`{name}`"));
            format!("there is no profile {wanted}; there are: `{}`", names.join("`, `"))
        })
    }

    /// Every plugin, loaded or not.
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }
}

impl Listed {
    /// What is known before it is loaded.
    fn of(source: &Source) -> Listed {
        Listed {
            name: source.name.clone(),
            source: source.origin.clone(),
            role: source.role,
            powers: Vec::new(),
            brings_runtime: false,
            offers: Ok(Vec::new()),
            bytes: 0,
        }
    }
}

impl Source {
    /// What the configuration asks for: the bundle, less what is disabled, and files. `read` reads
    /// a component file.
    pub fn all(
        configured: &BTreeMap<String, PluginConfig>,
        mut read: impl FnMut(&std::path::Path) -> std::io::Result<Vec<u8>>,
    ) -> Vec<Source> {
        let mut names: Vec<&str> = bundle::PLUGINS.iter().map(|plugin| plugin.name).collect();
        names.extend(configured.keys().map(String::as_str).filter(|name| built_in(name).is_none()));
        let mut sources = Vec::new();
        for name in names {
            let config = configured.get(name).cloned().unwrap_or_default();
            if config.enabled == Some(false) {
                continue;
            }
            let plugin = built_in(name);
            let (origin, bytes) = match (&config.path, plugin) {
                (Some(path), _) => {
                    let shown = path.display().to_string();
                    let unreadable = |source| LoadError::Unreadable { path: shown.clone(), source };
                    (shown.clone(), read(path).map_err(unreadable))
                }
                (None, Some(plugin)) => ("built in".to_owned(), Ok(plugin.bytes.to_vec())),
                (None, None) => ("nowhere".to_owned(), Err(LoadError::Unknown(name.to_owned()))),
            };
            let role = plugin.map(|plugin| match plugin.role {
                bundle::Role::Tool => Role::Tool,
                bundle::Role::Guard => Role::Guard,
                bundle::Role::Profile => Role::Profile,
            });
            sources.push(Source { name: name.to_owned(), origin, role, bytes, config });
        }
        sources
    }
}

fn built_in(name: &str) -> Option<&'static bundle::Plugin> {
    bundle::PLUGINS.iter().find(|plugin| plugin.name == name)
}

/// What the default plugins are granted; a configured list replaces it.
fn default_grants(source: &Source) -> Vec<String> {
    let powers: &[&str] = match source.name.as_str() {
        _ if source.origin != "built in" => &[],
        "files" => &["workspace-read", "workspace-write"],
        "search" => &["workspace-read"],
        "shell" => &["process"],
        _ => &[],
    };
    powers.iter().map(|power| (*power).to_owned()).collect()
}

async fn load_one(
    engine: Engine,
    mut source: Source,
    scratch: Arc<Workspace>,
) -> (Listed, Option<Linked>) {
    let mut listed = Listed::of(&source);
    match link(&engine, &mut source, &scratch, &mut listed).await {
        Ok(linked) => (listed, Some(linked)),
        Err(err) => not_loaded(listed, err.to_string()),
    }
}

/// Only a tool or a profile is left out. What might be a guard refuses: a file that cannot be
/// read, or is no component, may have been one.
fn not_loaded(mut listed: Listed, cause: String) -> (Listed, Option<Linked>) {
    listed.offers = Err(cause.clone());
    let guard = !matches!(listed.role, Some(Role::Tool | Role::Profile));
    let guard = guard.then(|| Linked::Guard(Box::new(Guard::missing(&listed.name, cause))));
    (listed, guard)
}

async fn link(
    engine: &Engine,
    source: &mut Source,
    scratch: &Arc<Workspace>,
    listed: &mut Listed,
) -> Result<Linked, LoadError> {
    let bytes = std::mem::replace(&mut source.bytes, Ok(Vec::new()))?;
    listed.bytes = bytes.len();
    let compiler = engine.clone();
    let compiled = spawn_blocking(move || load::compile(&compiler, &bytes)).await;
    let component = compiled.map_err(|_| LoadError::Link("the compiler panicked".to_owned()))??;
    // Before anything else is judged: a tool that does not load must not pass for a guard.
    let role = load::read_role(engine, &component)?;
    // A tool under a guard's name would be a guard less.
    if let Some(expected) = source.role
        && expected != role
    {
        return Err(LoadError::OtherRole { expected, role });
    }
    listed.role = Some(role);
    let shape = load::read_shape(engine, &component, role)?;
    let grants = source.config.grants.clone().unwrap_or_else(|| default_grants(source));
    load::check_grants(&source.name, &shape, &grants)?;
    listed.powers.clone_from(&shape.powers);
    listed.brings_runtime = shape.brings_runtime;

    let name = source.name.as_str();
    let config = serde_json::Value::Object(source.config.config.clone()).to_string();
    let linked = match role {
        Role::Tool => {
            let linker = imports::link(engine.wasmtime(), &shape.powers);
            let pre = load::link(linker.map_err(LoadError::misfit)?, &component)?;
            let pre = ToolPluginPre::new(pre).map_err(LoadError::misfit)?;
            let plugin = Arc::new(tool::ToolPlugin::new(engine, name, &config, pre));
            Linked::Tools(plugin.tools(scratch.clone()).await?)
        }
        Role::Guard => {
            let pre = guard::sealed(engine, &component)?;
            let pre = GuardPluginPre::new(pre).map_err(LoadError::misfit)?;
            Linked::Guard(Box::new(Guard::new(engine, name, &config, pre).await?))
        }
        Role::Profile => {
            let pre = guard::sealed(engine, &component)?;
            let pre = ProfilePluginPre::new(pre).map_err(LoadError::misfit)?;
            let (engine, name) = (engine.clone(), name.to_owned());
            let described = spawn_blocking(move || profile::describe(&engine, &name, &pre)).await;
            let panicked = |_| LoadError::Link("the engine panicked".to_owned());
            Linked::Profiles(described.map_err(panicked)??)
        }
    };
    listed.offers = Ok(match &linked {
        Linked::Tools(tools) => tools.iter().map(|tool| tool.spec().name.clone()).collect(),
        Linked::Guard(_) => Vec::new(),
        Linked::Profiles(profiles) => profiles.iter().map(|p| p.name.clone()).collect(),
    });
    Ok(linked)
}
