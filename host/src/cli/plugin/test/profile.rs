//! Rows of profiles: quirks and patterns, compared as data.

use anyhow::bail;
use serde_json::Value;

use super::Miss;
use super::table::Row;
use crate::cli::plugin::bench::members;
use crate::nearest::nearest;
use crate::plugin::Plugins;

/// Compares what the profile says with what the row expects of it.
pub(super) fn try_row(plugins: &Plugins, name: &str, row: &Row) -> anyhow::Result<Vec<Miss>> {
    let names = || plugins.profiles().iter().map(|profile| profile.name.as_str());
    let Some(profile) = plugins.profiles().iter().find(|profile| profile.name == name) else {
        let names: Vec<&str> = names().collect();
        let got = format!("profiles {}", names.join(", "));
        return Ok(vec![Miss::new(format!("a profile `{name}`"), got)]);
    };
    let quirks = members(serde_json::to_value(&*profile.quirks)?);
    let mut misses = Vec::new();
    for (quirk, expected) in &row.expect.quirks {
        let Some(got) = quirks.get(quirk) else {
            let near = nearest(quirk, quirks.keys().map(String::as_str));
            let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
            bail!("`expect.quirks`: there is no quirk `{quirk}`{near}");
        };
        if !is_same(got, expected) {
            let said = |value: &Value| format!("{quirk} = {value}");
            misses.push(Miss::new(said(expected), said(got)));
        }
    }
    let got: Vec<&str> = profile.matches().collect();
    if let Some(expected) = &row.expect.matches
        && *expected != got
    {
        misses.push(Miss::new(format!("matches {expected:?}"), format!("matches {got:?}")));
    }
    Ok(misses)
}

/// TOML has no null: `""` stands for it where the quirk is not set.
fn is_same(got: &Value, expected: &Value) -> bool {
    got == expected || (got.is_null() && expected.as_str() == Some(""))
}
