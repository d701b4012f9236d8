//! The flags every configured command has, and the layers they stand on.
//!
//! Reads the file and the environment, checks the whole, and says all that is wrong at once, with
//! no secret in it. The file is the one that was named, or the one in the configuration
//! directory: never one of a workspace or of the directory somebody happens to be in.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;

use super::{boot, environment};
use crate::config::{Config, Found, Layers, Problem, Settings};

/// The largest configuration file.
const CONFIG_BYTES: u64 = 1 << 20;

/// Flags of every command that has a configuration. A flag wins over the environment, the
/// environment over the file. A path that is not absolute starts at the current directory.
#[derive(Args, Clone, Default)]
pub(crate) struct Configured {
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where to listen: an IP:PORT
    #[arg(long)]
    addr: Option<String>,
    /// Let other machines reach the server; needs server.tokens
    #[arg(long)]
    allow_non_loopback: bool,
    /// The upstream, up to and without /chat/completions
    #[arg(long, value_name = "URL")]
    upstream_base_url: Option<String>,
    /// The model to ask when a request names none
    #[arg(long, value_name = "MODEL")]
    upstream_model: Option<String>,
    /// The provider profile
    #[arg(long)]
    profile: Option<String>,
    /// Parent of fresh workspaces
    #[arg(long, value_name = "DIR")]
    workspace_root: Option<String>,
    /// Where the ledger and other state lie
    #[arg(long, value_name = "DIR")]
    state_dir: Option<String>,
    /// Write a line for each command, denial and request turned away into this file
    #[arg(long, value_name = "FILE")]
    audit_log: Option<String>,
    /// error, warn, info, debug, trace, off, or a filter [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
}

impl Configured {
    /// The flags of a command that looks for the state directory alone.
    pub(super) fn of_state(config: Option<PathBuf>, state_dir: Option<String>) -> Configured {
        Configured { config, state_dir, ..Configured::default() }
    }
}

impl Configured {
    /// The flags of a command that tries one plugin out. No model is asked, so that a configuration
    /// without an upstream will do.
    pub(super) fn without_upstream(config: Option<PathBuf>) -> Configured {
        let upstream_base_url = Some("http://127.0.0.1:9".to_owned());
        Configured { config, upstream_base_url, ..Configured::default() }
    }
}

/// A configuration that was checked, with the environment it came from.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) environment: Vec<(String, String)>,
    /// What is odd about it and changes nothing.
    pub(crate) warnings: Vec<Problem>,
    /// Where a configuration lies or may lie: nothing that commands should see.
    pub(crate) own_files: Vec<PathBuf>,
}

/// Reads every layer and checks the whole.
pub(super) fn load(flags: &Configured) -> anyhow::Result<Loaded> {
    let (settings, environment) = settings(flags)?;
    match settings.check() {
        Ok(config) => {
            let own_files = own_files(flags, &environment);
            Ok(Loaded { config, environment, warnings: settings.warnings().to_vec(), own_files })
        }
        Err(problems) => Err(refused(&settings, &problems, &environment)),
    }
}

/// The layers as they are, for commands that need only some of them to be right.
pub(super) fn sound_layers(
    flags: &Configured,
) -> anyhow::Result<(Settings, Vec<(String, String)>)> {
    let (settings, environment) = settings(flags)?;
    match settings.problems() {
        [] => Ok((settings, environment)),
        problems => Err(refused(&settings, problems, &environment)),
    }
}

/// Every problem and every warning, one a line, without secrets.
fn refused(
    settings: &Settings,
    problems: &[Problem],
    environment: &[(String, String)],
) -> anyhow::Error {
    let count = problems.len();
    let mut text = format!("the configuration has {count} problem(s):");
    for problem in problems {
        text += &format!("\n  {problem}");
    }
    for warning in settings.warnings() {
        text += &format!("\nwarning: {warning}");
    }
    // A secret may have been given for something else.
    anyhow!(boot::redactor(settings.secrets(), environment).redact_owned(text))
}

/// Reads every layer.
pub(super) fn settings(flags: &Configured) -> anyhow::Result<(Settings, Vec<(String, String)>)> {
    let environment = environment();
    let file = match (&flags.config, default_file(&environment)) {
        (Some(path), _) => Some(read_config(path)?),
        (None, Some(path)) if path.exists() => Some(read_config(&path)?),
        _ => None,
    };
    let directory = match (&flags.config, default_file(&environment)) {
        (Some(path), _) => std::path::absolute(path).ok().and_then(|path| parent(&path)),
        (None, path) => path.and_then(|path| parent(&path)),
    };
    let found = directory.map_or(Ok(Vec::new()), |directory| found_in(&directory))?;
    let flag = |key: &'static str, value: &Option<String>| Some((key, value.clone()?));
    let path = |key: &'static str, value: &Option<String>| Some((key, absolute(value.as_ref()?)));
    let flags = [
        flag("server.addr", &flags.addr),
        flags.allow_non_loopback.then(|| ("server.allow_non_loopback", "true".to_owned())),
        flag("upstream.base_url", &flags.upstream_base_url),
        flag("upstream.model", &flags.upstream_model),
        flag("upstream.profile", &flags.profile),
        path("workspace.root", &flags.workspace_root),
        path("state.dir", &flags.state_dir),
        path("log.audit", &flags.audit_log),
        flag("log.level", &flags.log_level),
        flag("log.format", &flags.log_format),
    ];
    let flags = flags.into_iter().flatten().collect();
    let layers = Layers { file, environment: environment.clone(), flags, found };
    Ok((Settings::merge(&layers), environment))
}

/// The configuration file that was named, or the one that is looked for; it may not be there.
pub(super) fn file_of(config: Option<&Path>) -> anyhow::Result<PathBuf> {
    match config {
        Some(path) => Ok(std::path::absolute(path)?),
        None => default_file(&environment()).context(
            "there is nowhere to look for a configuration\n\
             hint: name one with `--config FILE`",
        ),
    }
}

/// What that file would be read as with this text, and with these plugins beside it. Flags are left
/// out, and what only a server needs is not missed.
pub(super) fn sound_text(
    file: &Path,
    text: Option<&str>,
    found: &[(Found, PathBuf)],
) -> anyhow::Result<Settings> {
    let environment = environment();
    let file = text.map(|text| (file.display().to_string(), text.to_owned()));
    let layers = Layers { file, environment, flags: Vec::new(), found: found.to_vec() };
    let settings = Settings::merge(&layers);
    match settings.problems() {
        [] => Ok(settings),
        problems => Err(refused(&settings, problems, &layers.environment)),
    }
}

/// The plugins that lie beside the configuration file.
pub(super) fn found_in(directory: &Path) -> anyhow::Result<Vec<(Found, PathBuf)>> {
    let mut found = Vec::new();
    for (place, name, endings) in [
        (Found::Plugins, "plugins", &["wasm"][..]),
        (Found::Profiles, "profiles", &["wasm", "toml"]),
    ] {
        let directory = directory.join(name);
        let files = harness_jail::files_in(&directory);
        let files = files.with_context(|| format!("cannot list `{}`", directory.display()))?;
        let is_plugin = |path: &PathBuf| {
            let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
            ending.is_some_and(|ending| endings.contains(&ending.as_str()))
        };
        found.extend(files.into_iter().filter(is_plugin).map(|path| (place, path)));
    }
    Ok(found)
}

/// The configuration file, the directory it is looked for in, and those of plugins beside it.
pub(super) fn own_files(flags: &Configured, environment: &[(String, String)]) -> Vec<PathBuf> {
    let default = default_file(environment);
    let directory = default.as_ref().and_then(|file| parent(file));
    let named = flags.config.as_ref().and_then(|file| std::path::absolute(file).ok());
    let beside = named.iter().chain(&default).filter_map(|file| parent(file));
    let beside = beside.flat_map(|place| [place.join("plugins"), place.join("profiles")]);
    let beside: Vec<PathBuf> = beside.collect();
    directory.into_iter().chain(named).chain(beside).collect()
}

fn parent(file: &Path) -> Option<PathBuf> {
    file.parent().map(Path::to_owned)
}

/// A path of a flag; one that is not absolute starts at the current directory.
fn absolute(text: &str) -> String {
    if text.is_empty() || text.starts_with("~/") {
        return text.to_owned();
    }
    // Without a current directory it stays as it is, and is told as not absolute.
    std::path::absolute(text).map_or_else(|_| text.to_owned(), |path| path.display().to_string())
}

pub(super) fn read_config(path: &Path) -> anyhow::Result<(String, String)> {
    let shown = path.display().to_string();
    let bytes = match harness_jail::read_capped(path, CONFIG_BYTES) {
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            return Err(anyhow!(
                "there is no configuration file `{shown}`\n\
                 hint: `--config` must name one that exists; without it `harness.toml` in \
                 $XDG_CONFIG_HOME/harness is read, if there is one"
            ));
        }
        read => read.with_context(|| format!("cannot read the configuration file `{shown}`"))?,
    };
    let text = String::from_utf8(bytes)
        .with_context(|| format!("the configuration file `{shown}` is not UTF-8"))?;
    Ok((shown, text))
}

fn default_file(environment: &[(String, String)]) -> Option<PathBuf> {
    let value = |wanted: &str| {
        let found = environment.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
    };
    let home = value("XDG_CONFIG_HOME").or_else(|| Some(value("HOME")?.join(".config")))?;
    Some(home.join("harness").join("harness.toml"))
}

/// Whether there is a configuration file that says anything.
pub(super) fn has_file(flags: &Configured) -> bool {
    let file = flags.config.clone().or_else(|| default_file(&environment()));
    let text = file.and_then(|file| harness_jail::read_capped(&file, CONFIG_BYTES).ok());
    text.is_some_and(|text| !text.trim_ascii().is_empty())
}

/// Every file that says which plugins are in force: the configuration, and the plugins' own.
pub(super) fn plugin_files(flags: &Configured) -> Vec<PathBuf> {
    let environment = environment();
    let file = flags.config.clone().or_else(|| default_file(&environment));
    // Where it is not sound, its own change is what will mend it.
    let named = settings(flags).map(|(settings, _)| {
        settings.plugins().values().filter_map(|plugin| plugin.path.clone()).collect::<Vec<_>>()
    });
    file.into_iter().chain(named.unwrap_or_default()).collect()
}
