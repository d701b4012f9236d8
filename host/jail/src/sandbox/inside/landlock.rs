//! Landlock: the second wall, and without namespaces the only one.
//!
//! It can only allow, below a directory. So what must not be read is left out by allowing
//! everything beside it, as it is when the session starts.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};

use super::super::Posture;
use super::super::plan::Plan;
use super::step;

/// What must be there: before it, a file could be cut short without the right to write it.
const NEEDED: ABI = ABI::V3;

/// What is used where it is there.
const USED: ABI = ABI::V6;

/// Devices a command may write to.
const DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Puts this process and all it starts behind the wall.
pub(super) fn enter(plan: &Plan) -> Result<(), String> {
    let all = AccessFs::from_all(NEEDED);
    if !is_there() {
        return Err("Landlock is not there, or older than in Linux 6.2".to_owned());
    }
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(all)
        .map(|rules| rules.set_compatibility(CompatLevel::BestEffort));
    // Other commands of the session are behind the same wall and stay within reach.
    let scoped = handled.and_then(|rules| rules.scope(Scope::from_all(USED)));
    let mut rules = step("Landlock", scoped.and_then(Ruleset::create))?;
    let read = AccessFs::from_read(NEEDED);
    if plan.posture == Posture::Full {
        // What is masked is not in the view.
        rules = allow(rules, Path::new("/"), read)?;
        for path in ["/tmp", "/var/tmp", "/dev/shm"] {
            rules = allow(rules, Path::new(path), all)?;
        }
    } else {
        // Disks are there to be read by root.
        let masked: Vec<_> = plan.masked.iter().cloned().chain([PathBuf::from("/dev")]).collect();
        for path in beside(Path::new("/"), &masked) {
            rules = allow(rules, &path, read)?;
        }
        for path in plan.read.iter().flat_map(|path| unmasked(path, &plan.masked)) {
            rules = allow(rules, &path, read)?;
        }
    }
    for device in DEVICES {
        rules = allow(rules, Path::new(device), all)?;
    }
    rules = allow(rules, &plan.tmp, all)?;
    rules = allow(rules, &plan.workspace, all)?;
    for path in plan.write.iter().flat_map(|path| unmasked(path, &plan.masked)) {
        rules = allow(rules, &path, all)?;
    }
    step("Landlock", rules.restrict_self()).map(drop)
}

fn is_there() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let made = ruleset.handle_access(AccessFs::from_all(NEEDED)).and_then(Ruleset::create);
    made.is_ok()
}

/// Allows what makes sense for what is there; nothing, when nothing is.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, String> {
    let Ok(handle) = PathFd::new(path) else {
        return Ok(rules);
    };
    let is_dir = rustix::fs::stat(path)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir());
    let access = if is_dir { access } else { access & AccessFs::from_file(NEEDED) };
    step("Landlock", rules.add_rule(PathBeneath::new(handle, access)))
}

/// What is left of a place that is allowed by its exact name when places in it are masked. Nothing
/// new can be made beside those.
fn unmasked(path: &Path, masked: &[PathBuf]) -> Vec<PathBuf> {
    let within: Vec<_> = masked.iter().filter(|it| *it != path).cloned().collect();
    beside(path, &within)
}

/// What together holds everything below `top` but for `masked`. Links are left out: what they lead
/// to is there by its own name, or masked.
fn beside(top: &Path, masked: &[PathBuf]) -> Vec<PathBuf> {
    if masked.iter().any(|it| it == top) {
        return Vec::new();
    }
    if !masked.iter().any(|it| it.starts_with(top)) {
        return vec![top.to_owned()];
    }
    let Ok(dir) = Dir::open_ambient_dir(top, ambient_authority()) else {
        return Vec::new();
    };
    let entries = dir.entries().into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .flat_map(|entry| beside(&top.join(entry.file_name()), masked))
        .collect()
}
