//! Extended attributes and access lists, carried over to the file that takes another's place.
//!
//! An access list is an extended attribute to the system, so both go the same way. Labels that the
//! system itself sets on every file are left to it.

use cap_std::fs::File;
use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};

/// The most bytes of a list of names and of one value, as the kernel has it.
const MAX_BYTES: usize = 64 * 1024;

/// Attributes of the system's own: they are set by policy, and setting them takes privileges.
const OF_THE_SYSTEM: [&str; 2] = ["security.", "trusted."];

/// Copies what can be copied. Gives the names of those that could not.
pub(super) fn copy(from: &File, to: &File) -> Vec<String> {
    let mut buffer = vec![0; MAX_BYTES];
    // A file system without attributes has none to lose.
    let Ok(len) = flistxattr(from, &mut buffer[..]) else {
        return Vec::new();
    };
    let names = String::from_utf8_lossy(&buffer[..len]).into_owned();
    let is_ours =
        |name: &&str| !name.is_empty() && !OF_THE_SYSTEM.iter().any(|head| name.starts_with(head));
    let mut lost = Vec::new();
    for name in names.split('\0').filter(is_ours) {
        let copied = fgetxattr(from, name, &mut buffer[..])
            .and_then(|len| fsetxattr(to, name, &buffer[..len], XattrFlags::empty()));
        if copied.is_err() {
            lost.push(name.to_owned());
        }
    }
    lost
}
