//! A tool's words for models: name, description, schema, paths, time-out.
//!
//! The host has taken the schema already: it is JSON Schema 2020-12, of an object. Here is what a
//! model would stumble over. Pure.

use serde_json::{Map, Value};

use super::Finding;
use crate::nearest::nearest;
use crate::wit::Spec;

/// A description longer than this costs every turn of every run, in bytes.
const DESCRIPTION_BYTES: usize = 4 << 10;

/// A name longer than this invites mistakes, in letters.
const NAME_LETTERS: usize = 40;

/// Milliseconds beyond which a time-out is hardly meant.
const LONG_MS: u32 = 900_000;

/// Less time than this is hardly enough to start in, in milliseconds.
const SHORT_MS: u32 = 10;

/// Words of an argument's name that speak of a place in the workspace.
const PLACES: [&str; 8] =
    ["path", "paths", "file", "files", "directory", "dir", "folder", "filename"];

const ABOUT: &str = "schema";

/// Everything odd about one tool.
pub(super) fn lint(spec: &Spec) -> Vec<Finding> {
    let schema: Value = serde_json::from_str(&spec.input_schema).unwrap_or_default();
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let mut findings = of_words(spec);
    findings.extend(of_properties(spec, properties));
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !properties.contains_key(name) {
            let what = format!("tool `{}`: `required` names `{name}`", spec.name);
            findings.push(unknown(&what, name, properties));
        }
    }
    if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
        findings.push(Finding::advice(
            ABOUT,
            format!("tool `{}`: parameters that it does not know are let through", spec.name),
            "add `\"additionalProperties\": false`, so that a misspelt one is told",
        ));
    }
    findings.extend(of_paths(spec, properties));
    findings.extend(of_time(spec, properties));
    findings
}

fn of_words(spec: &Spec) -> Vec<Finding> {
    let Spec { name, description, .. } = spec;
    let mut findings = Vec::new();
    if name.len() > NAME_LETTERS || name.chars().any(|letter| letter.is_ascii_uppercase()) {
        findings.push(Finding::advice(
            "name",
            format!("tool `{name}`: long or in capitals"),
            format!("a short word in small letters: models write `{}` anyway", name.to_lowercase()),
        ));
    }
    if description.trim().is_empty() {
        findings.push(Finding::problem(
            "description",
            format!("tool `{name}` has none"),
            "say in two sentences what it does and when to use it: that is all a model knows of it",
        ));
    } else if description.len() > DESCRIPTION_BYTES {
        findings.push(Finding::advice(
            "description",
            format!("tool `{name}`: {} bytes, sent in every turn", description.len()),
            format!("stay below {DESCRIPTION_BYTES}; details belong into the outcome"),
        ));
    }
    findings
}

fn of_properties(spec: &Spec, properties: &Map<String, Value>) -> Vec<Finding> {
    let is_said = |schema: &Value| {
        let said = schema.get("description").and_then(Value::as_str);
        said.is_some_and(|said| !said.trim().is_empty())
    };
    let silent = properties.iter().filter(|(_, schema)| !is_said(schema));
    let finding = |(name, _): (&String, &Value)| {
        Finding::problem(
            ABOUT,
            format!("tool `{}`: parameter `{name}` has no description", spec.name),
            "add `\"description\"`: what it means, and an example where that helps",
        )
    };
    silent.map(finding).collect()
}

fn of_paths(spec: &Spec, properties: &Map<String, Value>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for argument in &spec.path_arguments {
        if !properties.contains_key(argument) {
            let what = format!("tool `{}`: `path-arguments` names `{argument}`", spec.name);
            findings.push(unknown(&what, argument, properties));
        }
    }
    for (name, schema) in properties {
        let words = name.split(['_', '-']).map(str::to_lowercase);
        let is_place = words.into_iter().any(|word| PLACES.contains(&word.as_str()));
        let members = schema.get("items").unwrap_or(schema);
        let is_text = members.get("type").and_then(Value::as_str) == Some("string");
        if is_place && is_text && !spec.path_arguments.contains(name) {
            findings.push(Finding::advice(
                "paths",
                format!(
                    "tool `{}`: `{name}` looks like a path, and guards are not told of it",
                    spec.name
                ),
                format!("name `{name}` in `path-arguments`, if it is a path in the workspace"),
            ));
        }
    }
    findings
}

fn of_time(spec: &Spec, properties: &Map<String, Value>) -> Vec<Finding> {
    let Spec { name, timeout_ms, .. } = spec;
    let mut findings = Vec::new();
    if *timeout_ms < SHORT_MS {
        findings.push(Finding::problem(
            "time-out",
            format!("tool `{name}`: {timeout_ms} ms, over before it begins"),
            "give `timeout-ms` in milliseconds: 10000 is ten seconds",
        ));
    } else if *timeout_ms > LONG_MS {
        findings.push(Finding::advice(
            "time-out",
            format!("tool `{name}`: {} s", timeout_ms / 1_000),
            format!(
                "stay below {} s: a call that hangs holds its run up for so long",
                LONG_MS / 1_000
            ),
        ));
    }
    if let Some(argument) = &spec.timeout_argument {
        let kind =
            properties.get(argument).map(|schema| schema.get("type").and_then(Value::as_str));
        let what = format!("tool `{name}`: `timeout-argument` names `{argument}`");
        findings.extend(match kind {
            None => Some(unknown(&what, argument, properties)),
            Some(Some("integer" | "number")) => None,
            Some(_) => Some(Finding::problem(
                "time-out",
                format!("{what}, which is no number"),
                "give it `\"type\": \"integer\"`; it counts seconds",
            )),
        });
    }
    findings
}

/// A name that no parameter has.
fn unknown(what: &str, name: &str, properties: &Map<String, Value>) -> Finding {
    let mend = match nearest(name, properties.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("describe `{name}` in `properties`, or leave it out there"),
    };
    Finding::problem(ABOUT, format!("{what}, which is no parameter"), mend)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::plugin::check::Weight;
    use crate::wit::Effects;

    fn sound() -> Spec {
        Spec {
            name: "count".to_owned(),
            description: "Counts.".to_owned(),
            input_schema: r#"{"type":"object","additionalProperties":false,"required":["path"],
                "properties":{"path":{"type":"string","description":"Where."}}}"#
                .to_owned(),
            effects: Effects::READ,
            timeout_ms: 10_000,
            timeout_argument: None,
            path_arguments: vec!["path".to_owned()],
        }
    }

    /// `spec` has exactly one finding, of that weight, with this in its text and its mend.
    fn check(spec: &Spec, weight: Weight, what: &str, mend: &str) {
        let findings = lint(spec);
        let [finding] = findings.as_slice() else { panic!("{findings:#?}") };
        assert_eq!(finding.weight, weight, "{finding:?}");
        assert!(finding.what.contains(what), "{finding:?}");
        assert!(finding.mend.as_ref().is_some_and(|it| it.contains(mend)), "{finding:?}");
    }

    #[test]
    fn a_sound_tool_has_no_findings() {
        assert_eq!(lint(&sound()), []);
    }

    #[test]
    fn words() {
        let with = |change: &dyn Fn(&mut Spec)| {
            let mut spec = sound();
            change(&mut spec);
            spec
        };
        let spec = with(&|spec| spec.name = "CountAll".to_owned());
        check(&spec, Weight::Advice, "capitals", "countall");
        let spec = with(&|spec| spec.description = " ".to_owned());
        check(&spec, Weight::Problem, "`count` has none", "two sentences");
        let spec = with(&|spec| spec.description = "x".repeat(5_000));
        check(&spec, Weight::Advice, "5000 bytes", "4096");
        let spec = with(&|spec| spec.timeout_ms = 5);
        check(&spec, Weight::Problem, "5 ms", "milliseconds");
        let spec = with(&|spec| spec.timeout_ms = 3_600_000);
        check(&spec, Weight::Advice, "3600 s", "900 s");
        let spec = with(&|spec| spec.timeout_argument = Some("paht".to_owned()));
        check(&spec, Weight::Problem, "no parameter", "did you mean `path`?");
        let spec = with(&|spec| spec.timeout_argument = Some("path".to_owned()));
        check(&spec, Weight::Problem, "no number", "integer");
        let spec = with(&|spec| spec.path_arguments.clear());
        check(&spec, Weight::Advice, "looks like a path", "`path-arguments`");
        let spec = with(&|spec| spec.path_arguments.push("target".to_owned()));
        check(&spec, Weight::Problem, "names `target`", "`properties`");
    }

    #[test]
    fn schemas() {
        let with = |schema: &str| Spec { input_schema: schema.to_owned(), ..sound() };
        let path = r#""path":{"type":"string","description":"Where."}"#;
        let schema = format!(r#"{{"type":"object","properties":{{{path}}}}}"#);
        check(&with(&schema), Weight::Advice, "let through", "additionalProperties");
        let head = r#"{"type":"object","additionalProperties":false,"properties""#;
        let schema = format!(r#"{head}:{{{path},"n":{{"type":"integer"}}}}}}"#);
        check(&with(&schema), Weight::Problem, "`n` has no description", "description");
        let schema = format!(r#"{head}:{{{path}}},"required":["pth"]}}"#);
        check(&with(&schema), Weight::Problem, "`required` names `pth`", "`path`");
        let list = r#""out_files":{"type":"array","items":{"type":"string"},"description":"All."}"#;
        let schema = format!("{head}:{{{path},{list}}}}}");
        check(&with(&schema), Weight::Advice, "`out_files` looks like a path", "`out_files`");
    }
}
