//! `harness plugin list`: every plugin in force, or why it is not; and what a workspace brings along.
//!
//! What lies in a workspace is read and named, never loaded: whoever wrote it is not whoever rules
//! this server. No server looks there.

#![expect(clippy::print_stdout, reason = "the list is the command's output")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use harness_jail::{files_in, read_capped};

use super::load_for_listing;
use crate::cli::boot;
use crate::cli::flags::{Configured, sound_layers};
use crate::config::{PluginConfig, PluginLimits, is_name};
use crate::plugin::{FILE_BYTES, Listed, digest};

/// Where plugins lie that a workspace brings along.
const BROUGHT: &str = ".harness/plugins";

/// Of what to list.
#[derive(Args)]
pub(crate) struct ListArgs {
    #[command(flatten)]
    configured: Configured,
    /// A workspace, to see which plugins it brings along
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

/// Runs the command.
pub(super) async fn run(args: ListArgs) -> anyhow::Result<()> {
    let (settings, environment) = sound_layers(&args.configured)?;
    let engine = boot::engine(&settings)?;
    let plugins = load_for_listing(&engine, settings.plugins(), &environment).await?;
    for listed in plugins.listed() {
        println!("{}", lines(listed, settings.plugins()));
    }
    if let Some(workspace) = &args.workspace {
        brought(workspace)?;
    }
    let broken = plugins.listed().iter().filter(|listed| listed.offers.is_err()).count();
    anyhow::ensure!(broken == 0, "{broken} plugin(s) do not load");
    Ok(())
}

fn lines(listed: &Listed, configured: &BTreeMap<String, PluginConfig>) -> String {
    let Listed { name, source, role, powers, brings_runtime, offers, bytes, .. } = listed;
    let role = role.map_or("?".to_owned(), |role| role.to_string());
    let size = format!("{} kB", bytes.div_ceil(1000));
    let mut said = format!("{name:<12} {role:<8} {size:>8}  {source}");
    let mut powers = match powers.as_slice() {
        [] => "sink only".to_owned(),
        powers => powers.join(", "),
    };
    if *brings_runtime {
        powers += "; wasi: inert";
    }
    match offers {
        Ok(offers) if offers.is_empty() => said += &format!("\n    may use: {powers}"),
        Ok(offers) => said += &format!("\n    offers: {}; may use: {powers}", offers.join(", ")),
        Err(cause) => said += &format!("\n    DOES NOT LOAD: {}", cause.replace('\n', "\n    ")),
    }
    let table = configured.get(name);
    for (what, bounds) in table.map(bounds).unwrap_or_default() {
        said += &format!("\n    {what}: {bounds}");
    }
    if let Some(digest) = listed.digest.as_ref().filter(|_| source != "built in") {
        let is_pinned = table.is_some_and(|table| table.digest.is_some());
        let pinned = if is_pinned { "pinned" } else { "not pinned: any other file is taken up" };
        said += &format!("\n    digest: {digest} ({pinned})");
    }
    said
}

/// What a person narrowed, and the servers that may be asked.
fn bounds(table: &PluginConfig) -> Vec<(&'static str, String)> {
    let servers = &table.servers;
    let hosts = |entries: &[crate::servers::Entry]| -> Vec<String> {
        entries.iter().map(ToString::to_string).collect()
    };
    let globs =
        |globs: &Option<harness_jail::Globs>| globs.as_ref().map(|it| it.patterns().to_vec());
    let some = |list: Vec<String>| Some(list).filter(|list| !list.is_empty());
    let lists = [
        ("reads only", globs(&table.read)),
        ("writes only", globs(&table.write)),
        ("runs only", table.run.clone()),
        ("may ask", some(hosts(&servers.hosts))),
        ("may ask privately", some(hosts(&servers.private_hosts))),
        ("credentials", some(servers.credentials.keys().cloned().collect())),
        ("replaces", some(table.replaces.clone())),
        ("judges tools", globs(&table.tools)),
        ("judges effects", table.effects.clone()),
        ("limits", some(limits(&table.limits))),
    ];
    let said = |(what, list): (&'static str, Option<Vec<String>>)| {
        let list = list?;
        Some((what, if list.is_empty() { "nothing".to_owned() } else { list.join(", ") }))
    };
    lists.into_iter().filter_map(said).collect()
}

fn limits(limits: &PluginLimits) -> Vec<String> {
    let PluginLimits { memory_bytes, fuel, seconds } = limits;
    let memory = memory_bytes.map(|bytes| format!("{} MiB", bytes >> 20));
    let fuel = fuel.map(|fuel| format!("{} million instructions", fuel / 1_000_000));
    let seconds = seconds.map(|seconds| format!("{seconds} s"));
    [memory, fuel, seconds].into_iter().flatten().collect()
}

/// What a workspace brings along, by digest.
fn brought(workspace: &Path) -> anyhow::Result<()> {
    let directory = workspace.join(BROUGHT);
    let files = files_in(&directory);
    let files = files.with_context(|| format!("cannot list `{}`", directory.display()))?;
    for file in files {
        let part =
            |part: Option<&std::ffi::OsStr>| part.and_then(|it| it.to_str()).map(str::to_owned);
        let (stem, ending) = (part(file.file_stem()), part(file.extension()));
        // Other names could say anything on a terminal.
        let Some(stem) = stem.filter(|stem| is_name(stem)) else { continue };
        let Some(ending) = ending.filter(|it| matches!(it.as_str(), "wasm" | "toml")) else {
            continue;
        };
        let of = match read_capped(&file, FILE_BYTES as u64) {
            Ok(bytes) => digest(&bytes),
            Err(err) => format!("cannot be read: {err}"),
        };
        println!(
            "{stem:<12} in `{BROUGHT}/{stem}.{ending}` of the workspace\n    \
             not loaded: `harness plugin add {}` trusts it\n    digest: {of}",
            file.display()
        );
    }
    Ok(())
}
