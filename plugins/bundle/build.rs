//! The default plugins: which there are, and what each is. `plugins/build` does the building.

use std::process::ExitCode;

use harness_build::{Guest, Plan, build};

const PLAN: Plan = Plan {
    name: "plugins",
    root: 2,
    sources: &["wit", "plugins/sdk"],
    folders: &["plugins/tools", "plugins/guards", "plugins/profiles"],
    row: "Plugin",
    guests: &[
        guest("plugins/tools/files", "harness-files", "files", "role: Role::Tool"),
        guest("plugins/tools/search", "harness-search", "search", "role: Role::Tool"),
        guest("plugins/tools/shell", "harness-shell", "shell", "role: Role::Tool"),
        guest("plugins/guards/repeat", "harness-repeat", "repeat", "role: Role::Guard"),
        guest("plugins/guards/denylist", "harness-denylist", "denylist", "role: Role::Guard"),
        guest("plugins/guards/deadline", "harness-deadline", "deadline", "role: Role::Guard"),
        guest("plugins/profiles/openai", "harness-profiles", "profiles", "role: Role::Profile"),
    ],
};

const fn guest(
    folder: &'static str,
    package: &'static str,
    name: &'static str,
    fields: &'static str,
) -> Guest {
    Guest { folder, package, name, fields }
}

fn main() -> ExitCode {
    build(&PLAN)
}
