//! Guests: every plugin that is in force, found, loaded, granted and linked.
//!
//! The only code that calls wasmtime. Default plugins come from the bundle and are loaded like
//! anybody's; `[plugin.NAME]` and the configuration directory add, replace or disable. A tool or
//! profile that does not load is left out and told; a guard that does not load stays, and refuses.
//! Nothing here decides what a run does next.

mod anatomy;
mod breakage;
mod cache;
mod commands;
mod engine;
mod guard;
mod imports;
mod listed;
mod load;
mod loading;
mod profile;
mod schema;
mod sink;
mod source;
mod tool;
mod used;
mod wasi;
mod workspace;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use anatomy::Anatomy;
pub use breakage::{Breakage, Cause, Trace};
pub use commands::{Commands, Scripted, ScriptedCommand};
pub use engine::{Engine, EngineError};
pub use guard::{Checked, FUEL as GUARD_FUEL, Guard, Refused, judge};
pub use listed::Listed;
pub use load::{FILE_BYTES, LoadError, POWERS, Role, VERSION};
pub use profile::{FUEL as DESCRIBE_FUEL, Profile};
pub(crate) use schema::ends_early;
pub use sink::Line;
pub use source::{Source, digest};
pub use tool::{End, Input, Ran, Told, Tool, named_paths};
pub use used::Used;
pub use wasi::Exit;
pub use workspace::{Workspace, content_of};

use crate::config::PluginConfig;
use loading::{Linked, Loaded};
use source::BUILT_IN;

/// Every plugin in force.
#[derive(Default)]
pub struct Plugins {
    /// Sorted by name, so that what models are offered is the same bytes every time.
    tools: Vec<Tool>,
    guards: Vec<Guard>,
    profiles: Vec<Profile>,
    listed: Vec<Listed>,
    /// What they were made from, in the order of the sources.
    loaded: Vec<Loaded>,
}

impl Plugins {
    /// Loads everything the configuration asks for, one after the other: the compiler uses every
    /// core for one component, and what it needs for several at once stays with the process for
    /// good. `scratch` is lent to tools while they say what they offer; they have no effects then.
    pub async fn load(engine: &Engine, sources: Vec<Source>, scratch: &Arc<Workspace>) -> Plugins {
        Plugins::default().reload(engine, sources, &BTreeMap::new(), scratch).await
    }

    /// The same with these plugins in force until now: what did not change is taken over. A guard
    /// that was found in the configuration directory and is there no more goes on refusing, until
    /// its table in `configured` disables it.
    pub async fn reload(
        &self,
        engine: &Engine,
        sources: Vec<Source>,
        configured: &BTreeMap<String, PluginConfig>,
        scratch: &Arc<Workspace>,
    ) -> Plugins {
        let mut loaded = Vec::new();
        for source in sources {
            let (listed, config) = (Listed::of(&source), source.config.clone());
            let before = self.loaded.iter().find(|before| before.listed.name == listed.name);
            // In a task of its own: a panic is one plugin's.
            let load = loading::load(engine.clone(), source, scratch.clone(), before.cloned());
            let one = tokio::spawn(load).await;
            loaded
                .push(one.unwrap_or_else(|err| Loaded::panicked(listed, config, &err.to_string())));
        }
        for before in &self.loaded {
            let name = &before.listed.name;
            let is_there = loaded.iter().any(|now| now.listed.name == *name);
            if !is_there && !configured.contains_key(name) {
                let mut gone = before.clone();
                if gone.vanish() {
                    loaded.push(gone);
                }
            }
        }
        let mut plugins = Plugins::default();
        for one in &loaded {
            plugins.admit(one, &loaded);
        }
        plugins.loaded = loaded;
        for listed in &plugins.listed {
            let told = self.listed.iter().find(|before| before.name == listed.name);
            match listed.problem() {
                Some(problem) if told.and_then(Listed::problem).as_ref() != Some(&problem) => {
                    tracing::error!(plugin = listed.name, "{problem}");
                }
                _ => {}
            }
        }
        plugins.tools.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        plugins
    }

    fn admit(&mut self, one: &Loaded, all: &[Loaded]) {
        let mut listed = one.listed.clone();
        match one.linked.clone() {
            Some(Linked::Tools(tools)) => {
                let (replaced, tools): (Vec<Tool>, Vec<Tool>) =
                    tools.into_iter().partition(|tool| is_replaced(one, &tool.spec().name, all));
                let taken = tools.iter().find(|tool| self.tool(&tool.spec().name).is_some());
                if let Some(taken) = taken {
                    let name = &taken.spec().name;
                    listed.offers = Err(format!(
                        "tool `{name}` is there already\n\
                         hint: `replaces = [\"{name}\"]` under `[plugin.{}]` puts this one in its \
                         place",
                        listed.name
                    ));
                } else {
                    if let Ok(offers) = &mut listed.offers {
                        offers.retain(|name| replaced.iter().all(|it| it.spec().name != *name));
                    }
                    self.tools.extend(tools);
                }
            }
            Some(Linked::Guard(guard)) => self.guards.push(guard),
            // A person's own before those that ship: of two that suit, the first is taken.
            Some(Linked::Profiles(profiles)) if listed.source != BUILT_IN => {
                self.profiles.splice(..0, profiles);
            }
            Some(Linked::Profiles(profiles)) => self.profiles.extend(profiles),
            None => {}
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

    /// Every profile, in the order they were told.
    pub fn profiles(&self) -> &[Profile] {
        &self.profiles
    }

    /// Every plugin, loaded or not.
    pub fn listed(&self) -> &[Listed] {
        &self.listed
    }
}

/// Whether another plugin that offers that tool says that it stands in for this one's.
fn is_replaced(one: &Loaded, tool: &str, all: &[Loaded]) -> bool {
    let others = all.iter().filter(|other| other.listed.name != one.listed.name);
    others.filter(|other| other.replaces(tool)).any(|other| {
        !one.replaces(tool) || {
            // Two that would both: the first.
            let place = |of: &Loaded| all.iter().position(|it| it.listed.name == of.listed.name);
            place(other) < place(one)
        }
    })
}
