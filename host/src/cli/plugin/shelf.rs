//! Where a person's own plugins stand: the configuration file, and `plugins` and `profiles` beside it.
//!
//! Read once; what is written is one file at a time, each in one step, and only while the file is
//! still as it was read. No server needs to be told: one that runs watches all of it.

pub(super) mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use harness_jail::{put_file, take_file};

use crate::cli::flags;
use crate::config::{Found, PluginConfig, Settings};

/// A configuration, and what lies beside it.
pub(super) struct Shelf {
    file: PathBuf,
    /// None while there is no file.
    text: Option<String>,
    found: Vec<(Found, PathBuf)>,
    settings: Settings,
}

impl Shelf {
    /// Reads the configuration that is named, or the one that would be looked for. One that is not
    /// there is empty.
    ///
    /// # Errors
    ///
    /// All that is wrong with it: nothing is added to a configuration that no server would take.
    pub(super) fn open(config: Option<&Path>) -> anyhow::Result<Shelf> {
        let file = flags::file_of(config)?;
        let text = read(&file)?;
        let found = flags::found_in(file.parent().unwrap_or(&file))?;
        let settings = flags::sound_text(&file, text.as_deref(), &found)?;
        Ok(Shelf { file, text, found, settings })
    }

    /// The configuration file.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Its text.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A plugin as it is configured, or found.
    pub(super) fn table(&self, name: &str) -> Option<&PluginConfig> {
        self.settings.plugins().get(name)
    }

    /// Where a plugin's file stands, by its name and how that ends.
    pub(super) fn place(&self, found: Found, name: &str, ending: &str) -> PathBuf {
        self.directory(found).join(format!("{name}.{ending}"))
    }

    /// Whether a file is one of those that are found without being named.
    pub(super) fn holds(&self, file: &Path) -> bool {
        let places = [self.directory(Found::Plugins), self.directory(Found::Profiles)];
        places.iter().any(|place| file.parent() == Some(place))
    }

    /// What the configuration would be with this text, and with `file` beside it.
    ///
    /// # Errors
    ///
    /// All that would be wrong with it.
    pub(super) fn imagine(&self, text: &str, file: (Found, &Path)) -> anyhow::Result<Settings> {
        let (place, path) = file;
        let mut found = self.found.clone();
        if self.holds(path) && !found.iter().any(|(_, there)| there == path) {
            found.push((place, path.to_owned()));
        }
        flags::sound_text(&self.file, Some(text), &found)
    }

    /// The same without `file`.
    ///
    /// # Errors
    ///
    /// All that would be wrong with it.
    pub(super) fn imagine_without(&self, text: &str, file: &Path) -> anyhow::Result<Settings> {
        let found: Vec<_> = self.found.iter().filter(|(_, path)| path != file).cloned().collect();
        flags::sound_text(&self.file, Some(text), &found)
    }

    /// Makes `text` the configuration.
    ///
    /// # Errors
    ///
    /// When somebody changed it since it was read; otherwise what the system says.
    pub(super) fn write(&mut self, text: &str) -> anyhow::Result<()> {
        if self.text.as_deref().unwrap_or_default() == text {
            return Ok(());
        }
        let shown = self.file.display();
        ensure!(
            read(&self.file)? == self.text,
            "`{shown}` was changed meanwhile, and is left as it is\nhint: try again"
        );
        put_file(&self.file, text.as_bytes()).with_context(|| format!("cannot write `{shown}`"))?;
        self.text = Some(text.to_owned());
        Ok(())
    }

    fn directory(&self, found: Found) -> PathBuf {
        self.file.with_file_name(match found {
            Found::Plugins => "plugins",
            Found::Profiles => "profiles",
        })
    }
}

/// Puts a plugin's file in place.
pub(super) fn put(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    put_file(file, bytes).with_context(|| format!("cannot write `{}`", file.display()))
}

/// Takes a plugin's file away.
pub(super) fn take(file: &Path) -> anyhow::Result<()> {
    take_file(file).with_context(|| format!("cannot remove `{}`", file.display()))
}

/// The text of the configuration; None where there is none.
fn read(file: &Path) -> anyhow::Result<Option<String>> {
    if !file.exists() {
        return Ok(None);
    }
    flags::read_config(file).map(|(_, text)| Some(text))
}
