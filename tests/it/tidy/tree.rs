//! The repository as texts: every file, and for Rust what is left without comments and tests.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders that are not the repository's own text.
const SKIPPED: [&str; 4] = [".git", "target", "node_modules", "__pycache__"];

/// One file.
pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// None for a file that is not text.
    pub(super) text: Option<String>,
}

/// Every file, sorted by path.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("`host` lies in the root").to_owned()
}

impl Tree {
    /// Reads everything below the root.
    pub(super) fn read() -> Tree {
        let mut files = Vec::new();
        collect(&root(), "", &mut files);
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Tree { files }
    }

    /// The file at `path`.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Every text file whose path starts with one of `folders` and ends with `ending`.
    pub(super) fn texts<'a>(
        &'a self,
        folders: &'a [&str],
        ending: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.files
            .iter()
            .filter(move |file| {
                file.path.ends_with(ending)
                    && folders.iter().any(|folder| file.path.starts_with(folder))
            })
            .filter_map(|file| Some((file.path.as_str(), file.text.as_deref()?)))
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().unwrap();
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_file() {
            let text = String::from_utf8(fs::read(entry.path()).unwrap()).ok();
            files.push(File { path, text });
        }
    }
}

/// True for a Rust file that only tests compile.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/") || path.starts_with("tests/")
}

/// The lines that ship, with their numbers from 1: no comments, no inline test module.
pub(super) fn shipped(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut after_test_attribute = false;
    let mut in_tests = false;
    for (number, line) in (1..).zip(text.lines()) {
        if in_tests {
            // Formatted code closes a module at the margin.
            in_tests = line != "}";
            continue;
        }
        if after_test_attribute {
            after_test_attribute = line.starts_with("#[");
            if line.starts_with("mod ") {
                in_tests = line.ends_with('{');
                continue;
            }
        }
        if line == "#[cfg(test)]" {
            after_test_attribute = true;
        }
        let code = code_of(line);
        if !code.trim().is_empty() {
            lines.push((number, code.to_owned()));
        }
    }
    lines
}

/// The line up to its comment. A `//` inside a text (an address) does not start one.
fn code_of(line: &str) -> &str {
    let mut quoted = false;
    let mut previous = ' ';
    for (index, letter) in line.char_indices() {
        match letter {
            '"' if previous != '\\' => quoted = !quoted,
            '/' if !quoted && line[index..].starts_with("//") => return &line[..index],
            _ => {}
        }
        previous = letter;
    }
    line
}

#[test]
fn comments_and_tests_do_not_ship() {
    let text = "//! doc crate::cli\nuse crate::a; // crate::b\nlet url = \"http://x\"; //y\n\
                #[cfg(test)]\n#[expect(x)]\nmod tests {\n    use crate::c;\n}\nfn last() {}\n\
                #[cfg(test)]\nmod tests;\nfn more() {}\n";
    let lines: Vec<String> = shipped(text)
        .into_iter()
        .map(|(number, line)| format!("{number} {}", line.trim()))
        .collect();
    let expected = [
        "2 use crate::a;",
        "3 let url = \"http://x\";",
        "4 #[cfg(test)]",
        "5 #[expect(x)]",
        "9 fn last() {}",
        "10 #[cfg(test)]",
        "12 fn more() {}",
    ];
    assert_eq!(lines, expected);
}
