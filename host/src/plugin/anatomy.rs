//! What a component file is, read without running any of it: role, imports, names, digest.
//!
//! Compiles it once; what is loaded from here is not compiled again. Judges nothing: what may be
//! loaded is decided in `load`.

use std::time::{Duration, Instant};

use bytes::Bytes;
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
    /// It names its functions, so that a trap can.
    pub has_names: bool,
    /// How long compiling took.
    pub compiling: Duration,
    pub(super) file: Bytes,
    pub(super) component: Component,
}

impl Anatomy {
    /// Compiles `bytes` and reads it.
    ///
    /// # Errors
    ///
    /// When it is no component this host can run.
    pub async fn read(engine: &Engine, bytes: Vec<u8>) -> Result<Anatomy, LoadError> {
        let engine = engine.clone();
        let reading = spawn_blocking(move || Anatomy::read_here(&engine, bytes)).await;
        reading.unwrap_or_else(|_| Err(LoadError::Link("the compiler panicked".to_owned())))
    }

    fn read_here(engine: &Engine, bytes: Vec<u8>) -> Result<Anatomy, LoadError> {
        let started = Instant::now();
        let component = load::compile(engine, &bytes)?;
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
            has_names: has_names(&bytes),
            compiling,
            file: bytes.into(),
            component,
        })
    }
}

/// Whether the largest core module has a name section: it is the plugin's own code, while the small
/// ones around it are adapters.
fn has_names(bytes: &[u8]) -> bool {
    // What is open now, the innermost last: the size of a module, None for a component.
    let mut open = Vec::new();
    let (mut largest, mut named) = (0, false);
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::ModuleSection { unchecked_range, .. }) => {
                let size = unchecked_range.len();
                open.push(Some(size));
                if size > largest {
                    (largest, named) = (size, false);
                }
            }
            Ok(Payload::ComponentSection { .. }) => open.push(None),
            Ok(Payload::End(_)) => drop(open.pop()),
            Ok(Payload::CustomSection(section)) if section.name() == "name" => {
                named |= open.last() == Some(&Some(largest));
            }
            Ok(_) => {}
            // The engine took it already; what is odd behind that is not for us to say.
            Err(_) => break,
        }
    }
    named
}
