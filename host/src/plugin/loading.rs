//! Loading: each source to what it offers, linked to what it was granted; and again, when files or
//! configuration changed.
//!
//! What did not change is taken over as it is, so that calls under way and the engine's memory are
//! left alone. A file that changed into something that does not load leaves the version before in
//! force. One that is gone does not: a guard without a file refuses.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use wasmtime::component::Component;

use super::engine::Engine;
use super::guard::{self, Guard, Scope};
use super::imports;
use super::listed::Listed;
use super::load::{self, LoadError, Role};
use super::profile::{self, Profile};
use super::source::{Kind, Source};
use super::tool::{Tool, ToolPlugin};
use super::workspace::Workspace;
use crate::config::PluginConfig;
use crate::wit::guard_world::GuardPluginPre;
use crate::wit::profile_world::ProfilePluginPre;
use crate::wit::tool_world::ToolPluginPre;

/// A source and what became of it.
#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) listed: Listed,
    /// None where it does not load and is no guard.
    pub(super) linked: Option<Linked>,
    config: PluginConfig,
    component: Option<Component>,
}

/// What a plugin brings.
#[derive(Clone)]
pub(super) enum Linked {
    Tools(Vec<Tool>),
    Guard(Guard),
    Profiles(Vec<Profile>),
}

/// Loads one source. `before` is what the same name was until now.
pub(super) async fn load(
    engine: Engine,
    mut source: Source,
    scratch: Arc<Workspace>,
    before: Option<Loaded>,
) -> Loaded {
    let digest = source.digest.clone();
    // What the same file was, also where it is not in force now.
    let same_file = before.as_ref().filter(|before| before.config.path == source.config.path);
    let known = same_file.and_then(|before| before.listed.role);
    if known == Some(Role::Guard) {
        // Another role in its place would be a guard less.
        source.role = known;
    }
    let is_in_force = |before: &&Loaded| before.linked.is_some() && before.listed.offers.is_ok();
    let before = before.filter(|before| is_in_force(&before));
    let same_config = before.as_ref().filter(|before| before.config == source.config);
    if let Some(before) = same_config
        && before.listed.digest == digest
    {
        let listed = Listed { outdated: None, ..before.listed.clone() };
        return Loaded { listed, ..before.clone() };
    }
    let mut loaded = Loaded {
        listed: Listed::of(&source),
        linked: None,
        config: source.config.clone(),
        component: before
            .as_ref()
            .filter(|before| before.listed.digest == digest)
            .and_then(|before| before.component.clone())
            .or(source.compiled.clone()),
    };
    match link(&engine, source, &scratch, &mut loaded).await {
        Ok(linked) => loaded.linked = Some(linked),
        Err(LoadError::Unreadable { path, source }) => {
            loaded.listed.role = loaded.listed.role.or(known);
            loaded.refuse(LoadError::Unreadable { path, source }.to_string());
        }
        Err(err) => match same_config {
            Some(before) => {
                let listed = Listed { outdated: Some(err.to_string()), ..before.listed.clone() };
                return Loaded { listed, ..before.clone() };
            }
            None => loaded.refuse(err.to_string()),
        },
    }
    loaded
}

impl Loaded {
    /// What is told of a plugin whose loading panicked.
    pub(super) fn panicked(listed: Listed, config: PluginConfig, cause: &str) -> Loaded {
        let mut loaded = Loaded { listed, linked: None, config, component: None };
        loaded.refuse(format!("loading it panicked: {cause}"));
        loaded
    }

    /// Whether its tool of that name stands in for another plugin's.
    pub(super) fn replaces(&self, tool: &str) -> bool {
        let Some(Linked::Tools(tools)) = &self.linked else { return false };
        let offers = tools.iter().any(|own| own.spec().name == tool);
        offers && self.config.replaces.iter().any(|name| name == tool)
    }

    /// A plugin that was in force, and whose file was found where plugins are found until now. True
    /// when it must go on refusing.
    pub(super) fn vanish(&mut self) -> bool {
        let must_refuse = self.config.found.is_some() && is_or_may_be_guard(self.listed.role);
        if must_refuse {
            self.component = None;
            self.refuse(format!(
                "its file is gone\n\
                 hint: to do without it, put `enabled = false` under `[plugin.{}]`",
                self.listed.name
            ));
        }
        must_refuse
    }

    /// Only a tool or a profile is left out. What might be a guard refuses: a file that cannot be
    /// read, or is no component, may have been one.
    fn refuse(&mut self, cause: String) {
        self.linked = is_or_may_be_guard(self.listed.role).then(|| {
            let scope = Scope::of(&self.config);
            Linked::Guard(Guard::missing(&self.listed.name, scope, cause.clone()))
        });
        self.listed.offers = Err(cause);
    }
}

fn is_or_may_be_guard(role: Option<Role>) -> bool {
    !matches!(role, Some(Role::Tool | Role::Profile))
}

async fn link(
    engine: &Engine,
    source: Source,
    scratch: &Arc<Workspace>,
    loaded: &mut Loaded,
) -> Result<Linked, LoadError> {
    let grants = source.grants();
    let Source { name, role: expected, kind, bytes, config, .. } = source;
    let bytes = bytes?;
    let Loaded { listed, component, .. } = loaded;
    listed.bytes = bytes.len();
    if kind == Kind::Table {
        let profile = profile::read_table(&name, &bytes)?;
        listed.offers = Ok(vec![profile.name.clone()]);
        return Ok(Linked::Profiles(vec![profile]));
    }
    let component = match component {
        Some(component) => component.clone(),
        None => {
            let compiler = engine.clone();
            let compiled = spawn_blocking(move || load::compile(&compiler, &bytes)).await;
            let panicked = |_| LoadError::Link("the compiler panicked".to_owned());
            component.insert(compiled.map_err(panicked)??).clone()
        }
    };
    // Before anything else is judged: a tool that does not load must not pass for a guard.
    let role = load::read_role(engine, &component)?;
    // A tool under a guard's name would be a guard less.
    if let Some(expected) = expected
        && expected != role
    {
        return Err(LoadError::OtherRole { expected, role });
    }
    listed.role = Some(role);
    let shape = load::read_shape(engine, &component, role)?;
    load::check_grants(&name, &shape, &grants)?;
    load::check_servers(&name, &grants, &config.servers)?;
    listed.powers.clone_from(&shape.powers);
    listed.brings_runtime = shape.brings_runtime;

    let linked = match role {
        Role::Tool => {
            let linker = imports::link(engine.wasmtime(), &shape.powers);
            let pre = load::link(linker.map_err(LoadError::misfit)?, &component)?;
            let pre = ToolPluginPre::new(pre).map_err(LoadError::misfit)?;
            let plugin = Arc::new(ToolPlugin::new(engine, &name, &config, pre));
            let (tools, used) = plugin.tools(scratch.clone()).await?;
            listed.used = Some(used);
            Linked::Tools(tools)
        }
        Role::Guard => {
            let pre = guard::sealed(engine, &component)?;
            let pre = GuardPluginPre::new(pre).map_err(LoadError::misfit)?;
            let (guard, used) = Guard::new(engine, &name, &config, pre).await?;
            listed.used = Some(used);
            Linked::Guard(guard)
        }
        Role::Profile => {
            let pre = guard::sealed(engine, &component)?;
            let pre = ProfilePluginPre::new(pre).map_err(LoadError::misfit)?;
            let (engine, limits) = (engine.clone(), config.limits);
            let describing = move || profile::describe(&engine, &name, limits, &pre);
            let described = spawn_blocking(describing).await;
            let panicked = |_| LoadError::Link("the engine panicked".to_owned());
            let (profiles, used) = described.map_err(panicked)??;
            listed.used = Some(used);
            Linked::Profiles(profiles)
        }
    };
    listed.offers = Ok(match &linked {
        Linked::Tools(tools) => tools.iter().map(|tool| tool.spec().name.clone()).collect(),
        Linked::Guard(_) => Vec::new(),
        Linked::Profiles(profiles) => profiles.iter().map(|p| p.name.clone()).collect(),
    });
    Ok(linked)
}
