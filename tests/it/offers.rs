//! What every request carries before a word of the task: the tools on offer, and the prompt.

use std::sync::Arc;

use harness::config::{Layers, Settings};
use harness::plugin::{Engine, Plugins, Source, Workspace};
use harness::redact::Redactor;
use harness_jail::{Jail, Shell};
use serde_json::Value;

use crate::rig::Rig;

/// All six tools with the system prompt. Paid for in every turn.
const MOST_BYTES: usize = 6_000;

/// Bytes a token, about: English prose and short JSON, as tokenizers of today cut them. The ratio
/// is an estimate, and only for reading.
const BYTES_A_TOKEN: f64 = 3.4;

async fn default_plugins() -> Plugins {
    let place = tempfile::tempdir().unwrap();
    let jail = Jail::open(place.path(), None).unwrap();
    let redactor = Arc::new(Redactor::new(std::iter::empty()));
    let workspace = Arc::new(Workspace::new(jail, Shell::none(), redactor));
    let layers = Layers::default();
    let sources = Source::all(Settings::merge(&layers).plugins(), |_| unreachable!());
    Plugins::load(&Engine::new().unwrap(), sources, &workspace).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tools_and_the_prompt_stay_cheap() {
    let plugins = default_plugins().await;
    let told = |what: &str, bytes: usize| {
        println!("{what:8} {bytes:5} bytes, about {:4.0} tokens", bytes as f64 / BYTES_A_TOKEN);
    };
    let mut sum = 0;
    for tool in plugins.tools() {
        let spec = tool.spec();
        let bytes = spec.name.len() + spec.description.len() + spec.input_schema.len();
        told(&spec.name, bytes);
        sum += bytes;
    }
    told("tools", sum);
    // A whole request, as it is sent: with the sandbox's words, and the wire's own.
    let rig = Rig::start("[[turn]]\ntext = \"done\"\n", "").await;
    rig.chat(&rig.body("go")).await;
    let bytes = rig.mock.requests()[0].body_bytes;
    told("request", bytes);
    assert!(bytes < MOST_BYTES, "the first request has grown to {bytes} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_closed_and_every_parameter_is_described() {
    let plugins = default_plugins().await;
    let mut names: Vec<&str> = plugins.tools().iter().map(|tool| &*tool.spec().name).collect();
    names.sort_unstable();
    assert_eq!(names, ["bash", "edit", "glob", "grep", "read", "write"]);
    for tool in plugins.tools() {
        let spec = tool.spec();
        let schema: Value = serde_json::from_str(&spec.input_schema).unwrap();
        assert_eq!(schema["additionalProperties"], false, "{}", spec.name);
        for (name, field) in schema["properties"].as_object().unwrap() {
            assert!(field["description"].is_string(), "`{name}` of {} is not described", spec.name);
        }
    }
}
