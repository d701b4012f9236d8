//! What is told of a plugin that does not fit or breaks, to the person who mends it.
//!
//! A component of a newer contract is made here out of one of today's: its names say another version,
//! and a function has a name that this host never heard of.

use harness_guests::Guest;

use super::misbehave_tool::{self, GRANTS};
use super::{IS_REFUSED_A_FILE, list, misbehave_guard, runtime_guard, start, write_a_file};

/// `guest` with every `from` in it replaced by a `to` that is as long.
fn altered(guest: Guest, replacements: &[(&str, &str)]) -> Guest {
    let mut bytes = guest.bytes.to_vec();
    for (from, to) in replacements {
        assert_eq!(from.len(), to.len());
        let places: Vec<usize> = (0..bytes.len() - from.len())
            .filter(|at| bytes[*at..].starts_with(from.as_bytes()))
            .collect();
        assert!(!places.is_empty(), "there is no `{from}` in `{}`", guest.name);
        for at in places {
            bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
    }
    Guest { name: "altered", bytes: bytes.leak() }
}

#[test]
fn what_does_not_fit_is_named() {
    let check = |guest: Guest, keys: &str, says: &str| {
        let (ok, out) = list(guest, keys);
        let says = format!("DOES NOT LOAD: {}", says.replace('\n', "\n    "));
        assert!(!ok && out.contains(&says), "no `{says}` in\n{out}");
    };
    let newer = ("@0.1.0", "@0.1.7");
    check(
        altered(misbehave_tool::GUEST, &[newer, ("progress", "applause")]),
        GRANTS,
        "needs `log.applause` of 0.1.7, which this host's 0.1.0 does not have\n\
         hint: a newer host has it; or build the plugin without it",
    );
    check(
        altered(misbehave_guard::GUEST, &[("@0.1.0", "@0.2.0")]),
        "",
        "needs `guard` 0.2.0, this host has 0.1.0\n\
         hint: rebuild the plugin with the contract in this host's `wit/`",
    );
    // A flag or a case of another name is another type: of an export, and of an import.
    check(
        altered(misbehave_guard::GUEST, &[("network", "netwerk")]),
        "",
        "does not fit the contract: expected flag named network, found netwerk\n\
         hint: rebuild the plugin with the contract in this host's `wit/`",
    );
    check(
        altered(misbehave_guard::GUEST, &[("debug", "dubeg")]),
        "",
        "does not fit the contract: component imports instance `harness:plugin/log@0.1.0`",
    );
    check(
        altered(runtime_guard::GUEST, &[("@0.2.3", "@0.3.0")]),
        "",
        "imports `wasi:cli/environment@0.3.0`, which this host does not offer\n\
         hint: build it for WASI 0.2, or without WASI",
    );
}

#[test]
fn a_newer_plugin_loads_when_it_uses_nothing_new() {
    let newer = [("@0.1.0", "@0.1.7")];
    let rows = [(misbehave_tool::GUEST, GRANTS), (misbehave_guard::GUEST, "")];
    for (guest, keys) in rows {
        let (ok, out) = list(altered(guest, &newer), keys);
        assert!(ok, "{out}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_where_a_guard_broke_and_what_it_had_used() {
    let rows = [
        ("panic", " MiB of memory: ", "it panicked: panicked at"),
        ("recurse", "in `misbehave_guard::deeper`", "in `misbehave_guard::deeper` again and again"),
        ("memory", " 64 MiB of memory", "it needed more than 64 MiB of memory"),
    ];
    for (what, place, says) in rows {
        let keys = format!("config = {{ do = \"{what}\" }}");
        let rig = start(IS_REFUSED_A_FILE, misbehave_guard::GUEST, &keys).await;
        write_a_file(&rig).await;
        let log = rig.log();
        let broke = "plugin `mine` broke in `check` after ";
        let line = log.lines().find(|line| line.contains(broke)).unwrap();
        for says in [" million instructions and ", " MiB of memory", place, says] {
            assert!(line.contains(says), "`{what}`: no `{says}` in {line}");
        }
    }
}
