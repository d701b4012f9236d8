//! Outcomes and lines that are more than anybody should be told.

use harness_sdk::{Image, Outcome, Part, log, outcome};

use crate::MIB;

/// One mebibyte in numbered lines.
pub(crate) fn big() -> String {
    let mut text = String::with_capacity(MIB + 32);
    let mut row = 1;
    while text.len() < MIB {
        text.push_str(&format!("row {row:06} of far too many\n"));
        row += 1;
    }
    text
}

/// Three lines for whoever watches.
pub(crate) fn progress() -> Outcome {
    for step in ["one", "two", "three"] {
        log::progress(&format!("step {step}"));
    }
    outcome("done in three steps", "three steps")
}

/// An image that is none.
pub(crate) fn image() -> Outcome {
    let image = Image { media_type: "image/png".into(), bytes: b"not a picture".to_vec() };
    let mut outcome = outcome("here it is:", "an image");
    outcome.parts.push(Part::Image(image));
    outcome
}

/// A summary that is no line.
pub(crate) fn long_summary() -> Outcome {
    outcome("see the summary", "first line\n".repeat(MIB / 11))
}
