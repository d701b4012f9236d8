//! The test table: TOML to rows.
//!
//! A key that nobody knows is an error with the nearest one: a misspelt expectation would hold
//! always. Runs nothing.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail, ensure};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::nearest::nearest;

/// One row, as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Row {
    pub(super) name: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) files: BTreeMap<String, Content>,
    pub(super) config: Map<String, Value>,
    pub(super) shown: Vec<String>,
    pub(super) commands: Vec<Command>,
    pub(super) call: Option<Call>,
    pub(super) earlier: Vec<Earlier>,
    pub(super) profile: Option<String>,
    pub(super) expect: Expect,
}

/// What is at a path before a row runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Link { link: String },
}

/// The result of a command.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Command {
    pub(super) run: String,
    #[serde(default)]
    pub(super) exit: i32,
    #[serde(default)]
    pub(super) output: String,
}

/// A call that a guard judges.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Call {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) effects: Vec<String>,
    #[serde(default)]
    pub(super) paths: Vec<String>,
    pub(super) timeout_ms: Option<u32>,
    #[serde(default = "a_minute")]
    pub(super) remaining_ms: u32,
}

fn a_minute() -> u32 {
    60_000
}

/// A call before it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Earlier {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) outcome: String,
    #[serde(default = "yes")]
    pub(super) succeeded: bool,
    #[serde(default)]
    pub(super) refused: bool,
    pub(super) exit_code: Option<i32>,
    #[serde(default)]
    pub(super) changed_since: bool,
}

fn yes() -> bool {
    true
}

/// What should come of a row.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Expect {
    pub(super) outcome: Option<String>,
    pub(super) outcome_is: Option<String>,
    pub(super) fault: Option<String>,
    pub(super) denied: Option<String>,
    pub(super) passes: Option<bool>,
    /// Part of a fault's message, or of a denial's reason.
    pub(super) text: Option<String>,
    pub(super) files: BTreeMap<String, After>,
    pub(super) quirks: Map<String, Value>,
    pub(super) matches: Option<Vec<String>>,
}

/// What is at a path after a row ran.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum After {
    Text(String),
    /// False: nothing is there.
    There(bool),
}

const ROW: [&str; 3] = ["name", "files", "config"];
const TOOL: [&str; 5] = ["tool", "input", "shown", "commands", "expect"];
const GUARD: [&str; 3] = ["call", "earlier", "expect"];
const PROFILE: [&str; 2] = ["profile", "expect"];
const CALL: [&str; 6] = ["tool", "input", "effects", "paths", "timeout_ms", "remaining_ms"];
const EARLIER: [&str; 7] =
    ["tool", "input", "outcome", "succeeded", "refused", "exit_code", "changed_since"];
const COMMAND: [&str; 3] = ["run", "exit", "output"];
const OF_TOOL: [&str; 5] = ["outcome", "outcome_is", "fault", "text", "files"];
const OF_GUARD: [&str; 3] = ["denied", "passes", "text"];
const OF_PROFILE: [&str; 2] = ["quirks", "matches"];

/// Reads a table.
///
/// # Errors
///
/// Which row, which key, what was expected.
pub(super) fn parse(text: &str) -> anyhow::Result<Vec<Row>> {
    let whole: toml::Table = text.parse().map_err(|err: toml::de::Error| anyhow!("{err}"))?;
    known(&whole, &[&["test"]])?;
    let Some(rows) = whole.get("test").and_then(toml::Value::as_array) else {
        bail!("the table has no rows; each begins with `[[test]]`");
    };
    let mut parsed = Vec::new();
    for (number, row) in (1..).zip(rows) {
        let place = || format!("row {number}{}", called(row));
        parsed.push(parse_row(row).with_context(place)?);
    }
    Ok(parsed)
}

/// The name of a row, to be put behind its number.
fn called(row: &toml::Value) -> String {
    let name = row.get("name").and_then(toml::Value::as_str);
    name.map(|name| format!(", `{name}`")).unwrap_or_default()
}

fn parse_row(row: &toml::Value) -> anyhow::Result<Row> {
    let table = row.as_table().ok_or_else(|| anyhow!("expected a table"))?;
    let kinds = [
        ("tool", &TOOL[..], &OF_TOOL[..]),
        ("call", &GUARD, &OF_GUARD),
        ("profile", &PROFILE, &OF_PROFILE),
    ];
    let of_kind: Vec<_> = kinds.into_iter().filter(|(key, ..)| table.contains_key(*key)).collect();
    let [(_, keys, expectations)] = of_kind.as_slice() else {
        let keys = [&TOOL[..], &GUARD, &PROFILE];
        known(table, &[&ROW, keys[0], keys[1], keys[2]])?;
        bail!(
            "expected one of `tool`, `call` (for a guard) and `profile`, found {}",
            of_kind.len()
        );
    };
    known(table, &[&ROW, keys])?;
    for (key, inner) in [
        ("call", &CALL[..]),
        ("earlier", &EARLIER),
        ("commands", &COMMAND),
        ("expect", expectations),
    ] {
        for part in parts(table.get(key)) {
            known(part, &[inner]).with_context(|| format!("`{key}`"))?;
        }
    }
    let row: Row =
        row.clone().try_into().map_err(|err: toml::de::Error| anyhow!("{}", err.message()))?;
    ensure!(
        is_expected(&row.expect),
        "`expect` names nothing: a row that expects nothing holds always"
    );
    let Expect { fault, denied, passes, text, .. } = &row.expect;
    ensure!(
        row.tool.is_none() || text.is_none() || fault.is_some(),
        "`text` is part of a fault's message: name the `fault` too"
    );
    ensure!(
        !(*passes == Some(true) && (denied.is_some() || text.is_some())),
        "`passes` and a denial exclude each other"
    );
    Ok(row)
}

fn is_expected(expect: &Expect) -> bool {
    let Expect { outcome, outcome_is, fault, denied, passes, text, files, quirks, matches } =
        expect;
    let texts = [outcome, outcome_is, fault, denied, text];
    texts.into_iter().any(Option::is_some)
        || *passes == Some(true)
        || matches.is_some()
        || !(files.is_empty() && quirks.is_empty())
}

/// The tables of a value that is one, or a list of them.
fn parts(value: Option<&toml::Value>) -> Vec<&toml::Table> {
    match value {
        Some(toml::Value::Table(table)) => vec![table],
        Some(toml::Value::Array(list)) => list.iter().filter_map(toml::Value::as_table).collect(),
        _ => Vec::new(),
    }
}

/// Refuses a key that is in none of the lists.
fn known(table: &toml::Table, lists: &[&[&str]]) -> anyhow::Result<()> {
    let all = || lists.iter().copied().flatten().copied();
    let Some(unknown) = table.keys().find(|key| !all().any(|known| known == *key)) else {
        return Ok(());
    };
    let near = nearest(unknown, all()).map(|near| format!(", did you mean `{near}`?"));
    let mut keys: Vec<&str> = all().collect();
    keys.sort_unstable();
    keys.dedup();
    bail!("`{unknown}` is none of `{}`{}", keys.join("`, `"), near.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// One row of a table: it parses, or the error has this in it.
    fn check(row: &str, expected: Result<(), &str>) {
        match (parse(&format!("[[test]]\n{row}")), expected) {
            (Ok(rows), Ok(())) => assert_eq!(rows.len(), 1),
            (Err(err), Err(part)) => {
                let said = format!("{err:#}");
                assert!(said.contains(part), "no `{part}` in `{said}`");
            }
            (got, _) => panic!("{row}: expected {expected:?}, got {got:?}"),
        }
    }

    #[test]
    fn rows_of_each_role() {
        let tool = "tool = 'a'\ninput = { path = 'b' }\nexpect = { outcome = 'c' }";
        check(tool, Ok(()));
        check(&tool.replace("input =", "imput ="), Err("did you mean `input`?"));
        check(&tool.replace("outcome =", "outcome_si ="), Err("did you mean `outcome_is`?"));
        check(&tool.replace("outcome = 'c'", "denied = 'c'"), Err("`denied` is none of"));
        check(&tool.replace("outcome = 'c'", "outcome = 3"), Err("expected"));
        check(&tool.replace("outcome = 'c'", ""), Err("holds always"));
        check(&format!("name = 'n'\n{tool}\nprofile = 'p'"), Err("row 1, `n`: expected one of"));
        check("name = 'n'", Err("found 0"));
        check("tol = 'a'", Err("did you mean `tool`?"));
        let guard = "call = { tool = 'a', paths = ['p'] }\nexpect = { passes = true }";
        check(guard, Ok(()));
        check(&guard.replace("paths", "path"), Err("`call`: `path` is none of"));
        check(&guard.replace("passes = true", "passes = false"), Err("holds always"));
        check("profile = 'a'\nexpect = { matches = ['*'] }", Ok(()));
        check(&format!("{tool}\ncommands = [{{ runs = 'a' }}]"), Err("did you mean `run`?"));
        check(&format!("{tool}\nfiles = {{ a = 'b', l = {{ link = 'a' }} }}"), Ok(()));
    }
}
