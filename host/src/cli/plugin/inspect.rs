//! `harness plugin inspect`: what a component is and wants, before anybody grants it anything.
//!
//! Says what its file says, and what it says of itself in an empty workspace with no effects.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;

use super::bench::Bench;
use super::figures;
use super::project::Project;
use crate::cli::{boot, environment};
use crate::plugin::{Anatomy, Engine, Plugins, VERSION};
use crate::wit::{EFFECTS, Effects};

/// What to look at.
#[derive(Args)]
pub(crate) struct InspectArgs {
    /// A project's folder, or a component file
    path: PathBuf,
}

/// Looks.
pub(super) async fn run(args: InspectArgs) -> anyhow::Result<()> {
    let project = Project::open(&args.path)?;
    tell("name", &project.name);
    tell("digest", &format!("blake3:{}", blake3::hash(&project.bytes).to_hex()));
    tell("size", &figures::size(project.bytes.len()));
    let redactor = boot::redactor(std::iter::empty(), &environment());
    let bench = Bench::open(Engine::new()?, &project.name, project.bytes, redactor).await??;
    let anatomy = &bench.anatomy;
    match &anatomy.role {
        Ok((role, version)) => {
            tell("role", &role.to_string());
            tell("contract", &format!("{version} (this host has {VERSION})"));
        }
        Err(cause) => tell("role", &format!("none: {cause}")),
    }
    tell("powers", &listed(anatomy.powers.iter().copied()));
    let (contract, foreign): (Vec<_>, Vec<_>) =
        anatomy.imports.iter().map(String::as_str).partition(|name| name.starts_with("harness:"));
    tell("imports", &listed(contract.into_iter().filter(|name| !name.contains("/types@"))));
    tell("runtime", &listed(foreign.into_iter()));
    tell("names", names(anatomy));
    tell("compiling", &figures::time(anatomy.compiling));
    let plugins = bench.load(bench.all_granted()).await?;
    let Some(it) = plugins.listed().first() else { return Ok(()) };
    if let Some(used) = &it.used {
        tell("instance", &figures::time(used.instantiating));
        tell("memory", &format!("{} at the start", figures::memory(used.memory_at_start_bytes)));
    }
    for line in offers(&plugins) {
        tell("offers", &line);
    }
    if let Err(cause) = &it.offers {
        tell("loads", &format!("no: {}", cause.replace('\n', "\n           ")));
    }
    ensure!(it.offers.is_ok(), "it does not load");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "what it is is the command's output")]
fn tell(what: &str, said: &str) {
    println!("{what:<10} {said}");
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn names(anatomy: &Anatomy) -> &'static str {
    match anatomy.has_names {
        true => "there: a trap names its functions",
        false => "none: a trap names no functions",
    }
}

/// What it offers: each tool, each profile.
fn offers(plugins: &Plugins) -> Vec<String> {
    let tools = plugins.tools().iter().map(|tool| {
        let spec = tool.spec();
        let effects = listed(effect_names(spec.effects).into_iter());
        let seconds = spec.timeout_ms.div_ceil(1_000);
        format!("tool `{}`: effects {effects}; at most {seconds} s", spec.name)
    });
    let profiles = plugins.profiles().iter().map(|profile| {
        let quirks = serde_json::to_string(&*profile.quirks).unwrap_or_default();
        format!("profile `{}`: for {}; {quirks}", profile.name, listed(profile.matches()))
    });
    tools.chain(profiles).collect()
}

/// The contract's words for effects.
pub(super) fn effect_names(effects: Effects) -> Vec<&'static str> {
    EFFECTS.iter().filter(|(_, one)| effects.contains(*one)).map(|(name, _)| *name).collect()
}
