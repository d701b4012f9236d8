//! A core module becomes a component.
//!
//! What its language's runtime asks of a system is answered inside it, by a module in which nothing is
//! to be found: it imports the contract and no `wasi:` interface.

use harness_starters::INERT_SYSTEM;
use wit_component::ComponentEncoder;

/// How modules name the system they are built for.
const SYSTEM: &str = "wasi_snapshot_preview1";

/// The section of a module that tells the encoder its world.
const WORLD_SECTION: &[u8] = b"component-type";

/// Wraps and validates. A module that asks nothing of a system gets nothing of one.
///
/// # Errors
/// What the module lacks, in the encoder's words.
pub(super) fn wrap(module: &[u8]) -> anyhow::Result<Vec<u8>> {
    encoder(module)?.encode()
}

/// The same for a module that does not say which world it is of.
///
/// # Errors
/// As [`wrap`].
pub(super) fn wrap_go(mut module: Vec<u8>, world: &[u8]) -> anyhow::Result<Vec<u8>> {
    // A section of an author's own: its kind, its length, and its name before what is in it.
    module.push(0);
    let name_bytes = WORLD_SECTION.len();
    push_number(&mut module, 1 + name_bytes + world.len());
    push_number(&mut module, name_bytes);
    module.extend_from_slice(WORLD_SECTION);
    module.extend_from_slice(world);
    // Go's memory is taken by the page: its own allocator may not be ready yet.
    encoder(&module)?.realloc_via_memory_grow(true).encode()
}

fn encoder(module: &[u8]) -> anyhow::Result<ComponentEncoder> {
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true).module(module)?.adapter(SYSTEM, INERT_SYSTEM)?;
    Ok(encoder)
}

/// Seven bits a byte, the lowest first.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    loop {
        let low = (number & 0x7f) as u8;
        number >>= 7;
        if number == 0 {
            return bytes.push(low);
        }
        bytes.push(low | 0x80);
    }
}
