//! `harness plugin test`: a table of rows, each through the host's own code in a workspace of its
//! own.
//!
//! No process is started and no model asked: commands have scripted results. A guard is shown odd
//! proposals besides, and must hold. What a row expects and does not say is not looked at.

mod guard;
mod profile;
mod table;
mod tool;

use std::path::PathBuf;

use anyhow::{Context, bail, ensure};
use clap::Args;

use super::bench::Bench;
use super::project::{Project, read_text};
use crate::cli::boot;
use crate::cli::flags::{self, Configured};
use crate::plugin::{Plugins, Role};
use table::Row;
pub(super) use tool::show;

/// What to test.
#[derive(Args)]
pub(crate) struct TestArgs {
    /// A project's folder, or a component file
    pub(super) path: PathBuf,
    /// The table [default: tests.toml in the folder]
    #[arg(long, value_name = "FILE")]
    pub(super) table: Option<PathBuf>,
}

/// Why a row does not hold: what was expected, what came.
#[derive(Debug)]
struct Miss {
    expected: String,
    got: String,
}

impl Miss {
    fn new(expected: impl Into<String>, got: impl Into<String>) -> Miss {
        Miss { expected: expected.into(), got: got.into() }
    }
}

/// Counts rows, and prints each.
#[derive(Default)]
struct Tally {
    held: usize,
    failed: usize,
}

impl Tally {
    #[expect(clippy::print_stdout, reason = "the rows are the command's output")]
    fn count(&mut self, name: &str, misses: &[Miss]) {
        if misses.is_empty() {
            self.held += 1;
            println!("ok      {name}");
            return;
        }
        self.failed += 1;
        println!("FAILED  {name}");
        for Miss { expected, got } in misses {
            println!("        expected: {}", expected.trim_end().replace('\n', "\n        "));
            println!("        got:      {}", got.trim_end().replace('\n', "\n        "));
        }
    }
}

/// Tests.
pub(super) async fn run(args: TestArgs) -> anyhow::Result<()> {
    let project = Project::open(&args.path)?;
    let rows = match args.table.or(project.table) {
        Some(path) => {
            let shown = path.display().to_string();
            table::parse(&read_text(&path)?).with_context(|| format!("`{shown}`"))?
        }
        None => Vec::new(),
    };
    let (settings, environment) = flags::settings(&Configured::default())?;
    let redactor = boot::redactor(std::iter::empty(), &environment);
    let engine = boot::engine(&settings)?;
    let bench = Bench::open(engine, &project.name, project.bytes, redactor).await??;
    let is_guard = bench.anatomy.role.as_ref().is_ok_and(|(role, _)| *role == Role::Guard);
    ensure!(is_guard || !rows.is_empty(), "there is no table\nhint: name one by `--table FILE`");
    let mut tally = Tally::default();
    for (number, row) in (1..).zip(&rows) {
        let name = row.name.clone().unwrap_or_else(|| format!("row {number}"));
        let misses = match try_row(&bench, row).await {
            Ok(misses) => misses,
            Err(err) => vec![Miss::new("a row that can be tried", format!("{err:#}"))],
        };
        tally.count(&name, &misses);
    }
    if is_guard {
        guard::hold(&bench, &rows, &mut tally).await?;
    }
    tell_end(&tally);
    ensure!(tally.failed == 0, "{} row(s) do not hold", tally.failed);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the rows are the command's output")]
fn tell_end(Tally { held, failed }: &Tally) {
    println!("{held} held, {failed} failed");
}

/// One row, of whichever role.
async fn try_row(bench: &Bench, row: &Row) -> anyhow::Result<Vec<Miss>> {
    let plugins = bench.load_granted(row.config.clone()).await?;
    match (&row.tool, &row.call, &row.profile) {
        (Some(tool), ..) => tool::try_row(bench, &plugins, tool, row).await,
        (_, Some(call), _) => guard::try_row(bench, &plugins, call, row).await,
        (.., Some(profile)) => profile::try_row(&plugins, profile, row),
        (None, None, None) => bail!("a row without a kind"),
    }
}

/// The plugin without a table in the configuration, or with that of the first row.
async fn load_first(bench: &Bench, rows: &[Row]) -> anyhow::Result<Plugins> {
    let config = rows.first().map(|row| row.config.clone()).unwrap_or_default();
    bench.load_granted(config).await
}
