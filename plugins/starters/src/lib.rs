//! The projects that `harness plugin new` writes: real files, one folder a language and role.
//!
//! A file of `any` belongs to all. One whose name ends in `.in` is filled in and loses that ending;
//! every other is written as it is. The build script adds what is not ours to write twice: the
//! contract, the SDK, and the bindings for C and Go. It never touches a disk and never judges a name.

/// One file of a table.
struct Row {
    /// A language, or `any`.
    language: &'static str,
    /// A role, or `any`.
    role: &'static str,
    /// In the project, with `/`.
    path: &'static str,
    /// Its template.
    bytes: &'static [u8],
}

const ROWS: &[Row] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

/// A core module for everything of WASI's first preview, in which nothing is to be found; a plugin's
/// module is wrapped with it and imports no `wasi:` interface then.
pub const INERT_SYSTEM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/inert.wasm"));

/// Of all languages, or of all roles.
const ANY: &str = "any";

/// Ends the name of a file that is filled in.
const FILLED: &str = ".in";

/// One file of a project.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// In the project, with `/`.
    pub path: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Every file of a project of that language and role, sorted by path; nothing where there is no such
/// language or role.
pub fn project(language: &str, role: &str, name: &str) -> Vec<File> {
    let fits =
        |row: &&Row| [language, ANY].contains(&row.language) && [role, ANY].contains(&row.role);
    let is_named = language != ANY && role != ANY;
    let is_there = is_named && ROWS.iter().any(|row| row.language == language && row.role == role);
    let rows = ROWS.iter().filter(|_| is_there).filter(fits);
    let mut files: Vec<File> = rows.map(|row| fill(row, language, role, name)).collect();
    files.sort_by_key(|file| file.path);
    files
}

fn fill(row: &Row, language: &str, role: &str, name: &str) -> File {
    let Some(path) = row.path.strip_suffix(FILLED) else {
        return File { path: row.path, bytes: row.bytes.to_vec() };
    };
    let mut text = String::from_utf8_lossy(row.bytes).into_owned();
    for (placeholder, value) in [("{{name}}", name), ("{{role}}", role), ("{{language}}", language)]
    {
        text = text.replace(placeholder, value);
    }
    File { path, bytes: text.into_bytes() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_project_is_whole() {
        for language in ["rust", "python", "javascript", "c", "go"] {
            for role in ["tool", "guard", "profile"] {
                let files = project(language, role, "mine");
                let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
                let needed =
                    [".gitignore", "README.md", "plugin.toml", "tests.toml", "wit/types.wit"];
                for path in needed {
                    assert!(paths.contains(&path), "{language} {role}: no `{path}` in {paths:?}");
                }
                let mut once = paths.clone();
                once.dedup();
                assert_eq!(once, paths, "{language} {role}: two files of one path");
                for file in files {
                    let text = String::from_utf8_lossy(&file.bytes);
                    let is_filled = !["{{name}}", "{{role}}", "{{language}}"]
                        .iter()
                        .any(|placeholder| text.contains(placeholder));
                    assert!(is_filled, "{language} {role}: `{}`: {text}", file.path);
                }
            }
        }
    }

    #[test]
    fn names_are_filled_in() {
        let files = project("python", "guard", "no-docs");
        let manifest = files.iter().find(|file| file.path == "plugin.toml").unwrap();
        let text = std::str::from_utf8(&manifest.bytes).unwrap();
        for line in ["name = \"no-docs\"", "role = \"guard\"", "language = \"python\""] {
            assert!(text.contains(line), "no `{line}` in {text}");
        }
    }

    #[test]
    fn what_there_is_not_is_empty() {
        for (language, role) in
            [("cobol", "guard"), ("rust", "hook"), ("any", "any"), ("rust", "any")]
        {
            assert_eq!(project(language, role, "mine").len(), 0, "{language} {role}");
        }
    }
}
