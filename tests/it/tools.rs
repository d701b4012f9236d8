//! The file and search tools as a model meets them: files before, calls, answers, files after.
//!
//! Each row is one trouble that agents had with real files, run through the whole server; the
//! rows of a file share one conversation and one directory. Bytes, modes and links are compared exactly.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use harness::event::{CallEnding, Event};
use serde_json::{Value, json};

use crate::rig::Rig;

mod edits;
mod images;
mod notebooks;
mod reads;
mod searches;
mod texts;
mod writes;

/// What lies in the directory, before or after.
#[derive(Debug)]
enum Thing {
    /// A file with these bytes.
    File(&'static str, Vec<u8>),
    /// The permission bits of a file.
    Mode(&'static str, u32),
    /// A symbolic link, and what it says.
    Link(&'static str, &'static str),
    /// A second name, after that of the file it is a name of.
    Second(&'static str, &'static str),
    /// Nothing has this name.
    Nothing(&'static str),
}

use Thing::{File, Link, Mode, Nothing, Second};

/// One call, and what its answer must say.
struct Step {
    tool: &'static str,
    input: Value,
    is_refused: bool,
    holds: Vec<String>,
    lacks: Vec<&'static str>,
    max_bytes: usize,
}

/// A call that succeeds.
fn does(tool: &'static str, input: Value) -> Step {
    let (holds, lacks) = (Vec::new(), Vec::new());
    Step { tool, input, is_refused: false, holds, lacks, max_bytes: 60_000 }
}

/// A call that fails.
fn refused(tool: &'static str, input: Value) -> Step {
    Step { is_refused: true, max_bytes: 2_000, ..does(tool, input) }
}

impl Step {
    /// The answer holds this.
    fn holds(mut self, text: impl Into<String>) -> Step {
        self.holds.push(text.into());
        self
    }

    /// The answer does not hold this.
    fn lacks(mut self, text: &'static str) -> Step {
        self.lacks.push(text);
        self
    }

    /// The answer has so many bytes at most.
    fn within(mut self, max_bytes: usize) -> Step {
        self.max_bytes = max_bytes;
        self
    }

    /// Everything that is wrong with an answer.
    fn wrong(&self, ending: &CallEnding, text: &str) -> Vec<String> {
        let is_right = match ending {
            CallEnding::Succeeded => !self.is_refused,
            CallEnding::Failed { .. } => self.is_refused,
            _ => false,
        };
        let mut wrong = Vec::new();
        if !is_right {
            wrong.push(format!("ended as {ending:?}"));
        }
        if text.len() > self.max_bytes {
            wrong.push(format!("{} bytes", text.len()));
        }
        let missing = self.holds.iter().filter(|fragment| !text.contains(*fragment));
        wrong.extend(missing.map(|fragment| format!("no `{fragment}`")));
        let present = self.lacks.iter().filter(|fragment| text.contains(*fragment));
        wrong.extend(present.map(|fragment| format!("`{fragment}`")));
        wrong
    }

    /// Enough of the input to know the step by.
    fn start(&self) -> String {
        self.input.to_string().chars().take(80).collect()
    }
}

/// One trouble.
struct Row {
    id: &'static str,
    before: Vec<Thing>,
    steps: Vec<Step>,
    after: Vec<Thing>,
}

fn file(path: &'static str, bytes: impl AsRef<[u8]>) -> Thing {
    File(path, bytes.as_ref().to_vec())
}

fn put(root: &Path, things: &[Thing]) {
    for thing in things {
        match thing {
            File(path, bytes) => {
                let path = root.join(path);
                assert!(!path.exists(), "two rows have a file {path:?}");
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
            Mode(path, mode) => {
                fs::set_permissions(root.join(path), fs::Permissions::from_mode(*mode)).unwrap();
            }
            Link(path, target) => symlink(target, root.join(path)).unwrap(),
            Second(first, second) => fs::hard_link(root.join(first), root.join(second)).unwrap(),
            Nothing(_) => {}
        }
    }
}

fn check(id: &str, root: &Path, things: &[Thing]) {
    for thing in things {
        match thing {
            File(path, bytes) => {
                let found = fs::read(root.join(path)).unwrap();
                let shown = String::from_utf8_lossy(&found);
                assert_eq!(&found, bytes, "{id}: `{path}` holds {shown:?}");
            }
            Mode(path, mode) => {
                let found = fs::metadata(root.join(path)).unwrap().mode() & 0o7777;
                assert_eq!(found, *mode, "{id}: `{path}` has mode {found:o}");
            }
            Link(path, target) => {
                assert_eq!(fs::read_link(root.join(path)).unwrap(), Path::new(target), "{id}");
            }
            Second(first, second) => {
                let inode = |path| fs::metadata(root.join(path)).unwrap().ino();
                assert_eq!(inode(first), inode(second), "{id}");
            }
            Nothing(path) => {
                assert!(fs::symlink_metadata(root.join(path)).is_err(), "{id}: `{path}` is there");
            }
        }
    }
}

/// A turn for each call of each row, and the answer.
fn script(rows: &[Row]) -> String {
    let mut script = String::new();
    for row in rows {
        for step in &row.steps {
            // A text of JSON is one of TOML.
            let arguments = json!(step.input.to_string());
            script += &format!(
                "[[turn]]\ncalls = [{{ tool = \"{}\", arguments = {arguments} }}]\n",
                step.tool
            );
        }
    }
    script + "[[turn]]\ntext = \"done\"\n"
}

async fn play(rows: Vec<Row>) {
    let rig = Rig::start(&script(&rows), "[agent]\nmax_turns = 1000\n").await;
    let root = rig.workspace();
    for row in &rows {
        put(&root, &row.before);
    }
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    let events = rig.events(&reply.run).await;
    let ended: Vec<(&CallEnding, &str)> = events
        .iter()
        .filter_map(|recorded| match &recorded.event {
            Event::CallEnded { ending, text, .. } => Some((ending, text.as_str())),
            _ => None,
        })
        .collect();
    let steps: Vec<(&str, &Step)> =
        rows.iter().flat_map(|row| row.steps.iter().map(|step| (row.id, step))).collect();
    assert_eq!(ended.len(), steps.len());
    let faults: Vec<String> = steps
        .iter()
        .zip(ended)
        .flat_map(|((id, step), (ending, text))| {
            let shown: String = text.chars().take(1_500).collect();
            let wrong = step.wrong(ending, text).into_iter();
            wrong.map(move |what| {
                format!("{id} `{} {}`: {what} in: {shown}", step.tool, step.start())
            })
        })
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    for row in &rows {
        check(row.id, &root, &row.after);
    }
    let names = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name());
    let left = names.filter(|name| name.to_string_lossy().starts_with(".harness-"));
    assert_eq!(left.count(), 0, "a temporary file is left");
    rig.assert_clean_requests();
}
