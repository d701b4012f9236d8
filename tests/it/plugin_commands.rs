//! `harness plugin check`, `test`, `run` and `inspect`, as a plugin's author meets them.
//!
//! The real binary on the components that ship and on guests that misbehave. What it prints is
//! compared whole, without the figures that differ from run to run.

mod check;
mod inspect;
mod logs;
mod run;
mod test;

use std::path::{Path, PathBuf};

use harness_bundle::PLUGINS;
use harness_guests::GUESTS;
use tempfile::TempDir;

use crate::cli;

/// Units behind a figure that differs from run to run.
const UNITS: [&str; 6] = ["ms", "kB", "KiB", "MB", "million", "%"];

/// A directory with one component in it, and what a test puts beside that.
struct Desk {
    root: TempDir,
}

impl Desk {
    /// One with the component of a default plugin or of a guest, as `NAME.wasm`.
    fn with(name: &str) -> Desk {
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let ours = PLUGINS.iter().find(|plugin| plugin.name == name).map(|plugin| plugin.bytes);
        let guest = || GUESTS.iter().find(|guest| guest.name == name).map(|guest| guest.bytes);
        let desk = Desk { root };
        std::fs::write(desk.path(&format!("{name}.wasm")), ours.or_else(guest).unwrap()).unwrap();
        desk
    }

    /// Puts a file there, with the directories it needs.
    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }

    /// Puts a configuration there that has the component as the plugin of the same name.
    fn configure(&self, name: &str, table: &str) {
        let path = self.path(&format!("{name}.wasm"));
        let text = format!("[plugin.{name}]\npath = \"{}\"\n{table}\n", path.display());
        self.put("harness.toml", &text);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Runs `harness plugin …`; words that begin with `@/` are paths at this desk.
    fn run(&self, args: &[&str], environment: &[(&str, &str)]) -> Said {
        let place = |word: &str| match word.strip_prefix("@/") {
            Some(name) => self.path(name).to_str().unwrap().to_owned(),
            None => word.to_owned(),
        };
        let args: Vec<String> = args.iter().map(|word| place(word)).collect();
        let args: Vec<&str> =
            ["plugin"].into_iter().chain(args.iter().map(String::as_str)).collect();
        let (ok, out, err) = cli::run(&args, environment);
        let plain = |text: String| blank(&self.nowhere(&text));
        Said { ok, out: plain(out), err: plain(err) }
    }

    /// The text without the path of this desk.
    fn nowhere(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "@")
    }
}

/// What a command said, on both outputs.
#[derive(Debug)]
struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Said {
    /// It succeeded, or failed with this error, and said exactly this.
    #[track_caller]
    fn is(&self, out: &str, error: Option<&str>) {
        assert_eq!(self.out, out, "{}", self.err);
        let failed = error.map(|error| format!("error: {error}\n"));
        assert_eq!((self.ok, self.err.clone()), (error.is_none(), failed.unwrap_or_default()));
    }
}

/// The text with `_` for each figure before a unit, and for each digest.
fn blank(text: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let blanked = (0..words.len()).map(|at| {
            let word = words[at];
            let unit = words.get(at + 1).unwrap_or(&"").trim_end_matches([',', ';', ':', ')']);
            let is_figure = word.parse::<f64>().is_ok() && UNITS.contains(&unit);
            let is_digest = word.starts_with("blake3:");
            if is_figure || is_digest { "_" } else { word }
        });
        blanked.collect::<Vec<_>>().join(" ").replace("less than _ %", "_ %")
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// An environment in which commands run without walls, which every machine can have.
const NO_WALLS: [(&str, &str); 2] =
    [("HARNESS_SHELL_SANDBOX", "none"), ("HARNESS_SHELL_ALLOW_UNSANDBOXED", "true")];

/// The text of a file.
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
