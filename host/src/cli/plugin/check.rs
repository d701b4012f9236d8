//! `harness plugin check`: what is wrong with a plugin, and how to mend it, before it is installed.
//!
//! Loads it with the server's own code, asks it what any server would, and looks at the answers.
//! Nothing is asked of the network, and no tool is run.

mod answers;
mod schema;

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;

use super::bench::Bench;
use super::figures;
use super::project::Project;
use crate::cli::boot;
use crate::cli::flags::{Configured, sound_layers};
use crate::config::PluginConfig;
use crate::plugin::{Anatomy, Engine, Role, VERSION};

/// From this size on a component of a guard or a profile is worth a word, in bytes.
const LARGE_SEALED: usize = 24 << 20;

/// The same of a tool.
const LARGE_TOOL: usize = 48 << 20;

/// What to check.
#[derive(Args)]
pub(crate) struct CheckArgs {
    /// A project's folder, or a component file
    pub(super) path: PathBuf,
    /// The powers it would be granted [default: those of its table in the configuration]
    #[arg(long, value_name = "POWER,…", value_delimiter = ',')]
    pub(super) grants: Option<Vec<String>>,
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// As it should be.
    Fine,
    /// To know.
    Note,
    /// It works, and would be better otherwise.
    Advice,
    /// It does not work, or models cannot use it.
    Problem,
}

/// What one look found.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    weight: Weight,
    /// What was looked at.
    about: &'static str,
    what: String,
    mend: Option<String>,
}

impl Finding {
    fn fine(about: &'static str, what: impl Into<String>) -> Finding {
        Finding { weight: Weight::Fine, about, what: what.into(), mend: None }
    }

    fn note(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { weight: Weight::Note, about, what: what.into(), mend: Some(mend.into()) }
    }

    fn advice(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { weight: Weight::Advice, about, what: what.into(), mend: Some(mend.into()) }
    }

    fn problem(about: &'static str, what: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding { weight: Weight::Problem, about, what: what.into(), mend: Some(mend.into()) }
    }

    /// An error with its hint as the mend.
    fn error(about: &'static str, err: &str) -> Finding {
        let (what, mend) = match err.split_once("\nhint: ") {
            Some((what, mend)) => (what, Some(mend.to_owned())),
            None => (err, None),
        };
        Finding { weight: Weight::Problem, about, what: what.to_owned(), mend }
    }
}

/// Checks.
pub(super) async fn run(args: CheckArgs) -> anyhow::Result<()> {
    let project = Project::open(&args.path)?;
    let (settings, environment) = sound_layers(&Configured::of_state(args.config, None))?;
    let table = settings.plugins().get(&project.name).cloned();
    let redactor = boot::redactor(settings.secrets(), &environment);
    let findings = look(project, args.grants, table, redactor, boot::engine(&settings)?).await?;
    findings.iter().for_each(tell);
    let problems = findings.iter().filter(|it| it.weight == Weight::Problem).count();
    ensure!(problems == 0, "{problems} problem(s)");
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the findings are the command's output")]
fn tell(finding: &Finding) {
    let weight = match finding.weight {
        Weight::Fine => "ok",
        Weight::Note => "note",
        Weight::Advice => "advice",
        Weight::Problem => "problem",
    };
    let what = finding.what.replace('\n', " ");
    println!("{weight:<8} {:<12} {what}", finding.about);
    if let Some(mend) = &finding.mend {
        println!("{:<21} mend: {mend}", "");
    }
}

/// Everything there is to find, in the order in which a server would meet it.
async fn look(
    project: Project,
    grants: Option<Vec<String>>,
    table: Option<PluginConfig>,
    redactor: crate::redact::Redactor,
    engine: Engine,
) -> anyhow::Result<Vec<Finding>> {
    let Project { name, role: said, bytes, .. } = project;
    let size = bytes.len();
    let bench = match Bench::open(engine, &name, bytes, redactor).await? {
        Ok(bench) => bench,
        Err(err) => return Ok(vec![Finding::error("file", &err.to_string())]),
    };
    let anatomy = &bench.anatomy;
    let mut findings = Vec::new();
    let role = match &anatomy.role {
        Ok((role, version)) => {
            findings.push(of_size(size, *role, anatomy));
            findings.push(of_role(*role, version, said));
            Some(*role)
        }
        Err(err) => {
            findings.push(Finding::error("role", &err.to_string()));
            return Ok(findings);
        }
    };
    findings.push(of_names(anatomy));
    let granted = grants.or_else(|| table.as_ref().and_then(|table| table.grants.clone()));
    if role == Some(Role::Tool) {
        findings.extend(of_grants(&name, &bench, granted.as_deref()));
    }
    let mut table = table.unwrap_or_default();
    match granted {
        Some(granted) => table.grants = Some(granted),
        None => {
            let PluginConfig { grants, servers, .. } = bench.all_granted();
            (table.grants, table.servers) = (grants, servers);
        }
    }
    // What a guard is not asked about says nothing of it.
    (table.tools, table.effects) = (None, None);
    let limits = table.limits;
    let plugins = bench.load(table.clone()).await?;
    let Some(listed) = plugins.listed().first() else { return Ok(findings) };
    if let Err(cause) = &listed.offers {
        findings.push(Finding::error("load", cause));
        return Ok(findings);
    }
    findings.push(Finding::fine("load", "it loads: exports and imports are the contract's"));
    findings.extend(of_runtime(anatomy));
    let again = bench.load(table).await?;
    findings.extend(match role {
        Some(Role::Tool) => answers::of_tools(&plugins, &again, anatomy),
        Some(Role::Guard) => answers::of_guard(&plugins, limits).await,
        Some(Role::Profile) => answers::of_profiles(&plugins, &again, limits),
        None => Vec::new(),
    });
    Ok(findings)
}

fn of_size(size: usize, role: Role, anatomy: &Anatomy) -> Finding {
    let large = if role == Role::Tool { LARGE_TOOL } else { LARGE_SEALED };
    let what = format!("{}, compiled in {}", figures::size(size), figures::time(anatomy.compiling));
    if size < large {
        return Finding::fine("file", what);
    }
    let mend = "leave out what it does not use, and strip debugging sections (not the names)";
    Finding::advice("file", what, mend)
}

fn of_role(role: Role, version: &str, said: Option<Role>) -> Finding {
    match said {
        Some(said) if said != role => Finding::problem(
            "role",
            format!("`plugin.toml` says `{said}`, the component is a {role}"),
            format!("write `role = \"{role}\"`, or build the world of a {said}"),
        ),
        _ => Finding::fine(
            "role",
            format!("a {role} of contract {version}, this host has {VERSION}"),
        ),
    }
}

fn of_names(anatomy: &Anatomy) -> Finding {
    if anatomy.has_names {
        return Finding::fine("names", "there: a trap names its functions");
    }
    Finding::advice(
        "names",
        "no name section: a trap in it names no functions",
        "keep the names, where the language's tools can: `strip = \"debuginfo\"` in Rust, no `-s` in C",
    )
}

/// What it imports against what it would be granted; what it lacks is told by the load.
fn of_grants(name: &str, bench: &Bench, granted: Option<&[String]>) -> Vec<Finding> {
    let powers = &bench.anatomy.powers;
    let Some(granted) = granted else {
        return vec![match powers.as_slice() {
            [] => Finding::fine("grants", "it needs none"),
            powers => Finding::note(
                "grants",
                format!("it imports {}, and there is no `[plugin.{name}]`", powers.join(", ")),
                format!(
                    "put this under `[plugin.{name}]` when you install it: grants = {powers:?}"
                ),
            ),
        }];
    };
    let idle = granted.iter().filter(|grant| !powers.contains(&grant.as_str()));
    let idle: Vec<&str> = idle.map(String::as_str).collect();
    if idle.is_empty() {
        let shown = if powers.is_empty() { "none".to_owned() } else { powers.join(", ") };
        return vec![Finding::fine("grants", format!("what it imports is granted: {shown}"))];
    }
    vec![Finding::advice(
        "grants",
        format!("granted and not imported: {}", idle.join(", ")),
        format!("grant what it imports: grants = {powers:?}"),
    )]
}

fn of_runtime(anatomy: &Anatomy) -> Option<Finding> {
    let foreign = anatomy.imports.iter().filter(|name| !name.starts_with("harness:")).count();
    (foreign > 0).then(|| {
        Finding::fine("runtime", format!("{foreign} imports of its language's runtime, all inert"))
    })
}
