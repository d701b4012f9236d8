//! `harness plugin build`: a project's component, by its language's own toolchain.
//!
//! The toolchain's output is shown as it comes. What it leaves as a core module is wrapped here; a
//! component is not loaded or judged, which is `check`'s to do. Installs nothing.

#![expect(clippy::print_stdout, reason = "what was built is the command's output")]

mod wrap;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use harness_jail::{ask_program, ensure_directory, put_built, read_capped, run_program};
use serde_json::Value;

use super::language::Language;
use super::manifest::Manifest;
use super::toolchain::{Place, Program, RUST_TARGET};
use crate::cli::search_path;
use crate::plugin::{FILE_BYTES, Role};

/// Where the core module of a project in C or Go lies, in the project.
const FOLDER: &str = "build";
const MODULE: &str = "build/module.wasm";

/// What Go's compiler is told to build for.
const GO_SYSTEM: [(&str, &str); 2] = [("GOOS", "wasip1"), ("GOARCH", "wasm")];

/// In a project in Go: which world its module is of, in the encoder's form.
const GO_WORLD: &str = "component-type.bin";

/// What to build.
#[derive(Args)]
pub(in crate::cli) struct BuildArgs {
    /// The project's folder, with its `plugin.toml`
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
}

/// Runs the command.
pub(super) fn run(BuildArgs { directory }: &BuildArgs) -> anyhow::Result<()> {
    build(directory)?;
    println!("next: harness plugin check {}", directory.display());
    Ok(())
}

/// Builds the project in that folder.
///
/// # Errors
///
/// What is missing, or that the toolchain failed.
pub(super) fn build(directory: &Path) -> anyhow::Result<()> {
    let manifest = Manifest::read(directory)?;
    let place = Place::new(directory, &search_path())?;
    for need in place.needs(manifest.language) {
        if need.found.is_none() {
            bail!(
                "{} needs `{}`, which is not here\nhint: in `{}`: {}",
                manifest.language,
                need.what,
                directory.display(),
                need.get
            );
        }
    }
    let program = place.builder(manifest.language).context("the toolchain went away")?;
    let project = Project { manifest: &manifest, place: &place, program };
    let bytes = project.build()?;
    let component = manifest.component();
    let size = format!("{} kB", bytes.div_ceil(1000));
    println!("built {} `{}`, {size}", manifest.role, directory.join(component).display());
    Ok(())
}

/// A project with what builds it.
struct Project<'a> {
    manifest: &'a Manifest,
    place: &'a Place,
    program: Program,
}

impl Project<'_> {
    /// Leaves the component, and gives its size in bytes.
    fn build(&self) -> anyhow::Result<u64> {
        let component = self.manifest.component();
        let world = match (self.manifest.language, self.manifest.role) {
            // Their builders bring in a world's every import, and a tool's are to be granted: the
            // project says itself which it wants.
            (Language::Python | Language::JavaScript, Role::Tool) => "own-tool".to_owned(),
            (_, role) => format!("{role}-plugin"),
        };
        match self.manifest.language {
            Language::Rust => {
                self.run(&["build", "--profile", "guest", "--target", RUST_TARGET])?;
                self.wrap(&self.rust_module()?)?;
            }
            Language::C => {
                self.make_folder()?;
                self.run(&["cc", "@build.args", "-o", MODULE])?;
                self.wrap(&self.directory().join(MODULE))?;
            }
            Language::Go => {
                self.make_folder()?;
                // Without what debuggers want, and with the names that a trap's message wants.
                let arguments = ["build", "-buildmode=c-shared", "-ldflags=-w", "-o", MODULE, "."];
                self.run_with(&arguments, &GO_SYSTEM)?;
                self.wrap(&self.directory().join(MODULE))?;
            }
            Language::Python => {
                let arguments =
                    ["-d", "wit", "-w", &world, "componentize", "app", "-o", &component];
                self.run(&arguments)?;
            }
            Language::JavaScript => self.run(&["build.mjs", &world, &component])?,
        }
        let built = read(&self.directory().join(&component))?;
        Ok(built.len() as u64)
    }

    fn directory(&self) -> &Path {
        self.place.directory()
    }

    fn make_folder(&self) -> anyhow::Result<()> {
        ensure_directory(&self.directory().join(FOLDER))
            .with_context(|| format!("cannot make `{FOLDER}`"))?;
        Ok(())
    }

    /// Runs the toolchain to its end.
    fn run(&self, arguments: &[&str]) -> anyhow::Result<()> {
        self.run_with(arguments, &[])
    }

    /// The same, with more in its environment.
    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<()> {
        let Program { file, .. } = &self.program;
        let all = self.arguments(arguments);
        println!("running {} {}", file.display(), all.join(" "));
        let status = run_program(file, &all, environment, self.directory())
            .with_context(|| format!("`{}` does not run", file.display()))?;
        ensure!(status.success(), "the toolchain failed ({status}); what it said stands above");
        Ok(())
    }

    fn arguments(&self, more: &[&str]) -> Vec<String> {
        let more = more.iter().map(|&argument| argument.to_owned());
        self.program.first.iter().cloned().chain(more).collect()
    }

    /// Where cargo left the module: it knows its own target folder and names. The project may be a
    /// member of a larger workspace, which has other plugins.
    fn rust_module(&self) -> anyhow::Result<PathBuf> {
        let here = self.ask_cargo(&["locate-project"])?;
        let said = self.ask_cargo(&["metadata", "--no-deps", "--format-version", "1"])?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let packages = list(&said["packages"]).into_iter();
        let package = packages.filter(|package| package["manifest_path"] == here["root"]);
        let targets = package.flat_map(|package| list(&package["targets"]));
        let is_module =
            |target: &Value| list(&target["crate_types"]).iter().any(|kind| kind == "cdylib");
        let mut names = targets
            .filter(is_module)
            .filter_map(|target| target["name"].as_str().map(|name| name.replace('-', "_")));
        let name = names.next().context("the project's package has no `cdylib`")?;
        let folder = said["target_directory"].as_str().context("cargo names no target folder")?;
        Ok(Path::new(folder).join(RUST_TARGET).join("guest").join(format!("{name}.wasm")))
    }

    /// What cargo says of the project, as JSON.
    fn ask_cargo(&self, arguments: &[&str]) -> anyhow::Result<Value> {
        let what = arguments[0];
        let said = ask_program(&self.program.file, &self.arguments(arguments), self.directory())
            .ok_or_else(|| anyhow!("`cargo {what}` failed"))?;
        serde_json::from_str(&said).with_context(|| format!("`cargo {what}` is not JSON"))
    }

    /// Makes the component of a core module.
    fn wrap(&self, module: &Path) -> anyhow::Result<()> {
        let bytes = read(module)?;
        let wrapped = match self.manifest.language {
            Language::Go => wrap::wrap_go(bytes, &read(&self.directory().join(GO_WORLD))?),
            _ => wrap::wrap(&bytes),
        };
        let component =
            wrapped.with_context(|| format!("`{}` makes no component", module.display()))?;
        let name = self.manifest.component();
        put_built(self.directory(), &name, &component)
            .with_context(|| format!("cannot write `{name}`"))
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    read_capped(path, FILE_BYTES as u64)
        .with_context(|| format!("cannot read `{}`", path.display()))
}
