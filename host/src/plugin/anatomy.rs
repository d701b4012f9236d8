//! What a component file is, read without running any of it: role, imports, names, digest.
//!
//! Compiles it once; what is loaded from here is not compiled again. Judges nothing: what may be
//! loaded is decided in `load`.

use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use wasmparser::{Parser, Payload};
use wasmtime::component::Component;

use super::engine::Engine;
use super::load::{self, LoadError, POWERS, Role};

/// A component file, compiled.
pub struct Anatomy {
    /// Its size, in bytes.
    pub bytes: usize,
    /// What its exports say it is, and the version of the contract they are of; or why that cannot
    /// be told.
    pub role: Result<(Role, String), LoadError>,
    /// Every import, as it is named in the file.
    pub imports: Vec<String>,
    /// Of these, what needs a grant, in the order of [`POWERS`].
    pub powers: Vec<&'static str>,
    /// Core modules in it, and how many of these name their functions.
    pub modules: Named,
    /// How long compiling took.
    pub compiling: Duration,
    pub(super) component: Component,
}

/// Core modules of a component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// All of them.
    pub all: usize,
    /// Those with a name section, from which a trap's functions get their names.
    pub with_names: usize,
}

impl Anatomy {
    /// Compiles `bytes` and reads it.
    ///
    /// # Errors
    ///
    /// When it is no component this host can run.
    pub async fn read(engine: &Engine, bytes: Vec<u8>) -> Result<Anatomy, LoadError> {
        let engine = engine.clone();
        let reading = spawn_blocking(move || Anatomy::read_here(&engine, &bytes)).await;
        reading.unwrap_or_else(|_| Err(LoadError::Link("the compiler panicked".to_owned())))
    }

    fn read_here(engine: &Engine, bytes: &[u8]) -> Result<Anatomy, LoadError> {
        let started = Instant::now();
        let component = load::compile(engine, bytes)?;
        let compiling = started.elapsed();
        let ty = component.component_type();
        let imports: Vec<String> =
            ty.imports(engine.wasmtime()).map(|(name, _)| name.to_owned()).collect();
        let imported = |power: &&str| {
            let of_it = |name: &String| load::ours(name).is_some_and(|(name, _)| name == *power);
            imports.iter().any(of_it)
        };
        let powers = POWERS.into_iter().filter(imported).collect();
        Ok(Anatomy {
            bytes: bytes.len(),
            role: load::read_version(engine, &component),
            imports,
            powers,
            modules: named(bytes),
            compiling,
            component,
        })
    }
}

/// Counts the core modules of a component, and those with a name section.
fn named(bytes: &[u8]) -> Named {
    let mut named = Named::default();
    // Whether the section that comes next is one of a core module, for each nesting.
    let mut in_module = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { .. }) => {
                named.all += 1;
                in_module.push(true);
            }
            Ok(Payload::ComponentSection { .. }) => in_module.push(false),
            Ok(Payload::End(_)) => drop(in_module.pop()),
            Ok(Payload::CustomSection(section)) if section.name() == "name" => {
                named.with_names += usize::from(in_module.last() == Some(&true));
            }
            Ok(_) => {}
            // The engine took it already; what is odd behind that is not for us to say.
            Err(_) => break,
        }
    }
    named
}
