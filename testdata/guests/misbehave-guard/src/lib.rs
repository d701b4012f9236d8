//! Test guest: a guard that does what `do` in its configuration says.
//!
//! Every way in which a guard can fail is one word; a word it does not know is a panic.

use std::hint::black_box;

use harness_sdk::{Denial, Guard, Input, Proposal, export_guard, log};

const MIB: usize = 1 << 20;

/// More lines than a call may log.
const FLOOD_LINES: u32 = 5_000;

/// The component.
pub struct Misbehave;

export_guard!(Misbehave);

impl Guard for Misbehave {
    fn check(proposal: Proposal) -> Option<Denial> {
        let config = Input::parse(&proposal.config).expect("the configuration is an object");
        let what = config.text("do").expect("`do` is in the configuration");
        match what {
            "pass" => None,
            "deny" => Some(Denial::new("no-calls", "this guard denies; answer without a call")),
            "panic" => panic!("the guard was told to panic"),
            "loop" => loop {
                black_box(0);
            },
            "memory" => grow(),
            "recurse" => {
                black_box(deeper(0));
                None
            }
            "huge-reason" => Some(Denial::new("huge", "long ".repeat(MIB / 5))),
            "huge-rule" => Some(Denial::new("r".repeat(MIB), "the rule's name is long")),
            "log-flood" => {
                flood();
                None
            }
            "panic-after-flood" => {
                flood();
                panic!("the last words after a flood")
            }
            unknown => panic!("`{unknown}` is nothing this guard can do"),
        }
    }
}

fn grow() -> ! {
    let mut held = Vec::new();
    loop {
        held.push(black_box(vec![1_u8; MIB]));
    }
}

#[expect(unconditional_recursion, reason = "that is the misbehaviour")]
fn deeper(depth: u64) -> u64 {
    black_box(deeper(black_box(depth + 1))) + 1
}

fn flood() {
    for line in 0..FLOOD_LINES {
        log::write(log::Level::Info, &format!("flood line {line}"));
    }
}
