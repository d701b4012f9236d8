//! What a loaded plugin answers, each question asked twice in instances of their own.
//!
//! A guard is shown ordinary proposals; tools say what they offer and are not run; profiles describe
//! themselves. The limits are the host's.

use super::{Finding, schema};
use crate::cli::plugin::figures;
use crate::cli::plugin::proposals::ordinary;
use crate::config::PluginLimits;
use crate::plugin::{Anatomy, DESCRIBE_FUEL, GUARD_FUEL, Plugins, Used};

/// From this share of the limit on, in hundredths, an ordinary check is worth a word.
const MUCH: u64 = 10;

/// Powers, with the effect that a call of them needs.
const NEEDS: [(&str, &str); 4] = [
    ("workspace-read", "read"),
    ("workspace-write", "write"),
    ("process", "execute"),
    ("fetch", "network"),
];

/// What tools say of themselves.
pub(super) fn of_tools(plugins: &Plugins, again: &Plugins, anatomy: &Anatomy) -> Vec<Finding> {
    let specs = |plugins: &Plugins| -> Vec<_> {
        plugins.tools().iter().map(|tool| tool.spec().clone()).collect()
    };
    let (specs, twice) = (specs(plugins), specs(again));
    let mut findings = vec![match specs == twice {
        true => Finding::fine("same twice", "it offers the same when it is asked again"),
        false => Finding::advice(
            "same twice",
            "asked again it offers something else",
            "leave out what varies: models are told anew, and providers cache nothing then",
        ),
    }];
    if specs.is_empty() {
        let mend = "return a spec for each tool from `specs`";
        findings.push(Finding::problem("tools", "it offers none", mend));
    }
    for (power, effect) in NEEDS {
        let declared = specs
            .iter()
            .any(|spec| crate::cli::plugin::inspect::effect_names(spec.effects).contains(&effect));
        if anatomy.powers.contains(&power) && !declared && !specs.is_empty() {
            findings.push(Finding::advice(
                "effects",
                format!(
                    "it imports `{power}`, and no tool declares `{effect}`: such calls are refused"
                ),
                format!("declare `{effect}` in the spec of the tool that needs it"),
            ));
        }
    }
    for spec in &specs {
        let found = schema::lint(spec);
        let names = format!("tool `{}`: schema and description are sound", spec.name);
        findings.extend(match found.is_empty() {
            true => vec![Finding::fine("schema", names)],
            false => found,
        });
    }
    findings.extend(first_memory(plugins));
    findings
}

/// What a guard answers to ordinary proposals.
pub(super) async fn of_guard(plugins: &Plugins, limits: PluginLimits) -> Vec<Finding> {
    let Some(guard) = plugins.guards().first() else { return Vec::new() };
    let mut findings = Vec::new();
    let (mut fuel, mut memory_bytes, mut varies) = (0, 0, None);
    for (name, mut proposal) in ordinary() {
        let first = guard.measure(&mut proposal).await;
        let second = guard.measure(&mut proposal).await;
        if let Some(broken) = first.broken {
            findings.push(Finding::problem(
                "check",
                format!("shown {name}, it broke: {}", broken.what()),
                "mend it: a guard that breaks refuses every such call",
            ));
            break;
        }
        if first.refused != second.refused {
            varies = Some(name);
        }
        fuel = fuel.max(first.used.fuel);
        memory_bytes = memory_bytes.max(first.used.memory_bytes);
    }
    if !findings.is_empty() {
        return findings;
    }
    findings.push(match varies {
        None => Finding::fine("same twice", "the same proposal gets the same verdict"),
        Some(name) => Finding::problem(
            "same twice",
            format!("shown {name} twice, it said two things"),
            "judge by the proposal alone: random numbers and times have no place in a guard",
        ),
    });
    findings.push(of_fuel("an ordinary check", fuel, limits.fuel.unwrap_or(GUARD_FUEL)));
    findings.push(Finding::fine("memory", format!("{} at most", figures::memory(memory_bytes))));
    findings
}

/// What profiles say of themselves.
pub(super) fn of_profiles(
    plugins: &Plugins,
    again: &Plugins,
    limits: PluginLimits,
) -> Vec<Finding> {
    let described = |plugins: &Plugins| -> Vec<_> {
        let one = |profile: &crate::plugin::Profile| {
            let matches: Vec<String> = profile.matches().map(str::to_owned).collect();
            (profile.name.clone(), matches, profile.quirks.clone())
        };
        plugins.profiles().iter().map(one).collect()
    };
    let (first, second) = (described(plugins), described(again));
    let mut findings = vec![match first == second {
        true => Finding::fine("same twice", "it describes the same when it is asked again"),
        false => Finding::problem(
            "same twice",
            "asked again it describes something else",
            "return the same from `describe` every time",
        ),
    }];
    if first.is_empty() {
        let mend = "return one description at least from `describe`";
        findings.push(Finding::problem("profiles", "it describes none", mend));
    }
    for (name, matches, _) in &first {
        findings.push(match matches.as_slice() {
            [] => Finding::advice(
                "matches",
                format!("profile `{name}` suits no base URL and no model by itself"),
                "give `matches`, or name it in `upstream.profile`",
            ),
            some => Finding::fine("matches", format!("profile `{name}`: {}", some.join(", "))),
        });
    }
    if let Some(used) = first_used(plugins) {
        findings.push(of_fuel("`describe`", used.fuel, limits.fuel.unwrap_or(DESCRIBE_FUEL)));
    }
    findings.extend(first_memory(plugins));
    findings
}

fn of_fuel(what: &str, fuel: u64, limit: u64) -> Finding {
    let said = format!(
        "{what} takes {}, {} of the limit",
        figures::fuel(fuel),
        figures::share(fuel, limit)
    );
    if fuel < limit / 100 * MUCH {
        return Finding::fine("fuel", said);
    }
    Finding::advice(
        "fuel",
        said,
        "do less: a large input costs many times as much, and refuses then",
    )
}

fn first_used(plugins: &Plugins) -> Option<&Used> {
    plugins.listed().first()?.used.as_ref()
}

/// Memory of the question that every plugin is asked at load.
fn first_memory(plugins: &Plugins) -> Option<Finding> {
    let used = first_used(plugins)?;
    let (start, most) = (used.memory_at_start_bytes, used.memory_bytes);
    let what =
        format!("{} at the start, {} at most", figures::memory(start), figures::memory(most));
    Some(Finding::fine("memory", what))
}
