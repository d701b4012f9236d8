//! What lies on this machine: settings, directories, the ledger, plugins, programs.

use std::io::ErrorKind;
use std::path::Path;

use harness_jail::{PrivateDir, directories_in, ensure_directory, find_program, look_at_directory};

use super::super::plugin::load_for_listing;
use super::super::temporary;
use super::Finding;
use crate::config::{Config, Origin, Settings};
use crate::containment::Containment;
use crate::error::with_causes;
use crate::ledger::{Standing, standing};
use crate::places::Places;
use crate::plugin::Engine;

/// Free bytes below which a server will soon be unable to write.
const LITTLE_BYTES: u64 = 1 << 30;

/// How many settings came from where.
pub(super) fn configuration(settings: &Settings) -> Finding {
    let (mut file, mut from_file, mut from_environment, mut from_flags) = (None, 0, 0, 0);
    for (_, setting) in settings.iter() {
        match setting.map(|setting| &setting.origin) {
            Some(Origin::File(name)) => {
                file = Some(name.clone());
                from_file += 1;
            }
            Some(Origin::Environment(_)) => from_environment += 1,
            Some(Origin::Flag) => from_flags += 1,
            Some(Origin::Default) | None => {}
        }
    }
    let file = file.map_or("no file".to_owned(), |name| format!("{from_file} from file {name}"));
    Finding::ok(format!(
        "settings: {file}, {from_environment} from the environment, {from_flags} from flags"
    ))
}

/// The state directory, and the parent of fresh workspaces.
pub(super) fn state(config: &Config) -> Finding {
    let shown = config.state_dir.display();
    if let Err(err) = Places::check(&config.state_dir, config.workspace_root.as_deref()) {
        return Finding::problem(with_causes(&err));
    }
    if let Some(finding) = missing(config) {
        return finding;
    }
    match look_at_directory(&config.state_dir) {
        Err(err) => Finding::problem(format!("directory `{shown}`: {err}")),
        Ok(found) if !found.is_writable => {
            Finding::problem(format!("directory `{shown}` cannot be written to; set `state.dir`"))
        }
        Ok(found) => {
            let state = if found.exists { "private" } else { "will be made" };
            let free = found.free_bytes >> 20;
            let what = format!("directory `{shown}`: {state}, {free} MiB free");
            match found.free_bytes < LITTLE_BYTES {
                true => Finding::warning(format!("{what}; make room")),
                false => Finding::ok(what),
            }
        }
    }
}

/// What is named in the configuration and has to be there, and is not.
fn missing(config: &Config) -> Option<Finding> {
    let mut roots = config.workspace_roots.iter();
    if let Some(root) = roots.find(|root| directories_in(root).is_err()) {
        let what = format!("`workspace.roots`: there is no directory `{}`", root.display());
        return Some(Finding::problem(what));
    }
    if let Some(root) = &config.workspace_root
        && let Err(err) = directories_in(root)
        && err.kind() != ErrorKind::NotFound
    {
        return Some(Finding::problem(format!("`workspace.root`, `{}`: {err}", root.display())));
    }
    let parent = config.audit_log.as_deref().and_then(Path::parent)?;
    let what = format!("`log.audit`: there is no directory `{}`", parent.display());
    directories_in(parent).is_err().then(|| Finding::problem(what))
}

/// The ledger, and whether a running server has it.
pub(super) fn ledger(config: &Config) -> (Finding, bool) {
    let path = Places::ledger_in(&config.state_dir);
    let shown = path.display();
    match standing(&path) {
        Ok(Standing::Absent) => (Finding::ok(format!("`{shown}` will be made")), false),
        Ok(Standing::Free) => (Finding::ok(format!("`{shown}` can be opened")), false),
        Ok(Standing::InUse(process)) => {
            let process = process.map(|id| format!(", process {id}")).unwrap_or_default();
            let what = format!(
                "a running server has `{shown}`{process}; another one needs a `state.dir` of its own"
            );
            (Finding::warning(what), true)
        }
        Err(err) => (Finding::problem(with_causes(&err)), false),
    }
}

/// Every plugin that does not load, and the profile that is chosen.
pub(super) async fn plugins(
    engine: &Engine,
    config: &Config,
    environment: &[(String, String)],
) -> Vec<(&'static str, Finding)> {
    let plugins = match load_for_listing(engine, &config.plugins, environment).await {
        Ok(plugins) => plugins,
        Err(err) => return vec![("plugins", Finding::problem(format!("{err:#}")))],
    };
    let mut findings = Vec::new();
    for listed in plugins.listed() {
        let Err(cause) = &listed.offers else { continue };
        let what = format!("`{}` does not load: {cause}", listed.name);
        let is_ours = super::boot::is_unchanged(&config.plugins, &listed.name);
        let finding = if is_ours { Finding::problem(what) } else { Finding::warning(what) };
        findings.push(("plugins", finding));
    }
    if findings.is_empty() {
        let what = format!("all {} load", plugins.listed().len());
        findings.push(("plugins", Finding::ok(what)));
    }
    let upstream = &config.upstream;
    let model = upstream.model.as_deref().unwrap_or_default();
    let chosen = plugins.profile(upstream.profile.as_deref(), &upstream.base_url, model);
    findings.push((
        "profile",
        match chosen {
            Ok(profile) => {
                let how = upstream.profile.as_ref().map_or("by URL and model", |_| "as set");
                Finding::ok(format!("`{}`, chosen {how}", profile.name))
            }
            Err(problem) => Finding::problem(format!("upstream.profile: {problem}")),
        },
    ));
    findings
}

/// The programs that commands are run by, and hardly ever without.
pub(super) fn programs(environment: &[(String, String)]) -> Vec<(&'static str, Finding)> {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map(|(_, path)| path.as_str()).unwrap_or_default();
    let look = |program: &'static str, without: &str| match find_program(program, path) {
        Some(found) => (program, Finding::ok(found.display().to_string())),
        None => (program, Finding::warning(format!("not in `PATH`: {without}"))),
    };
    vec![look("bash", "no command can be run"), look("git", "models will miss it")]
}

/// What keeps a command within bounds.
pub(super) fn containment(config: &Config, environment: &[(String, String)]) -> Finding {
    let shell = config.plugins.get("shell").and_then(|plugin| plugin.enabled);
    if shell == Some(false) {
        return Finding::ok("no commands are run: `shell.enabled` is `false`");
    }
    match found(config, environment) {
        Ok(containment) => match containment.summary() {
            (summary, true) => Finding::ok(summary),
            (summary, false) => Finding::warning(summary),
        },
        Err(problem) => Finding::problem(problem),
    }
}

/// Tries the walls out in a directory that is gone afterwards.
fn found(config: &Config, environment: &[(String, String)]) -> Result<Containment, String> {
    let place = temporary("walls");
    let made = PrivateDir::open(&place)
        .and_then(|dir| ensure_directory(&place).map(|path| (dir, path)))
        .map_err(|err| format!("no directory to try the walls out in: {err}"));
    let (directory, path) = made?;
    let home = environment.iter().find(|(name, _)| name == "HOME");
    let home = home.map(|(_, home)| Path::new(home));
    let found = Containment::find(&config.shell, home, Vec::new(), &path);
    // Nothing of it matters any more.
    let _ = directory.remove_tree();
    found.map_err(|err| with_causes(&err))
}
