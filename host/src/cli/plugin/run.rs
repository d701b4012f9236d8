//! `harness plugin run`: one call of one tool, without a model.
//!
//! Prints on standard output what a model would read; what the call used, and what the plugin
//! logged, on standard error. It acts for real, in the workspace that is named: no guard is asked,
//! because a person asks. Commands run behind the same walls as the server's, or not at all.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the outcome is the command's output; figures go beside it"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use harness_jail::{Shell, allowed_environment, ensure_directory};
use serde_json::{Map, Value};
use tokio::sync::mpsc::unbounded_channel;

use super::bench::{Bench, Stage};
use super::figures;
use super::project::Project;
use super::test::show;
use crate::cli::flags::{Configured, load, sound_layers};
use crate::cli::{boot, log};
use crate::config::PluginConfig;
use crate::containment::Containment;
use crate::deadline::Deadline;
use crate::error::fault_text;
use crate::plugin::{End, Engine, Plugins, Ran, Tool, Used, Workspace};
use crate::redact::Redactor;
use crate::wit::Call;

/// The longest a call may take, whatever the tool's own limit: that of a run by default.
const TIME: Duration = Duration::from_secs(540);

/// What to call.
#[derive(Args)]
pub(crate) struct RunArgs {
    /// A project's folder, or a component file
    path: PathBuf,
    /// The tool
    tool: String,
    /// Its arguments, a JSON object
    #[arg(default_value = "{}")]
    input: String,
    /// The workspace [default: the current directory]
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// The plugin's own table, a JSON object [default: that in the configuration]
    #[arg(long, value_name = "JSON")]
    plugin_config: Option<String>,
    /// The powers it is granted [default: those of its table in the configuration]
    #[arg(long, value_name = "POWER,…", value_delimiter = ',')]
    grants: Option<Vec<String>>,
    /// A file that counts as read by the model; as often as needed
    #[arg(long, value_name = "PATH")]
    shown: Vec<String>,
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Calls.
pub(super) async fn run(args: RunArgs) -> anyhow::Result<()> {
    let project = Project::open(&args.path)?;
    let (settings, environment) = sound_layers(&Configured::of_state(args.config.clone(), None))?;
    let table = settings.plugins().get(&project.name).cloned().unwrap_or_default();
    let redactor = || boot::redactor(settings.secrets(), &environment);
    log::start_for_plugins(redactor());
    let Loaded { bench, plugins } =
        open(&args, &project.name, project.bytes, table, redactor(), boot::engine(&settings)?)
            .await?;
    let tool = find(&plugins, &args.tool)?;
    let stage = Stage::open()?;
    let shell = match tool.executes() && bench.anatomy.powers.contains(&"process") {
        true => shell(&args, &stage)?,
        false => Shell::none(),
    };
    let workspace = bench.workspace(&stage, Some(&args.workspace), shell)?;
    show(&workspace, &args.shown)?;
    let workspace = Arc::new(workspace);
    let input = match tool.check(&args.input) {
        Ok(input) => input,
        Err(text) => {
            println!("{text}");
            bail!("the arguments do not fit; a model reads this above");
        }
    };
    input.mended.iter().for_each(|mended| eprintln!("mended     {mended}"));
    let deadline = Deadline::after(TIME);
    let call = Call {
        id: "call_1".to_owned(),
        tool: args.tool.clone(),
        input: input.text,
        turn: 1,
        remaining_ms: deadline.left_ms(),
    };
    let ran = call_it(tool, &call, &workspace, deadline).await;
    let ended = workspace.clone();
    tokio::task::spawn_blocking(move || ended.shell.end()).await?;
    tell(&ran, bench.anatomy.compiling)
}

/// The plugin, loaded.
struct Loaded {
    bench: Bench,
    plugins: Plugins,
}

/// Loads it with what it is granted; without a grant it says which line is needed.
async fn open(
    args: &RunArgs,
    name: &str,
    component: Vec<u8>,
    table: PluginConfig,
    redactor: Redactor,
    engine: Engine,
) -> anyhow::Result<Loaded> {
    let config = match &args.plugin_config {
        None => table.config.clone(),
        Some(text) => serde_json::from_str::<Map<String, Value>>(text)
            .context("`--plugin-config`: expected a JSON object")?,
    };
    let bench = Bench::open(engine, name, component, redactor).await??;
    let grants = Some(args.grants.clone().or(table.grants.clone()).unwrap_or_default());
    let plugins = bench.load(PluginConfig { config, grants, ..table }).await?;
    let cause = plugins.listed().iter().find_map(|listed| listed.offers.as_ref().err());
    if let Some(cause) = cause {
        let lacks = bench.anatomy.powers.join(",");
        let by_flag = match cause.contains("was not granted") {
            true => format!("; or give `--grants {lacks}` to this command"),
            false => String::new(),
        };
        bail!("the plugin `{name}` does not load: {cause}{by_flag}");
    }
    Ok(Loaded { bench, plugins })
}

fn find<'a>(plugins: &'a Plugins, name: &str) -> anyhow::Result<&'a Tool> {
    ensure!(
        !plugins.tools().is_empty(),
        "the plugin offers no tool; guards and profiles are tried out by `harness plugin test`"
    );
    plugins.tool(name).ok_or_else(|| {
        let names: Vec<&str> =
            plugins.tools().iter().map(|tool| tool.spec().name.as_str()).collect();
        anyhow!("there is no tool `{name}`; there are: `{}`", names.join("`, `"))
    })
}

/// The walls of a server with this configuration; where none can be had, no command runs.
fn shell(args: &RunArgs, stage: &Stage) -> anyhow::Result<Shell> {
    let loaded = load(&Configured::without_upstream(args.config.clone()))?;
    let home = loaded.environment.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, home)| Path::new(home));
    let mut masked = loaded.own_files;
    masked.push(loaded.config.state_dir.clone());
    masked.extend(loaded.config.audit_log.clone());
    let tmp = ensure_directory(stage.tmp.path())?;
    let containment = Containment::find(&loaded.config.shell, home, masked, &tmp)?;
    eprintln!("commands   {}", containment.summary().0);
    let environment = allowed_environment(loaded.environment.into_iter());
    Ok(containment.shell(environment, "plugin-run", tmp))
}

async fn call_it(tool: &Tool, call: &Call, workspace: &Arc<Workspace>, deadline: Deadline) -> Ran {
    let (lines, mut progress) = unbounded_channel();
    let mut running = std::pin::pin!(tool.run(call, workspace, deadline, lines));
    loop {
        tokio::select! {
            biased;
            Some(line) = progress.recv() => eprintln!("progress   {}", line.message),
            ran = &mut running => {
                // What it showed last came in the moment in which it ended.
                while let Ok(line) = progress.try_recv() {
                    eprintln!("progress   {}", line.message);
                }
                return ran;
            }
        }
    }
}

/// Prints what came of it.
fn tell(ran: &Ran, compiling: Duration) -> anyhow::Result<()> {
    let failed = match &ran.end {
        End::Outcome(told) => {
            let text = told.as_read();
            println!("{}", text.strip_suffix('\n').unwrap_or(&text));
            eprintln!("summary    {}", told.summary);
            if let Some(data) = &told.data {
                eprintln!("data       {data}");
            }
            if let Some(code) = told.exit_code {
                eprintln!("exit code  {code}");
            }
            None
        }
        End::Fault(fault) => {
            println!("{}", fault_text(fault));
            Some("the tool says that it could not; a model reads this above".to_owned())
        }
        End::Broken(broken) => {
            println!("{}", broken.for_model());
            Some(broken.to_string())
        }
    };
    tell_used(&ran.used, compiling);
    match failed {
        None => Ok(()),
        Some(what) => Err(anyhow!(what)),
    }
}

fn tell_used(used: &Used, compiling: Duration) {
    let Used { instantiating, answering, fuel, memory_bytes, powers, .. } = used;
    let times = [answering, instantiating, &compiling].map(|time| figures::time(*time));
    let [answering, instantiating, compiling] = times;
    eprintln!("time       {answering}; instance {instantiating}, compiled in {compiling}");
    eprintln!("memory     {} at most", figures::memory(*memory_bytes));
    eprintln!("fuel       {}", figures::fuel(*fuel));
    eprintln!("powers     {}", counted(powers));
}

/// `workspace-read 3, process 1`.
fn counted(powers: &BTreeMap<&'static str, u32>) -> String {
    let said: Vec<String> =
        powers.iter().map(|(power, calls)| format!("{power} {calls}")).collect();
    if said.is_empty() { "none called".to_owned() } else { said.join(", ") }
}
