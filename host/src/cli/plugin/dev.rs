//! `harness plugin dev`: build, check, test and put in force, again and again as the sources change.
//!
//! Each step is that of the command of its name. What does not build, has problems or fails its
//! table is not put in force, and the version before stays. Ends when it is interrupted.

#![expect(clippy::print_stdout, reason = "how each round went is the command's output")]

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use harness_jail::{Stamp, stamps_below};

use super::add::{self, AddArgs, Terms};
use super::{build, check, manifest, test};

/// Between two looks at the sources.
const LOOKING: Duration = Duration::from_secs(1);

/// What toolchains and version control make of their own accord.
const NOT_SOURCES: [&str; 7] =
    ["target", "build", "node_modules", "__pycache__", ".git", ".venv", "Cargo.lock"];

/// What is worked on.
#[derive(Args)]
pub(crate) struct DevArgs {
    /// The project's folder, with its `plugin.toml`
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    terms: Terms,
}

/// Runs the command.
pub(super) async fn run(args: DevArgs) -> anyhow::Result<()> {
    let DevArgs { directory, terms } = args;
    // Before the first round: a folder that is no project will not become one.
    manifest::Manifest::read(&directory)?;
    loop {
        // What changes while it is built is built again.
        let seen = sources(&directory);
        if let Err(err) = round(&directory, &terms).await {
            println!("not put in force, what was there stays: {err:#}");
        }
        println!("watching `{}`; Ctrl-C ends it", directory.display());
        while sources(&directory) == seen {
            tokio::time::sleep(LOOKING).await;
        }
        println!("\nthe sources changed");
    }
}

/// From the sources to a plugin in force.
async fn round(directory: &Path, terms: &Terms) -> anyhow::Result<()> {
    build::build(directory)?;
    let (path, grants, config) = (directory.to_owned(), terms.grants.clone(), terms.config.clone());
    check::run(check::CheckArgs { path: path.clone(), grants, config }).await?;
    if directory.join(super::project::TABLE).exists() {
        test::run(test::TestArgs { path: path.clone(), table: None }).await?;
    }
    add::run(AddArgs { path, name: None, terms: terms.clone() }).await
}

fn sources(directory: &Path) -> Vec<(PathBuf, Option<Stamp>)> {
    let is_source = |name: &str| {
        let is_of_an_editor = name.ends_with('~') || name.ends_with(".swp");
        !NOT_SOURCES.contains(&name) && !name.ends_with(".wasm") && !is_of_an_editor
    };
    stamps_below(directory, &is_source)
}
