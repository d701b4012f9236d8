//! Guests that misbehave, as components, in a table.
//!
//! Each folder beside this package's `src` is one guest; the build script builds them like the
//! default plugins. Only the integration tests have them: nothing here ships.

/// One guest.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// Its folder.
    pub name: &'static str,
    /// The component.
    pub bytes: &'static [u8],
}

/// Every guest, in the order of the build script's table.
pub const GUESTS: &[Guest] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// The guest in the folder `name`. In a constant, an unknown name does not compile.
pub const fn guest(name: &str) -> Guest {
    let mut at = 0;
    while at < GUESTS.len() {
        if is_same(GUESTS[at].name, name) {
            return GUESTS[at];
        }
        at += 1;
    }
    panic!("there is no such guest")
}

/// `==`, which constants do not have for texts.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
