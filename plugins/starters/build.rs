//! Puts every template into a table, with the contract, the SDK for Rust, and the bindings for C and Go,
//! so that a project needs nothing of this repository.
//!
//! What the root's manifest says of the SDK's dependencies and of the guests' profile is copied from
//! there: a project is built like the default plugins.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script's work: it reads the repository and speaks to cargo by stdout"
)]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_core::{Files, WorldGenerator};

const LANGUAGES: [&str; 6] = ["any", "rust", "python", "javascript", "c", "go"];
const ROLES: [&str; 4] = ["any", "tool", "guard", "profile"];

/// How the SDK names the contract, here and in a project.
const WIT_HERE: &str = "\"../../wit\"";
const WIT_THERE: &str = "\"../wit\"";

/// What the SDK is written with, in the root's manifest.
const SDK_NEEDS: [&str; 2] = ["serde_json", "wit-bindgen"];

/// What a generator makes and a template has.
const OURS: [&str; 1] = ["go.mod"];

/// The rows, as Rust.
struct Table {
    text: String,
    out: PathBuf,
}

fn main() -> ExitCode {
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("cargo::error={}", message.replace('\n', " "));
            ExitCode::FAILURE
        }
    }
}

fn write() -> Result<(), String> {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(variable("OUT_DIR")?);
    let root = here.ancestors().nth(2).ok_or("the repository has no root")?.to_owned();
    for path in ["wit", "plugins/sdk/src", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(path).display());
    }
    println!("cargo::rerun-if-changed={}", here.join("build.rs").display());

    let mut table = Table { text: String::from("&[\n"), out };
    for language in LANGUAGES {
        println!("cargo::rerun-if-changed={}", here.join(language).display());
        for role in ROLES {
            let folder = here.join(language).join(role);
            for (path, _) in files_below(&folder)? {
                table.row(language, role, &path, &folder.join(&path));
            }
        }
    }
    for (path, _) in files_below(&root.join("wit"))? {
        table.row("any", "any", &format!("wit/{path}"), &root.join("wit").join(&path));
    }
    write_sdk(&root, &mut table)?;
    for role in &ROLES[1..] {
        let wit = root.join("wit");
        write_bindings(
            "c",
            role,
            "bindings/",
            &wit,
            wit_bindgen_c::Opts::default().build(),
            &mut table,
        )?;
        write_bindings("go", role, "", &wit, wit_bindgen_go::Opts::default().build(), &mut table)?;
        let section = component_type(&wit, role)?;
        table.made("go", role, "component-type.bin", &section)?;
    }
    let inert = here.join("inert.wat");
    println!("cargo::rerun-if-changed={}", inert.display());
    let module = wat::parse_str(read(&inert)?).map_err(|err| format!("`inert.wat`: {err}"))?;
    write_file(&table.out.join("inert.wasm"), &module)?;
    table.text.push_str("]\n");
    write_file(&table.out.join("table.rs"), table.text.as_bytes())
}

impl Table {
    fn row(&mut self, language: &str, role: &str, path: &str, file: &Path) {
        let file = file.display().to_string();
        let _ = writeln!(
            self.text,
            "    Row {{ language: {language:?}, role: {role:?}, path: {path:?}, bytes: include_bytes!({file:?}) }},"
        );
    }

    /// A file that is made here.
    fn made(&mut self, language: &str, role: &str, path: &str, bytes: &[u8]) -> Result<(), String> {
        let file = self.out.join(language).join(role).join(path);
        write_file(&file, bytes)?;
        self.row(language, role, path, &file);
        Ok(())
    }
}

/// The SDK as a package of the project, and the manifest's parts that the root knows.
fn write_sdk(root: &Path, table: &mut Table) -> Result<(), String> {
    for (path, bytes) in files_below(&root.join("plugins/sdk/src"))? {
        let text = String::from_utf8(bytes).map_err(|_| format!("`{path}` is not text"))?;
        let text = text.replace(WIT_HERE, WIT_THERE);
        table.made("rust", "any", &format!("sdk/src/{path}"), text.as_bytes())?;
    }
    let manifest = read(&root.join("Cargo.toml"))?;
    let lines = |name: &str| {
        let start = format!("{name} = ");
        manifest.lines().find(|line| line.starts_with(&start)).map(str::to_owned)
    };
    let mut sdk = String::from(
        "# The SDK as it was when this project was made. It is the project's own: nothing updates it.\n\n\
         [package]\nname = \"harness-sdk\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\n",
    );
    for name in SDK_NEEDS {
        let line = lines(name).ok_or_else(|| format!("the root's manifest has no `{name}`"))?;
        let _ = writeln!(sdk, "{line}");
    }
    table.made("rust", "any", "sdk/Cargo.toml", sdk.as_bytes())?;

    let profile = manifest.split_once("[profile.guest]").ok_or("the root has no guest profile")?.1;
    let profile = profile.split("\n[").next().unwrap_or_default().trim();
    let template = read(&root.join("plugins/starters/rust/manifest.toml"))?;
    let filled = template.replace("{{guest-profile}}", profile);
    table.made("rust", "any", "Cargo.toml.in", filled.as_bytes())
}

/// What a generator makes of a role's world.
fn write_bindings(
    language: &str,
    role: &str,
    folder: &str,
    wit: &Path,
    mut generator: Box<dyn WorldGenerator>,
    table: &mut Table,
) -> Result<(), String> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).map_err(told)?;
    let world = format!("{role}-plugin");
    let world = resolve.select_world(&[package], Some(&world)).map_err(told)?;
    let mut files = Files::default();
    generator.generate(&mut resolve, world, &mut files).map_err(told)?;
    for (name, bytes) in files.iter().filter(|(name, _)| !OURS.contains(name)) {
        table.made(language, role, &format!("{folder}{name}"), bytes)?;
    }
    Ok(())
}

/// What tells the encoder which world a module is of; Go's linker writes no such section.
fn component_type(wit: &Path, role: &str) -> Result<Vec<u8>, String> {
    let mut resolve = wit_parser::Resolve::default();
    let (package, _) = resolve.push_dir(wit).map_err(told)?;
    let world = resolve.select_world(&[package], Some(&format!("{role}-plugin")));
    let world = world.map_err(told)?;
    wit_component::metadata::encode(
        &resolve,
        world,
        wit_component::StringEncoding::UTF8,
        None,
        false,
    )
    .map_err(told)
}

/// Every file below a folder with its path in it, sorted; nothing where the folder is missing.
fn files_below(folder: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries {
            let path = entry.map_err(|err| cause("read", &folder, &err))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push((path, format!("{prefix}{name}/")));
            } else {
                let bytes = fs::read(&path).map_err(|err| cause("read", &path, &err))?;
                found.push((format!("{prefix}{name}"), bytes));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|err| cause("read", path, &err))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(|err| cause("make", folder, &err))?;
    fs::write(path, bytes).map_err(|err| cause("write", path, &err))
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("`{name}` is not set; this is a build script"))
}

fn cause(verb: &str, path: &Path, err: &std::io::Error) -> String {
    format!("could not {verb} `{}`: {err}", path.display())
}

fn told(err: impl std::fmt::Display) -> String {
    format!("{err:#}")
}
