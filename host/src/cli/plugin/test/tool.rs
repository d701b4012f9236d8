//! Rows of tools: a call in a fresh workspace, what it says, and what it leaves there.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use harness_jail::{Jail, Shell, unified_diff};
use serde_json::Value;
use tokio::sync::mpsc::unbounded_channel;

use super::Miss;
use super::table::{After, Content, Expect, Row};
use crate::cli::plugin::bench::{Bench, Stage};
use crate::deadline::Deadline;
use crate::error::{fault_text, fault_word};
use crate::plugin::{End, Plugins, Scripted, ScriptedCommand, Workspace};
use crate::wit::Call;

/// The time a row may take, whatever the tool's own limit.
const TIME: Duration = Duration::from_secs(60);

/// Bytes of a file that are read for a comparison.
const FILE_BYTES: u64 = 1 << 20;

/// How a call ended, as far as a row can expect it.
enum Came {
    Outcome(String),
    Fault { kind: &'static str, text: String },
    Broken(String),
}

/// Makes the call.
pub(super) async fn try_row(
    bench: &Bench,
    plugins: &Plugins,
    name: &str,
    row: &Row,
) -> anyhow::Result<Vec<Miss>> {
    let Some(tool) = plugins.tool(name) else {
        let names: Vec<&str> = plugins.tools().iter().map(|it| it.spec().name.as_str()).collect();
        bail!("there is no tool `{name}`; there are: `{}`", names.join("`, `"));
    };
    let stage = Stage::open()?;
    put(&stage, &row.files)?;
    let workspace = bench.workspace(&stage, None, Shell::none())?.with_script(script(row));
    show(&workspace, &row.shown)?;
    let workspace = Arc::new(workspace);
    let came = match tool.check(&text(row.input.as_ref())) {
        Err(text) => Came::Fault { kind: "invalid-input", text },
        Ok(input) => {
            let deadline = Deadline::after(TIME);
            let call = Call {
                id: "call_1".to_owned(),
                tool: name.to_owned(),
                input: input.text,
                turn: 1,
                remaining_ms: deadline.left_ms(),
            };
            let (lines, _unheard) = unbounded_channel();
            match tool.run(&call, &workspace, deadline, lines).await.end {
                End::Outcome(told) => Came::Outcome(told.as_read()),
                End::Fault(fault) => {
                    Came::Fault { kind: fault_word(fault.kind), text: fault_text(&fault) }
                }
                End::Broken(broken) => Came::Broken(broken.what()),
            }
        }
    };
    let mut misses: Vec<Miss> = compare(&came, &row.expect).into_iter().collect();
    for (path, expected) in &row.expect.files {
        misses.extend(compare_file(&workspace.jail, path, expected));
    }
    Ok(misses)
}

fn script(row: &Row) -> Scripted {
    let commands = row.commands.iter().map(|command| ScriptedCommand {
        run: command.run.clone(),
        exit: command.exit,
        output: command.output.clone(),
    });
    Scripted::new(commands.collect())
}

/// Arguments as a model would send them; a text is taken as it stands.
pub(super) fn text(input: Option<&Value>) -> String {
    match input {
        None => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Puts a row's files into a workspace.
pub(super) fn put(stage: &Stage, files: &BTreeMap<String, Content>) -> anyhow::Result<()> {
    for (path, content) in files {
        let put = match content {
            Content::Text(text) => stage.files.put_file(path, text.as_bytes()),
            Content::Link { link } => stage.files.put_link(path, link),
        };
        put.with_context(|| format!("`files`: cannot put `{path}` there"))?;
    }
    Ok(())
}

/// Notes that the model was shown every line of these files.
pub(crate) fn show(workspace: &Workspace, paths: &[String]) -> anyhow::Result<()> {
    let Workspace { jail, seen, .. } = workspace;
    for path in paths {
        let shown = jail.parse(path).and_then(|parsed| {
            let content = jail.read(&parsed, 0, 0)?;
            let lines = String::from_utf8_lossy(&content.bytes).lines().count() as u64;
            jail.mark_shown(&parsed, &content.version, 1, lines, seen)
        });
        shown.map_err(|fault| anyhow!("`shown`: `{path}`: {}", fault.message))?;
    }
    Ok(())
}

fn compare(came: &Came, expect: &Expect) -> Option<Miss> {
    let got = match came {
        Came::Outcome(text) => format!("the outcome\n{text}"),
        Came::Fault { kind, text } => format!("the fault `{kind}`\n{text}"),
        Came::Broken(what) => format!("the plugin broke: {what}"),
    };
    let Expect { outcome, outcome_is, fault, text, .. } = expect;
    let (holds, expected) = match (fault, outcome_is, outcome) {
        (Some(wanted), ..) => {
            let part = text.as_deref().unwrap_or_default();
            let holds =
                matches!(came, Came::Fault { kind, text } if kind == wanted && text.contains(part));
            let with = text.as_ref().map(|text| format!(" with `{text}`")).unwrap_or_default();
            (holds, format!("the fault `{wanted}`{with}"))
        }
        (None, Some(whole), _) => {
            let holds = matches!(came, Came::Outcome(text) if text == whole);
            if let (false, Came::Outcome(text)) = (holds, came) {
                return Some(Miss::new(
                    "the outcome as it is in the table",
                    diff("outcome", whole, text),
                ));
            }
            (holds, format!("the outcome\n{whole}"))
        }
        (None, None, Some(part)) => {
            let holds = matches!(came, Came::Outcome(text) if text.contains(part));
            (holds, format!("an outcome with `{part}`"))
        }
        (None, None, None) => {
            (matches!(came, Came::Outcome(_)), "an outcome, whatever it says".to_owned())
        }
    };
    (!holds).then(|| Miss::new(expected, got))
}

fn compare_file(jail: &Jail, path: &str, expected: &After) -> Option<Miss> {
    let read = jail.parse(path).and_then(|parsed| jail.read(&parsed, 0, FILE_BYTES));
    let there = read.map(|content| String::from_utf8_lossy(&content.bytes).into_owned());
    let none = |_| "no such file".to_owned();
    match (expected, there) {
        (After::Text(text), Ok(there)) if *text == there => None,
        (After::Text(text), Ok(there)) => {
            Some(Miss::new(format!("`{path}` as it is in the table"), diff(path, text, &there)))
        }
        (After::Text(_), there) => {
            Some(Miss::new(format!("a file `{path}`"), there.unwrap_or_else(none)))
        }
        (After::There(true), Ok(_)) | (After::There(false), Err(_)) => None,
        (After::There(true), Err(_)) => Some(Miss::new(format!("a file `{path}`"), "none")),
        (After::There(false), Ok(text)) => {
            Some(Miss::new(format!("no file `{path}`"), format!("one with\n{text}")))
        }
    }
}

/// The lines that differ: `-` expected, `+` what came.
fn diff(name: &str, expected: &str, got: &str) -> String {
    let diff = unified_diff(name, Some(expected.as_bytes()), Some(got.as_bytes()));
    format!("another one; `-` was expected, `+` came\n{}", diff.trim_end())
}
