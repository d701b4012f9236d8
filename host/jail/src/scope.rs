//! What of a workspace one plugin may read and change, by globs.
//!
//! A [`Scope`] narrows a jail, it never widens one: what it leaves out is refused, and left out of
//! listings and searches, as if in another workspace. It judges where a path leads, links followed,
//! and knows nothing of plugins or of files.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::fault::{Fault, FaultKind};
use crate::path::JailPath;

/// What may be read and what may be changed; everything, where nothing is said.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Of what can be read.
    pub read: Option<Globs>,
    /// Of what can be changed.
    pub write: Option<Globs>,
}

/// Globs over paths beneath the root. One that names a directory means all that is in it too.
#[derive(Debug, Clone)]
pub struct Globs {
    patterns: Vec<String>,
    within: GlobSet,
    /// The directories on the way to what could match.
    above: GlobSet,
}

impl Globs {
    /// Reads globs such as `docs/**`, `src` or `*.md`; `*` does not cross a `/`.
    ///
    /// # Errors
    /// For the operator: which is no glob, or is no path beneath the root.
    pub fn parse(patterns: &[String]) -> Result<Globs, String> {
        let (mut within, mut above) = (GlobSetBuilder::new(), GlobSetBuilder::new());
        let add = |set: &mut GlobSetBuilder, pattern: &str, whole: &str| {
            let glob = GlobBuilder::new(pattern).literal_separator(true).build();
            let glob = glob.map_err(|err| format!("`{whole}` is no glob: {}", err.kind()))?;
            set.add(glob);
            Ok::<(), String>(())
        };
        for whole in patterns {
            let pattern = whole.strip_suffix('/').unwrap_or(whole);
            let parts: Vec<&str> = pattern.split('/').collect();
            if parts.iter().any(|part| matches!(*part, "" | "." | "..")) {
                return Err(format!("`{whole}` must be a glob over paths beneath the workspace"));
            }
            add(&mut within, pattern, whole)?;
            add(&mut within, &format!("{pattern}/**"), whole)?;
            for end in 1..parts.len() {
                // An alternative that spans a `/` is cut here into what is no glob: no way there.
                let way = parts[..end].join("/");
                add(&mut above, &way, whole)?;
            }
        }
        let build = |set: GlobSetBuilder| set.build().map_err(|err| err.to_string());
        Ok(Globs { patterns: patterns.to_vec(), within: build(within)?, above: build(above)? })
    }

    /// As they were given.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether the path `real`, free of links, is one of those meant.
    pub fn admit(&self, real: &str) -> bool {
        self.within.is_match(real)
    }

    /// Whether what is meant may lie below the directory `real`.
    pub(crate) fn lead_through(&self, real: &str) -> bool {
        real.is_empty() || self.above.is_match(real)
    }

    /// The fault for what is left out.
    pub(crate) fn refuse(&self, path: &JailPath, verb: &str) -> Fault {
        let patterns = self.patterns.join("`, `");
        Fault::new(
            FaultKind::Denied,
            format!("`{path}` is outside what this plugin may {verb}: `{patterns}`"),
        )
        .with_hint("a person can widen that in the plugin's table of the configuration")
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Globs) -> bool {
        self.patterns == other.patterns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str]) -> Globs {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Globs::parse(&patterns).unwrap()
    }

    #[test]
    fn what_is_meant_and_the_way_there() {
        let check = |patterns: &[&str], real: &str, is_meant: bool, is_on_the_way: bool| {
            let globs = globs(patterns);
            assert_eq!(
                (globs.admit(real), globs.lead_through(real)),
                (is_meant, is_on_the_way),
                "{patterns:?} {real}"
            );
        };
        check(&["docs/**"], "docs/a.md", true, false);
        check(&["docs/**"], "docs/a/b.md", true, false);
        check(&["docs/**"], "docs", false, true);
        check(&["docs/**"], "docsx/a.md", false, false);
        check(&["docs"], "docs", true, false);
        check(&["docs/"], "docs/a/b.md", true, false);
        check(&["docs"], "", false, true);
        check(&["*.md"], "a.md", true, false);
        check(&["*.md"], "docs/a.md", false, false);
        check(&["**/*.md"], "docs/a.md", true, true);
        check(&["a/**/b"], "a/x/y/b", true, true);
        check(&["a/**/b"], "a/x/y", false, true);
        check(&["src/*/tests"], "src/one", false, true);
        check(&["src/*/tests"], "src/one/two", false, false);
        check(&["src/*/tests"], "src/one/tests/a.rs", true, false);
        check(&["a.txt", "b"], "b/c", true, false);
    }

    #[test]
    fn what_is_no_glob_beneath_the_root_is_told() {
        for pattern in ["", "/", "/etc/**", "../x", "a/../b", "./a", "a//b", "[", "a/{b"] {
            assert!(Globs::parse(&[pattern.to_owned()]).is_err(), "{pattern}");
        }
    }
}
