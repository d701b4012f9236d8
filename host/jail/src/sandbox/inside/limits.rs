//! What a process may use, and may do: limits that can only be lowered, and no capability.

use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::super::Limits;
use super::step;

/// Memory and processes are bounded by the server, from outside.
pub(super) fn set(limits: &Limits) -> Result<(), String> {
    for (what, resource, limit) in [
        ("a limit on processor time", Resource::Cpu, limits.cpu_seconds),
        ("a limit on file sizes", Resource::Fsize, limits.file_bytes),
        ("no core dumps", Resource::Core, 0),
    ] {
        // A machine may have set less already, and more is not ours to give.
        let highest = rustix::process::getrlimit(resource).maximum;
        let limit = highest.map_or(limit, |highest| highest.min(limit));
        let both = Rlimit { current: Some(limit), maximum: Some(limit) };
        step(what, setrlimit(resource, both))?;
    }
    Ok(())
}

/// Gives up every capability, and that a program could bring any back.
pub(super) fn drop_capabilities() -> Result<(), String> {
    step("no new privileges", set_no_new_privs(true))?;
    let _ = clear_ambient_capability_set();
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            // Without the right to, or where the system knows no such capability.
            Ok(()) | Err(rustix::io::Errno::PERM | rustix::io::Errno::INVAL) => {}
            Err(err) => return Err(format!("to drop capabilities: {err}")),
        }
    }
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    step("to drop capabilities", set_capabilities(None, none))
}
