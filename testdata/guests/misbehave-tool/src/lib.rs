//! Test guest: one component with a tool for every way in which a tool can misbehave.
//!
//! None declares an effect beyond `read`, whatever it does. The configuration makes the
//! description itself misbehave: `offer` adds a tool of that name, `schema` is its input schema,
//! and `specs = "panic"` breaks before anything is offered.

mod reach;
mod say;

use std::hint::black_box;

use harness_sdk::{
    Call, Effects, Fault, Input, Outcome, Spec, Tool, ambient, export_tool, fault, outcome,
};

const MIB: usize = 1 << 20;

/// Any object.
const ANYTHING: &str = r#"{"type":"object"}"#;

/// The time-out of `loop`, which nothing else ends.
const SHORT_MS: u32 = 300;

const LONG_MS: u32 = 20_000;

/// The time-out of `hang`, longer than any test: somebody else ends it.
const ENDLESS_MS: u32 = 600_000;

/// The component.
pub struct Misbehave;

export_tool!(Misbehave);

impl Tool for Misbehave {
    fn specs() -> Vec<Spec> {
        let config = Input::parse(&ambient::config()).expect("the configuration is an object");
        let text = |name| config.optional_text(name).expect("a text in the configuration");
        if text("specs") == Some("panic") {
            panic!("told to panic instead of saying what there is");
        }
        let names = [
            "panic",
            "loop",
            "hang",
            "memory",
            "recurse",
            "big",
            "fault",
            "sneak-write",
            "sneak-run",
            "progress",
            "keep",
            "bad-image",
            "talkative",
        ];
        let mut specs: Vec<Spec> = names.into_iter().map(|name| spec(name, ANYTHING)).collect();
        if let Some(name) = text("offer") {
            specs.push(spec(name, text("schema").unwrap_or(ANYTHING)));
        }
        specs
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        match call.tool.as_str() {
            "panic" => panic!("the tool was told to panic"),
            "loop" => hang(),
            // At once where `keep` was not called in the session before.
            "hang" if reach::is_kept() => hang(),
            "hang" => Ok(outcome("nothing is kept yet", "nothing")),
            "memory" => grow(),
            "recurse" => Ok(outcome(black_box(deeper(0)).to_string(), "came back")),
            "big" => Ok(outcome(say::big(), "very much")),
            "fault" => Err(fault::unsupported("this tool only fails").hint("do not call it")),
            "sneak-write" => reach::write(Input::parse(&call.input)?.text("how")?),
            "sneak-run" => reach::run(Input::parse(&call.input)?.text("how")?),
            "progress" => Ok(say::progress()),
            "keep" => reach::keep(),
            "bad-image" => Ok(say::image()),
            "talkative" => Ok(say::long_summary()),
            unknown => Err(fault::invalid(format!("`{unknown}` is nothing this tool can do"))),
        }
    }
}

fn spec(name: &str, schema: &str) -> Spec {
    let timeout_ms = match name {
        "loop" => SHORT_MS,
        "hang" => ENDLESS_MS,
        _ => LONG_MS,
    };
    Spec {
        name: name.to_owned(),
        description: format!("Misbehaves: {name}."),
        input_schema: schema.to_owned(),
        effects: Effects::READ,
        timeout_ms,
        timeout_argument: None,
        path_arguments: Vec::new(),
    }
}

fn hang() -> ! {
    loop {
        black_box(0);
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
