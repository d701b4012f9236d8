//! What each plugin says, in a file of its own under `state.dir/logs`.
//!
//! All levels, whatever the server's log shows, so that an author need not restart it to see more.
//! Redacted; capped, with one predecessor. A line that cannot be written is lost: the server goes on.

use std::collections::HashMap;
use std::fmt::{Debug, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use harness_jail::{PrivateDir, RollingFile};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::layer::{Context, Layer};

use crate::redact::Redactor;

/// The folder under `state.dir`.
const FOLDER: &str = "logs";

/// Bytes of one file.
const FILE_BYTES: u64 = 1 << 20;

/// The longest name of a plugin that gets a file, in letters.
const NAME_LETTERS: usize = 100;

/// Where the lines come from.
pub(super) const TARGET: &str = "harness::plugin";

/// Takes the lines of plugins, and leaves the rest.
pub(super) struct PluginLines {
    state_dir: PathBuf,
    redactor: Arc<Redactor>,
    files: Mutex<HashMap<String, RollingFile>>,
}

impl PluginLines {
    /// Opens nothing yet: the state directory is made later.
    pub(super) fn new(state_dir: &Path, redactor: Arc<Redactor>) -> PluginLines {
        PluginLines { state_dir: state_dir.to_owned(), redactor, files: Mutex::default() }
    }

    fn append(&self, plugin: &str, line: &str) -> std::io::Result<()> {
        let Some([name, predecessor]) = file_names(plugin) else { return Ok(()) };
        // A poisoned map is still whole: each change to it is one insert.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.contains_key(plugin) {
            let folder = PrivateDir::open(&self.state_dir)?.subdirectory(FOLDER)?;
            let file = RollingFile::open(folder, &name, &predecessor, FILE_BYTES)?;
            files.insert(plugin.to_owned(), file);
        }
        match files.get_mut(plugin) {
            Some(file) => file.append(self.redactor.redact(line).as_bytes()),
            None => Ok(()),
        }
    }
}

impl<S: Subscriber> Layer<S> for PluginLines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Some(plugin) = fields.plugin else { return };
        let mut line = String::new();
        // Writing to a text does not fail; without the time the line is still worth having.
        let _ = SystemTime.format_time(&mut Writer::new(&mut line));
        let message = fields.message.replace('\n', "\n  ");
        let _ = writeln!(line, " {:<5} {message}", event.metadata().level());
        // Nobody to tell it to: this is the log.
        let _ = self.append(&plugin, &line);
    }
}

/// The fields of a line that are kept.
#[derive(Default)]
struct Fields {
    plugin: Option<String>,
    message: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        if matches!(field.name(), "plugin" | "guard") {
            self.plugin = Some(value.to_owned());
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.message = format!("{value:?}");
        }
    }
}

/// The files of a plugin in a state directory, the older one first; None for a name that is none.
pub(in crate::cli) fn paths(state_dir: &Path, plugin: &str) -> Option<[PathBuf; 2]> {
    let [name, predecessor] = file_names(plugin)?;
    let folder = state_dir.join(FOLDER);
    Some([folder.join(predecessor), folder.join(name)])
}

/// Now, and once it was full. Names that could be anything but one file have none.
fn file_names(plugin: &str) -> Option<[String; 2]> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let fits = (1..=NAME_LETTERS).contains(&plugin.len())
        && plugin.chars().all(is_plain)
        && !plugin.starts_with('.');
    fits.then(|| [format!("{plugin}.log"), format!("{plugin}.log.old")])
}

#[cfg(test)]
mod tests {
    use super::file_names;

    #[test]
    fn a_file_is_named_after_a_plain_name() {
        let check = |name: &str, expected: Option<&str>| {
            let names = file_names(name);
            assert_eq!(names.as_ref().map(|names| names[0].as_str()), expected, "{name}");
        };
        check("todo", Some("todo.log"));
        check("a.b-c_2", Some("a.b-c_2.log"));
        for name in ["", ".", "..", "a/b", "ä", "a b"] {
            check(name, None);
        }
    }
}
