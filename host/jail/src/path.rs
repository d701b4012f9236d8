//! A path of the workspace, parsed once and trusted from then on.
//!
//! A [`JailPath`] is relative, separated by `/`, and holds no `.`, no `..`, no empty part and no
//! NUL. Parsing is pure text work: it never looks at the disk, so it says nothing about links; the
//! jail resolves those when it opens the path.

use std::fmt;

use crate::fault::{Fault, FaultKind};

/// The longest name of one file, in bytes: the limit of every common file system.
const MAX_NAME_BYTES: usize = 255;

/// The longest path, in bytes: the limit of the system calls.
const MAX_PATH_BYTES: usize = 4096;

/// The directory under which the spilled outputs appear.
pub(crate) const SPILL_VIEW: &str = ".harness/spill";

/// A normalised path beneath the root of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JailPath {
    text: String,
    /// Written as `a/` or `a/.`, which the system takes for a directory and for nothing else.
    names_directory: bool,
}

impl JailPath {
    /// The root of the workspace.
    pub fn root() -> JailPath {
        JailPath::trusted(String::new())
    }

    /// Whether this is the root of the workspace.
    pub fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    /// The path as text; the root is `.`.
    pub fn as_str(&self) -> &str {
        if self.text.is_empty() { "." } else { &self.text }
    }

    /// The parts of the path, outermost first; none for the root.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.text.split('/').filter(|part| !part.is_empty())
    }

    /// The last part; `None` for the root.
    pub fn name(&self) -> Option<&str> {
        self.parts().last()
    }

    /// What is left of the path inside the spill view: `Some("")` is the view itself.
    pub(crate) fn inside_spill(&self) -> Option<&str> {
        let rest = self.text.strip_prefix(SPILL_VIEW)?;
        match rest.strip_prefix('/') {
            Some(name) => Some(name),
            None if rest.is_empty() => Some(""),
            None => None,
        }
    }

    /// Takes a path that the jail itself put together from names it listed.
    pub(crate) fn trusted(path: String) -> JailPath {
        JailPath { text: path, names_directory: false }
    }

    /// Whether only a directory can be meant, as the path was written.
    pub(crate) fn names_directory(&self) -> bool {
        self.names_directory
    }

    /// Parses `raw`. `roots` are the absolute spellings of the workspace, which are cut off.
    ///
    /// # Errors
    /// `invalid-input` for NUL and for names or paths that are too long; `denied` for what lies
    /// outside the workspace.
    pub(crate) fn parse(raw: &str, roots: &[String]) -> Result<JailPath, Fault> {
        if raw.contains('\0') {
            return Err(Fault::new(FaultKind::InvalidInput, "the path holds a NUL character")
                .with_hint("send the path as plain text without control characters"));
        }
        if raw.len() > MAX_PATH_BYTES {
            return Err(Fault::new(
                FaultKind::InvalidInput,
                format!("the path is {} bytes long, over the limit of {MAX_PATH_BYTES}", raw.len()),
            ));
        }
        let parts = normalise(raw)?;
        if let Some(long) = parts.iter().find(|part| part.len() > MAX_NAME_BYTES) {
            return Err(Fault::new(
                FaultKind::InvalidInput,
                format!(
                    "a name in the path is {} bytes long, over the limit of {MAX_NAME_BYTES}",
                    long.len()
                ),
            ));
        }
        let names_directory = matches!(raw.rsplit('/').next(), Some("" | "." | ".."));
        let path = |parts: &[&str]| JailPath { text: parts.join("/"), names_directory };
        if !raw.starts_with('/') {
            return Ok(path(&parts));
        }
        for root in roots {
            let root_parts: Vec<&str> = root.split('/').filter(|part| !part.is_empty()).collect();
            if parts.starts_with(&root_parts) {
                return Ok(path(&parts[root_parts.len()..]));
            }
        }
        Err(Fault::new(
            FaultKind::Denied,
            format!("`{raw}` is an absolute path outside the workspace"),
        )
        .with_hint("use a path relative to the root of the workspace"))
    }
}

impl fmt::Display for JailPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Drops `.` and empty parts and applies `..`, which may not lead above the start.
fn normalise(raw: &str) -> Result<Vec<&str>, Fault> {
    let mut parts = Vec::new();
    for part in raw.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return Err(Fault::new(
                        FaultKind::Denied,
                        format!("`{raw}` leads above the root of the workspace"),
                    )
                    .with_hint("use a path that stays inside the workspace"));
                }
            }
            name => parts.push(name),
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(raw: &str, expected: Result<&str, FaultKind>) {
        let roots = vec!["/srv/place".to_owned(), "/alias".to_owned()];
        let got = JailPath::parse(raw, &roots);
        match expected {
            Ok(path) => assert_eq!(got.expect(raw).as_str(), path, "{raw:?}"),
            Err(kind) => assert_eq!(got.expect_err(raw).kind, kind, "{raw:?}"),
        }
    }

    #[test]
    fn spellings() {
        check("", Ok("."));
        check(".", Ok("."));
        check("./a//b/", Ok("a/b"));
        check("a/../b", Ok("b"));
        check("a/..", Ok("."));
        check("/srv/place", Ok("."));
        check("/srv/place/a/./b", Ok("a/b"));
        check("/srv/place/../place/a", Ok("a"));
        check("/alias/x", Ok("x"));
        check("...", Ok("..."));
        check("..", Err(FaultKind::Denied));
        check("a/../../b", Err(FaultKind::Denied));
        check("/srv/placemat", Err(FaultKind::Denied));
        check("/srv/place/../other", Err(FaultKind::Denied));
        check("/", Err(FaultKind::Denied));
        check("a\0b", Err(FaultKind::InvalidInput));
        check(&"x".repeat(256), Err(FaultKind::InvalidInput));
        check(&"x/".repeat(2100), Err(FaultKind::InvalidInput));
    }

    #[test]
    fn spill_view() {
        for (raw, inside) in [
            (".harness/spill", Some("")),
            (".harness/spill/001-x.txt", Some("001-x.txt")),
            (".harness/spilled", None),
            ("a/.harness/spill", None),
        ] {
            let path = JailPath::parse(raw, &[]).expect(raw);
            assert_eq!(path.inside_spill(), inside, "{raw}");
        }
    }

    proptest! {
        #[test]
        fn parsed_paths_are_plain(raw in "[a./\\\\ ~\0é-]{0,40}") {
            if let Ok(path) = JailPath::parse(&raw, &["/a".to_owned()]) {
                prop_assert!(!path.as_str().starts_with('/'));
                prop_assert!(path.parts().all(|part| part != ".." && part != "." && !part.contains('\0')));
                let again = JailPath::parse(path.as_str(), &[]).expect("a parsed path parses");
                prop_assert_eq!(again.as_str(), path.as_str());
            }
        }
    }
}
