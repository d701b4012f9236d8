//! The guests of the tests: those that misbehave, and the examples. `plugins/build` does the building.

use std::process::ExitCode;

use harness_build::{Guest, Plan, build};

const PLAN: Plan = Plan {
    name: "guests",
    root: 2,
    sources: &["wit", "plugins/sdk"],
    folders: &["testdata/guests", "plugins/examples"],
    row: "Guest",
    guests: &[
        guest("testdata/guests/misbehave-guard", "misbehave-guard"),
        guest("testdata/guests/misbehave-tool", "misbehave-tool"),
        guest("testdata/guests/grabby-guard", "grabby-guard"),
        guest("testdata/guests/old-contract", "old-contract"),
        guest("testdata/guests/runtime-guard", "runtime-guard"),
        guest("testdata/guests/fetching-tool", "fetching-tool"),
        example("plugins/examples/fetch-docs", "harness-fetch-docs", "fetch-docs"),
        example("plugins/examples/tests-first", "harness-tests-first", "tests-first"),
        example("plugins/examples/todo", "harness-todo", "todo"),
    ],
};

/// A guest of the tests is called like its package.
const fn guest(folder: &'static str, package: &'static str) -> Guest {
    Guest { folder, package, name: package, fields: "" }
}

/// An example is a package of ours, with a prefix.
const fn example(folder: &'static str, package: &'static str, name: &'static str) -> Guest {
    Guest { folder, package, name, fields: "" }
}

fn main() -> ExitCode {
    build(&PLAN)
}
