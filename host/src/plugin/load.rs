//! A component file to a plugin that may be linked: role, version and grants, before any of it runs.
//!
//! The host reads what a component imports and compares it with what it was granted, so that a
//! refusal names the exact line to add. Nothing is linked that was not granted, and guards and
//! profiles are linked to the sink alone whatever they were granted, and to an inert WASI. Every error
//! here is for the person who installed the plugin.

mod link;

use wasmtime::component::{Component, types::ComponentItem};

pub(super) use link::link;

use super::breakage::{Breakage, Cause};
use super::engine::Engine;
use super::source::digest;
use super::wasi;
use crate::servers::Servers;

/// The largest component file.
pub const FILE_BYTES: usize = 64 << 20;

/// The contract's package.
const PACKAGE: &str = "harness:plugin";

/// The version of the contract here.
pub const VERSION: &str = "0.1.0";

/// Interfaces that need a grant.
pub const POWERS: [&str; 5] = ["workspace-read", "workspace-write", "process", "state", FETCH];

/// The power that is granted host by host.
const FETCH: &str = "fetch";

/// Interfaces of the contract that every tool may import.
const FREE: [&str; 3] = ["types", "log", "ambient"];

/// What a plugin does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Acts.
    Tool,
    /// Refuses.
    Guard,
    /// Translates for a provider.
    Profile,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Role::Tool => "tool",
            Role::Guard => "guard",
            Role::Profile => "profile",
        })
    }
}

/// Why a plugin does not load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file could not be read.
    #[error(
        "cannot read `{path}`: {source}\n\
         hint: as it may be a guard, every call is refused until `path` is right or `enabled = false`"
    )]
    Unreadable {
        /// As configured.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The name of a default plugin, or of a guard that was loaded, for something else.
    #[error("a {expected} has this name, and the file is a {role}\nhint: give it another name")]
    OtherRole {
        /// What the name stands for.
        expected: Role,
        /// What the file is.
        role: Role,
    },
    /// No file named, and no such default plugin.
    #[error("no default plugin has this name\nhint: set `plugin.{0}.path` to its component file")]
    Unknown(String),
    /// Another file than the one that was pinned.
    #[error(
        "its file has the digest `{found}`, and `{pinned}` is pinned\n\
         hint: where the new file is trusted, `harness plugin add` pins it"
    )]
    Digest {
        /// In the configuration.
        pinned: String,
        /// Of the file.
        found: String,
    },
    /// Over the cap.
    #[error("the file is {0} bytes, over the limit of {FILE_BYTES}")]
    TooLarge(usize),
    /// Not WebAssembly, or a core module.
    #[error("{0}")]
    NotAComponent(String),
    /// No export of the contract, or several.
    #[error(
        "expected exactly one of the exports `tool`, `guard`, `provider-profile` of {PACKAGE}, \
         found {0}"
    )]
    NoRole(String),
    /// Another version of the contract.
    #[error(
        "needs `{interface}` {needed}, this host has {VERSION}\n\
         hint: rebuild the plugin with the contract in this host's `wit/`"
    )]
    Version {
        /// The interface.
        interface: String,
        /// The version it was built for.
        needed: String,
    },
    /// An import the contract does not have.
    #[error("imports `{0}`, which this host does not offer{hint}", hint = wasi_hint(.0))]
    ForeignImport(String),
    /// A function that came into the contract later.
    #[error(
        "needs `{interface}.{function}` of {needed}, which this host's {VERSION} does not have\n\
         hint: a newer host has it; or build the plugin without it"
    )]
    MissingFunction {
        /// The interface.
        interface: String,
        /// The function.
        function: String,
        /// The version it was built for.
        needed: String,
    },
    /// An import or export whose type is not the contract's.
    #[error(
        "does not fit the contract: {0}\n\
         hint: rebuild the plugin with the contract in this host's `wit/`"
    )]
    Misfit(String),
    /// A power without a grant.
    #[error(
        "imports `{interface}`, which it was not granted\n\
         hint: if you trust it with that, put this under `[plugin.{plugin}]`: grants = {grants}"
    )]
    NotGranted {
        /// The plugin.
        plugin: String,
        /// The interface.
        interface: String,
        /// The whole line's value.
        grants: String,
    },
    /// A guard or a profile that wants a power.
    #[error("a {role} may import the log and nothing else, this one imports `{interface}`")]
    Sealed {
        /// Guard or profile.
        role: Role,
        /// What it imports.
        interface: String,
    },
    /// A grant that is no interface.
    #[error(
        "`{0}` in `grants` is not a power, expected any of `workspace-read`, `workspace-write`, `process`, `state`, `fetch`"
    )]
    UnknownGrant(String),
    /// The power without anybody to ask.
    #[error(
        "granted `fetch`, and no host\n\
         hint: add the hosts under `[plugin.{0}]`: fetch = [\"api.example.org\"]"
    )]
    NoHost(String),
    /// Hosts or credentials without the power.
    #[error(
        "has hosts or credentials to fetch with, and was not granted `fetch`\n\
         hint: add \"fetch\" to `grants` under `[plugin.{0}]`, or leave them out"
    )]
    HostsNotGranted(String),
    /// The engine refused to link it.
    #[error("does not link: {0}")]
    Link(String),
    /// It broke while it was asked what it is.
    #[error("{0}")]
    Broken(Box<Breakage>),
    /// What it says of itself is wrong.
    #[error("{0}")]
    BadDescription(String),
}

impl From<Breakage> for LoadError {
    fn from(breakage: Breakage) -> LoadError {
        match breakage.cause {
            // An export's type is looked at when it is first called.
            Cause::Misfit(misfit) => LoadError::Misfit(misfit),
            _ => LoadError::Broken(Box::new(breakage)),
        }
    }
}

impl LoadError {
    /// What the engine says where types do not fit: which import or export, and how.
    pub(super) fn misfit(err: wasmtime::Error) -> LoadError {
        LoadError::Misfit(format!("{err:#}").replace('\n', " "))
    }
}

fn wasi_hint(import: &str) -> &'static str {
    if import.starts_with("wasi:") { "\nhint: build it for WASI 0.2, or without WASI" } else { "" }
}

/// What a component wants, read from its type.
#[derive(Debug)]
pub(super) struct Shape {
    /// The powers it imports, in the order of [`POWERS`].
    pub(super) powers: Vec<&'static str>,
    /// It brings its language's runtime, which imports WASI.
    pub(super) brings_runtime: bool,
}

/// Compiles `bytes`, which takes tens of milliseconds a megabyte and more, or takes what was compiled
/// before.
pub(super) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Component, LoadError> {
    if bytes.len() > FILE_BYTES {
        return Err(LoadError::TooLarge(bytes.len()));
    }
    if !bytes.starts_with(b"\0asm") {
        let message = "not a component this host can run: the file is no WebAssembly\n\
                       hint: `path` must name a component, a `.wasm` file";
        return Err(LoadError::NotAComponent(message.to_owned()));
    }
    if bytes.starts_with(b"\0asm\x01\0\0\0") {
        let message = "a core WebAssembly module, expected a component\n\
                       hint: wrap it with `wasm-tools component new`";
        return Err(LoadError::NotAComponent(message.to_owned()));
    }
    let digest = digest(bytes);
    if let Some(kept) = engine.cache().and_then(|cache| cache.get(engine.wasmtime(), &digest)) {
        return Ok(kept);
    }
    let component = Component::from_binary(engine.wasmtime(), bytes).map_err(|err| {
        LoadError::NotAComponent(format!("not a component this host can run: {}", err.root_cause()))
    })?;
    if let Some(cache) = engine.cache() {
        cache.put(&digest, &component);
    }
    Ok(component)
}

/// What a component exports says what it is, in whichever version of the contract.
pub(super) fn read_role(engine: &Engine, component: &Component) -> Result<Role, LoadError> {
    let roles: Vec<Role> = roles(engine, component).into_iter().map(|(role, ..)| role).collect();
    match roles.as_slice() {
        [role] => Ok(*role),
        [] => Err(LoadError::NoRole("none".to_owned())),
        several => Err(LoadError::NoRole(several.len().to_string())),
    }
}

/// The same, with the version of the contract it was built for.
pub(super) fn read_version(
    engine: &Engine,
    component: &Component,
) -> Result<(Role, String), LoadError> {
    let role = read_role(engine, component)?;
    let versions = roles(engine, component).into_iter().map(|(.., version)| version);
    Ok((role, versions.collect()))
}

/// Every export that makes a role: the role, its interface, its version.
fn roles(engine: &Engine, component: &Component) -> Vec<(Role, String, String)> {
    let ty = component.component_type();
    let exports = ty.exports(engine.wasmtime()).filter_map(|(name, item)| {
        let (interface, version) = ours(name)?;
        let role = match (interface, item.ty) {
            ("tool", ComponentItem::ComponentInstance(_)) => Role::Tool,
            ("guard", ComponentItem::ComponentInstance(_)) => Role::Guard,
            ("provider-profile", ComponentItem::ComponentInstance(_)) => Role::Profile,
            _ => return None,
        };
        Some((role, interface.to_owned(), version.to_owned()))
    });
    exports.collect()
}

/// What a component of that role wants: versions first, then what it may import at all.
pub(super) fn read_shape(
    engine: &Engine,
    component: &Component,
    role: Role,
) -> Result<Shape, LoadError> {
    for (_, interface, version) in roles(engine, component) {
        check_version(&interface, &version)?;
    }
    let ty = component.component_type();
    let mut imported = Vec::new();
    let mut brings_runtime = false;
    for (name, _) in ty.imports(engine.wasmtime()) {
        if wasi::interface(name).is_some() {
            brings_runtime = true;
            continue;
        }
        let Some((interface, version)) = ours(name) else {
            return Err(LoadError::ForeignImport(name.to_owned()));
        };
        check_version(interface, version)?;
        let sealed = role != Role::Tool && !matches!(interface, "types" | "log");
        if sealed {
            return Err(LoadError::Sealed { role, interface: interface.to_owned() });
        }
        if !FREE.contains(&interface) && !POWERS.contains(&interface) {
            return Err(LoadError::ForeignImport(name.to_owned()));
        }
        imported.push(interface);
    }
    let powers = POWERS.into_iter().filter(|power| imported.contains(power)).collect();
    Ok(Shape { powers, brings_runtime })
}

/// Refuses a power that was not granted, with the whole line that would grant it.
pub(super) fn check_grants(
    plugin: &str,
    shape: &Shape,
    grants: &[String],
) -> Result<(), LoadError> {
    if let Some(unknown) = grants.iter().find(|grant| !POWERS.contains(&grant.as_str())) {
        return Err(LoadError::UnknownGrant(unknown.clone()));
    }
    let missing = shape.powers.iter().find(|power| !grants.iter().any(|grant| grant == *power));
    match missing {
        None => Ok(()),
        Some(interface) => Err(LoadError::NotGranted {
            plugin: plugin.to_owned(),
            interface: (*interface).to_owned(),
            grants: format!("{:?}", shape.powers),
        }),
    }
}

/// A grant of `fetch` names hosts, and hosts need the grant.
pub(super) fn check_servers(
    plugin: &str,
    grants: &[String],
    servers: &Servers,
) -> Result<(), LoadError> {
    let granted = grants.iter().any(|grant| grant == FETCH);
    match granted {
        true if servers.is_empty() => Err(LoadError::NoHost(plugin.to_owned())),
        false if *servers != Servers::default() => {
            Err(LoadError::HostsNotGranted(plugin.to_owned()))
        }
        true | false => Ok(()),
    }
}

/// Interface and version of an import or export of the contract's package.
pub(super) fn ours(name: &str) -> Option<(&str, &str)> {
    let (package, rest) = name.split_once('/')?;
    let (interface, version) = rest.split_once('@')?;
    (package == PACKAGE).then_some((interface, version))
}

/// Before 1.0 the minor number is the one that must be the same.
fn check_version(interface: &str, version: &str) -> Result<(), LoadError> {
    let track = |version: &str| version.rsplit_once('.').map(|(track, _)| track.to_owned());
    if track(version) == track(VERSION) {
        return Ok(());
    }
    Err(LoadError::Version { interface: interface.to_owned(), needed: version.to_owned() })
}
