//! The golden guard in Rust: refuses writes below `protected-rust/`.
//!
//! A path `break-rust/WORD` makes it misbehave the way WORD says, for the tests of what is told of a
//! guard that breaks.

use std::hint::black_box;

use harness_sdk::{Denial, Guard, Input, Proposal, export_guard, log};

/// The component.
pub struct Protect;

export_guard!(Protect);

impl Guard for Protect {
    fn check(proposal: Proposal) -> Option<Denial> {
        let input = Input::parse(&proposal.call.input).expect("the input is an object");
        let (folder, word) = input.text("path").ok()?.split_once('/')?;
        match folder {
            "break-rust" => misbehave(word),
            "protected-rust" => {
                Some(Denial::new("protected", "nothing below `protected-rust/` is written to"))
            }
            _ => None,
        }
    }
}

#[inline(never)]
fn misbehave(word: &str) -> Option<Denial> {
    match word {
        "panic" => panic!("the guard was told to panic"),
        "loop" => loop {
            black_box(0);
        },
        "memory" => {
            let mut held = Vec::new();
            loop {
                held.push(black_box(vec![1_u8; 1 << 20]));
            }
        }
        "recurse" => {
            black_box(deeper(0));
        }
        "data" => return Some(Denial::new("long", "long ".repeat(500_000))),
        "data-to-the-log" => log::write(log::Level::Info, &"long ".repeat(500_000)),
        unknown => panic!("`{unknown}` is nothing this guard can do"),
    }
    None
}

#[inline(never)]
#[expect(unconditional_recursion, reason = "that is the misbehaviour")]
fn deeper(depth: u64) -> u64 {
    black_box(deeper(black_box(depth + 1))) + 1
}
