//! Profiles: named quirk tables for kinds of providers, told by a component once, at load, or read from
//! a file that is the table itself.
//!
//! The host applies a table by itself, so an ordinary provider costs no guest call. A description
//! with a wire of its own is refused for now, by name, so that nobody takes it for spoken.

use std::sync::Arc;
use std::time::Instant;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;

use super::breakage::Breakage;
use super::engine::Engine;
use super::guard::{Bounds, Sealed};
use super::load::LoadError;
use super::used::{Gauge, Used};
use crate::config::PluginLimits;
use crate::quirks::Quirks;
use crate::wit::Description;
use crate::wit::profile_world::ProfilePluginPre;

/// Fuel of one call of a profile.
pub const FUEL: u64 = 4_000_000_000;

/// Backstop in epoch ticks (5 s).
const BACKSTOP_TICKS: u64 = 500;

/// One named profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// As in `upstream.profile`.
    pub name: String,
    /// Base URLs and models it suits.
    matches: Vec<GlobMatcher>,
    /// The table.
    pub quirks: Arc<Quirks>,
}

impl Profile {
    /// The patterns of the base URLs and models it suits.
    pub fn matches(&self) -> impl Iterator<Item = &str> {
        self.matches.iter().map(|pattern| pattern.glob().glob())
    }
}

/// Asks a component for its profiles, on this thread, and says what that used.
pub(super) fn describe(
    engine: &Engine,
    plugin: &str,
    limits: PluginLimits,
    pre: &ProfilePluginPre<Sealed>,
) -> Result<(Vec<Profile>, Used), LoadError> {
    let bounds = Bounds::of(limits, FUEL);
    let mut store = Sealed::store(engine, plugin, bounds, BACKSTOP_TICKS);
    let started = Instant::now();
    let mut gauge = Gauge::start(bounds.fuel);
    let instance = pre.instantiate(&mut store);
    gauge.stands(&store.data().meter);
    let described = instance
        .and_then(|instance| instance.harness_plugin_provider_profile().call_describe(&mut store));
    match described {
        Ok(descriptions) => {
            let profiles = descriptions.into_iter().map(read).collect::<Result<_, _>>()?;
            Ok((profiles, gauge.read(&store, &store.data().meter)))
        }
        Err(err) => {
            let remains = Sealed::remains(&store, bounds, started);
            Err(Breakage::new(plugin, "describe", &err, &remains).into())
        }
    }
}

fn read(description: Description) -> Result<Profile, LoadError> {
    let Description { name, matches, quirks, own_wire } = description;
    if own_wire {
        return Err(LoadError::BadDescription(format!(
            "profile `{name}` has a wire of its own, which this host does not carry yet"
        )));
    }
    let quirks = serde_json::from_str(&quirks)
        .map_err(|err| LoadError::BadDescription(format!("quirks of profile `{name}`: {err}")))?;
    profile(name, &matches, quirks)
}

/// A profile as a file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// The file's own name where there is none.
    name: Option<String>,
    #[serde(default)]
    matches: Vec<String>,
    #[serde(default)]
    quirks: Quirks,
}

/// Reads a profile that is a TOML table: `name`, `matches` and `[quirks]`, all of which may be left
/// out.
pub(super) fn read_table(plugin: &str, bytes: &[u8]) -> Result<Profile, LoadError> {
    let bad = |what: String| LoadError::BadDescription(format!("not a profile's table: {what}"));
    let text = std::str::from_utf8(bytes).map_err(|err| bad(err.to_string()))?;
    let table: Table = toml::from_str(text).map_err(|err| bad(err.to_string()))?;
    let Table { name, matches, quirks } = table;
    profile(name.unwrap_or_else(|| plugin.to_owned()), &matches, quirks)
}

fn profile(name: String, matches: &[String], quirks: Quirks) -> Result<Profile, LoadError> {
    let compile = |pattern: &String| Glob::new(pattern).map(|glob| glob.compile_matcher());
    let matches = matches.iter().map(compile).collect::<Result<_, _>>();
    let matches = matches
        .map_err(|err| LoadError::BadDescription(format!("matches of profile `{name}`: {err}")))?;
    Ok(Profile { name, matches, quirks: Arc::new(quirks) })
}

/// The profile that suits best: of the patterns that match, the longest.
pub(super) fn choose<'a>(
    profiles: &'a [Profile],
    base_url: &str,
    model: &str,
) -> Option<&'a Profile> {
    let fit = |profile: &Profile| {
        let fits = |glob: &&GlobMatcher| glob.is_match(base_url) || glob.is_match(model);
        profile.matches.iter().filter(fits).map(|glob| glob.glob().glob().len()).max()
    };
    let fitting = profiles.iter().filter_map(|profile| Some((fit(profile)?, profile)));
    // On a tie the earlier one: `max_by_key` would take the last.
    fitting.rev().max_by_key(|(length, _)| *length).map(|(_, profile)| profile)
}
