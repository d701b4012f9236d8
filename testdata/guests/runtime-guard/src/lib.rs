//! Test guest: a guard that imports WASI, as a language's runtime does, and asks it for what the path
//! of a call names. What it is told stands in its denial.
//!
//! Each interface is declared as far as it is used, and one of them is nobody's.

#![allow(unsafe_code, reason = "what the generated macro exports is unsafe code")]

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    reason = "generated code; the contract documents itself"
)]
mod contract {
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package test:runtime;

            world runtime-guard {
                include harness:plugin/guard-plugin@0.1.0;
                import wasi:cli/environment@0.2.3;
                import wasi:cli/exit@0.2.3;
                import wasi:cli/stderr@0.2.3;
                import wasi:clocks/monotonic-clock@0.2.3;
                import wasi:random/random@0.2.3;
                import wasi:filesystem/types@0.2.3;
                import wasi:sockets/instance-network@0.2.3;
                import wasi:moon/phase@0.2.3;
            }

            package wasi:io@0.2.3 {
                interface poll { resource pollable { block: func(); } }
                interface streams {
                    use poll.{pollable};
                    resource output-stream { subscribe: func() -> pollable; }
                }
            }
            package wasi:cli@0.2.3 {
                interface environment {
                    get-environment: func() -> list<tuple<string, string>>;
                    get-arguments: func() -> list<string>;
                    initial-cwd: func() -> option<string>;
                }
                interface exit { exit: func(status: result); }
                interface stderr {
                    use wasi:io/streams@0.2.3.{output-stream};
                    get-stderr: func() -> output-stream;
                }
            }
            package wasi:clocks@0.2.3 {
                interface monotonic-clock {
                    use wasi:io/poll@0.2.3.{pollable};
                    now: func() -> u64;
                    subscribe-duration: func(when: u64) -> pollable;
                }
            }
            package wasi:random@0.2.3 {
                interface random {
                    get-random-bytes: func(len: u64) -> list<u8>;
                    get-random-u64: func() -> u64;
                }
            }
            package wasi:filesystem@0.2.3 {
                interface types { remove-everything: func(path: string) -> result; }
            }
            package wasi:sockets@0.2.3 {
                interface instance-network {
                    resource network;
                    instance-network: func() -> network;
                }
            }
            package wasi:moon@0.2.3 {
                interface phase { is-full: func() -> bool; }
            }
        ",
        world: "test:runtime/runtime-guard",
        generate_all,
    });
}

use contract::exports::harness::plugin::guard::{Denial, Guest, Proposal};
use contract::wasi::cli::{environment, exit, stderr};
use contract::wasi::clocks::monotonic_clock;
use contract::wasi::filesystem::types;
use contract::wasi::moon::phase;
use contract::wasi::random::random;
use contract::wasi::sockets::instance_network;

/// The component.
pub struct Asking;

impl Guest for Asking {
    fn earlier() -> u32 {
        0
    }

    fn check(proposal: Proposal) -> Option<Denial> {
        let told = ask(&proposal.config);
        Some(Denial { rule: "told".to_owned(), reason: told })
    }
}

/// Asks for the first of these words that the configuration holds.
fn ask(config: &str) -> String {
    let is = |word: &str| config.contains(word);
    if is("surroundings") {
        let (variables, arguments) = (environment::get_environment(), environment::get_arguments());
        format!("{variables:?} {arguments:?} {:?}", environment::initial_cwd())
    } else if is("wait") {
        let start = monotonic_clock::now();
        monotonic_clock::subscribe_duration(3_600_000_000_000).block();
        stderr::get_stderr().subscribe().block();
        format!("waited {} ms", (monotonic_clock::now() - start) / 1_000_000)
    } else if is("chance") {
        let bytes = random::get_random_bytes(4);
        format!("{bytes:?} {}", random::get_random_u64())
    } else if is("greed") {
        format!("{}", random::get_random_bytes(1 << 40).len())
    } else if is("hoard") {
        let held: Vec<_> = (0..100_000).map(|_| stderr::get_stderr()).collect();
        format!("holds {}", held.len())
    } else if is("give-back") {
        let held = (0..100_000).map(|_| drop(stderr::get_stderr())).count();
        format!("held {held}")
    } else if is("exit-well") {
        exit::exit(Ok(()));
        String::new()
    } else if is("exit-badly") {
        exit::exit(Err(()));
        String::new()
    } else if is("files") {
        format!("{:?}", types::remove_everything("/"))
    } else if is("network") {
        drop(instance_network::instance_network());
        "a network".to_owned()
    } else {
        format!("full: {}", phase::is_full())
    }
}

#[cfg(target_arch = "wasm32")]
contract::export!(Asking with_types_in contract);
