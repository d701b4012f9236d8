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
        Guest {
            folder: "plugins/examples/fetch-docs",
            package: "harness-fetch-docs",
            name: "fetch-docs",
            fields: "",
        },
    ],
};

/// A guest of the tests is called like its package.
const fn guest(folder: &'static str, package: &'static str) -> Guest {
    Guest { folder, package, name: package, fields: "" }
}

fn main() -> ExitCode {
    build(&PLAN)
}
