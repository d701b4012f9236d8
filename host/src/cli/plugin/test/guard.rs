//! Rows of guards, and what every guard must hold against.
//!
//! A guard may think of an odd proposal what it likes; it must not break on it, because a guard that
//! breaks refuses.

use serde_json::{Map, Value, json};

use super::table::{Call, Earlier, Row};
use super::tool::{put, text};
use super::{Miss, Tally, load_first};
use crate::cli::plugin::bench::{Bench, Stage, members};
use crate::cli::plugin::proposals::{digest, odd, ordinary, past, proposal};
use crate::nearest::nearest;
use crate::plugin::{Checked, Plugins, named_paths};
use crate::wit::{EFFECTS, Effects, PastCall, Proposal};
use harness_jail::Shell;

/// Shows the guard the row's call.
pub(super) async fn try_row(
    bench: &Bench,
    plugins: &Plugins,
    call: &Call,
    row: &Row,
) -> anyhow::Result<Vec<Miss>> {
    let Some(guard) = plugins.guards().first() else {
        anyhow::bail!("`call` is for guards, and this plugin is none");
    };
    let stage = Stage::open()?;
    put(&stage, &row.files)?;
    let workspace = bench.workspace(&stage, None, Shell::none())?;
    let input = canonical(call.input.as_ref());
    let mut proposal = proposal(&call.tool, input, effects(&call.effects)?);
    let arguments = call.input.clone().unwrap_or_default();
    proposal.paths = workspace.destinations(&named_paths(&call.paths, &arguments));
    proposal.timeout_ms = call.timeout_ms;
    proposal.call.remaining_ms = call.remaining_ms;
    proposal.earlier = row.earlier.iter().map(before).collect();
    let checked = guard.measure(&mut proposal).await;
    Ok(compare(&checked, row).into_iter().collect())
}

fn compare(checked: &Checked, row: &Row) -> Option<Miss> {
    let got = match (&checked.broken, &checked.refused) {
        (Some(broken), _) => format!("the guard broke: {}", broken.what()),
        (None, None) => "it passes".to_owned(),
        (None, Some(refused)) => format!("denied by `{}`: {}", refused.rule, refused.reason),
    };
    let Some(rule) = &row.expect.denied else {
        let text = row.expect.text.as_ref();
        return match (&checked.refused, text) {
            (None, None) => None,
            (Some(refused), Some(text)) if refused.reason.contains(text.as_str()) => None,
            (_, None) => Some(Miss::new("it passes", got)),
            (_, Some(text)) => Some(Miss::new(format!("denied with `{text}`"), got)),
        };
    };
    let part = row.expect.text.as_deref().unwrap_or_default();
    let holds = checked.broken.is_none()
        && checked
            .refused
            .as_ref()
            .is_some_and(|refused| refused.rule == *rule && refused.reason.contains(part));
    let with = row.expect.text.as_ref().map(|text| format!(" with `{text}`")).unwrap_or_default();
    (!holds).then(|| Miss::new(format!("denied by `{rule}`{with}"), got))
}

/// Every odd proposal, and every odd table, must leave the guard whole.
pub(super) async fn hold(bench: &Bench, rows: &[Row], tally: &mut Tally) -> anyhow::Result<()> {
    let plugins = load_first(bench, rows).await?;
    for (name, proposal) in odd() {
        tally.count(&format!("holds: {name}"), &break_it(&plugins, vec![proposal]).await);
    }
    for (name, config) in odd_tables(rows) {
        let proposals = ordinary().into_iter().map(|(_, proposal)| proposal).collect();
        let misses = match bench.load_granted(config).await {
            Ok(plugins) => break_it(&plugins, proposals).await,
            Err(err) => vec![Miss::new("a guard that loads", format!("{err:#}"))],
        };
        tally.count(&format!("holds: {name}"), &misses);
    }
    Ok(())
}

/// Shows the guard each proposal, until it breaks.
async fn break_it(plugins: &Plugins, proposals: Vec<Proposal>) -> Vec<Miss> {
    for mut proposal in proposals {
        for guard in plugins.guards() {
            if let Some(broken) = guard.measure(&mut proposal).await.broken {
                return vec![Miss::new("a verdict", format!("it broke: {}", broken.what()))];
            }
        }
    }
    Vec::new()
}

/// Tables that a person may write by mistake: an empty one, and each setting of the rows with values
/// of another type.
fn odd_tables(rows: &[Row]) -> Vec<(String, Map<String, Value>)> {
    let mut tables = vec![("an empty table".to_owned(), Map::new())];
    let Some(config) = rows.iter().map(|row| &row.config).find(|config| !config.is_empty()) else {
        tables.push(("a table of something else".to_owned(), members(json!({ "xyzzy": [1] }))));
        return tables;
    };
    for name in config.keys() {
        for wrong in [json!(-7), json!("word"), json!([{}]), json!({ "a": [] })] {
            let mut table = config.clone();
            let said = format!("{name} = {wrong}");
            table.insert(name.clone(), wrong);
            tables.push((said, table));
        }
    }
    tables
}

/// What the tool would get: keys sorted, no white space.
fn canonical(input: Option<&Value>) -> String {
    let text = text(input);
    serde_json::from_str::<Value>(&text).map_or(text, |value| value.to_string())
}

fn effects(names: &[String]) -> anyhow::Result<Effects> {
    let mut effects = Effects::empty();
    for name in names {
        let Some((_, effect)) = EFFECTS.into_iter().find(|(known, _)| known == name) else {
            let near = nearest(name, EFFECTS.into_iter().map(|(known, _)| known));
            let near = near.map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
            anyhow::bail!(
                "`effects`: `{name}` is none of `read`, `write`, `execute`, `network`{near}"
            );
        };
        effects |= effect;
    }
    Ok(effects)
}

fn before(earlier: &Earlier) -> PastCall {
    let Earlier { tool, input, outcome, succeeded, refused, exit_code, changed_since } = earlier;
    PastCall {
        refused: *refused,
        succeeded: *succeeded && !*refused,
        exit_code: *exit_code,
        outcome_digest: digest(outcome),
        workspace_changed_since: *changed_since,
        ..past(tool, &canonical(input.as_ref()))
    }
}
