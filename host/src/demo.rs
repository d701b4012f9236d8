//! `harness demo`: one chat completion, whole, with nothing configured.
//!
//! Only the model is scripted (`testdata/demo`). The server, the loop, the plugins, the jail, HTTP
//! and SSE are the ones that `serve` runs, on free loopback ports and in a directory of its own
//! under the system's temporary directory, which is kept for looking at.

#![expect(clippy::print_stdout, reason = "the demonstration is what is printed")]

mod project;
mod show;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use harness_jail::PrivateDir;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::cli::{self, Boot, Loaded};
use crate::config::{Layers, Settings};
use crate::event::Recorded;
use crate::mock::{self, Script};
use crate::server::{self, ServeOptions};

/// What the scripted client asks.
const TASK: &str = "The till gives wrong totals. Find out why, mend it, and note the change.";

/// Runs the demonstration.
///
/// # Errors
///
/// When any part of it does not end as it should; the text says which.
pub(crate) async fn run(environment: Vec<(String, String)>) -> anyhow::Result<()> {
    let place = cli::temporary("demo");
    let private = PrivateDir::open(&place)
        .with_context(|| format!("cannot use the directory `{}`", place.display()))?;
    let workspace = project::lay_out(&private)?;

    let script = Script::parse(include_str!("../../testdata/demo/script.toml"))?;
    let upstream = mock::start(script, "127.0.0.1:0".parse()?).await?;
    let state = place.join("state");
    let boot = Boot::open(configure(&upstream.base_url(), &state, environment)?)?;
    let listener = server::bind(boot.harness.config().addr)?;
    let server = format!("http://{}", listener.local_addr()?);
    let stop = CancellationToken::new();
    let serving = tokio::spawn(server::serve(
        boot.harness.clone(),
        listener,
        ServeOptions::default(),
        stop.clone(),
    ));
    boot.load().await?;

    println!("harness demo: the model is scripted, everything else is real\n");
    println!("server     {server}");
    println!("workspace  {}", workspace.display());
    println!("task       {TASK}\n");
    let told = ask(&server, &workspace).await;
    stop.cancel();
    serving.await??;
    let Told { run, answer, harness, usage } = told?;

    println!("\nanswer\n  {}\n", answer.replace('\n', "\n  "));
    println!("diff of the workspace\n{}", project::diff(&workspace)?);
    println!("usage      {}", show::usage(&usage));
    println!(
        "ended      {} after {} turns and {} calls",
        harness["termination_reason"].as_str().unwrap_or("?"),
        harness["turns"],
        harness["tool_calls"]
    );
    println!("record     {}", state.join("ledger.sqlite").display());
    println!("           harness ledger {run} --state-dir {}", state.display());
    project::check(&workspace)?;
    let violations: usize = upstream.requests().iter().map(|seen| seen.violations.len()).sum();
    ensure!(violations == 0, "the scripted upstream found {violations} faults in our requests");
    Ok(())
}

fn configure(
    base_url: &str,
    state: &Path,
    environment: Vec<(String, String)>,
) -> anyhow::Result<Loaded> {
    // The variables of a real set-up must not reach the demonstration; PATH and the like must.
    let quiet = environment.into_iter().filter(|(name, _)| !name.starts_with("HARNESS_"));
    let environment: Vec<(String, String)> = quiet.collect();
    let flags = vec![
        ("server.addr", "127.0.0.1:0".to_owned()),
        ("upstream.base_url", base_url.to_owned()),
        ("upstream.model", "scripted".to_owned()),
        ("state.dir", state.display().to_string()),
    ];
    let layers = Layers { file: None, environment: environment.clone(), flags, found: Vec::new() };
    match Settings::merge(&layers).check() {
        Ok(config) => {
            Ok(Loaded { config, environment, warnings: Vec::new(), own_files: Vec::new() })
        }
        Err(problems) => bail!("the demonstration's own configuration: {problems:?}"),
    }
}

/// What the client was told.
struct Told {
    run: String,
    answer: String,
    harness: Value,
    usage: Value,
}

/// Sends the one request, streamed, and follows its run while it waits for the answer.
async fn ask(server: &str, workspace: &PathBuf) -> anyhow::Result<Told> {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build()?;
    let body = json!({
        "messages": [{"role": "user", "content": TASK}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "harness": {"workspace": workspace},
    });
    let response = client
        .post(format!("{server}/v1/chat/completions"))
        .header("content-type", "application/json")
        .body(body.to_string())
        .send()
        .await?;
    let status = response.status();
    let run = response.headers().get("x-harness-run").and_then(|id| id.to_str().ok());
    let Some(run) = run.map(str::to_owned) else {
        bail!("the server answered {status}: {}", response.text().await?);
    };
    let events = client.get(format!("{server}/v1/runs/{run}/events")).send().await?;
    let (answered, shown) = tokio::join!(read_answer(response), follow(events));
    shown?;
    let (answer, harness, usage) = answered?;
    Ok(Told { run, answer, harness, usage })
}

/// Shows each event of the run as it happens.
async fn follow(events: reqwest::Response) -> anyhow::Result<()> {
    each_line(events, |line| {
        let recorded: Recorded = serde_json::from_str(line)?;
        if let Some(step) = show::step(&recorded) {
            println!("{step}");
        }
        Ok(())
    })
    .await
}

/// The streamed answer, the harness's own object and the usage.
async fn read_answer(response: reqwest::Response) -> anyhow::Result<(String, Value, Value)> {
    let (mut answer, mut harness, mut usage) = (String::new(), Value::Null, Value::Null);
    let mut is_done = false;
    each_line(response, |line| {
        let Some(data) = line.strip_prefix("data: ") else { return Ok(()) };
        if data == "[DONE]" {
            is_done = true;
            return Ok(());
        }
        let mut chunk: Value = serde_json::from_str(data)?;
        if let Some(error) = chunk.get("error") {
            bail!("the run failed: {error}");
        }
        answer.push_str(chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default());
        if !chunk["harness"].is_null() {
            harness = chunk["harness"].take();
        }
        if !chunk["usage"].is_null() {
            usage = chunk["usage"].take();
        }
        Ok(())
    })
    .await?;
    ensure!(is_done, "the stream ended without `[DONE]`");
    Ok((answer, harness, usage))
}

async fn each_line(
    mut response: reqwest::Response,
    mut line: impl FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut buffered = Vec::new();
    while let Some(bytes) = response.chunk().await? {
        buffered.extend_from_slice(&bytes);
        while let Some(end) = buffered.iter().position(|byte| *byte == b'\n') {
            let whole: Vec<u8> = buffered.drain(..=end).collect();
            let text = String::from_utf8(whole)?;
            if !text.trim().is_empty() {
                line(text.trim_end())?;
            }
        }
    }
    Ok(())
}
