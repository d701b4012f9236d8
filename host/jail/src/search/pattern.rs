//! Glob patterns over paths, as tools write them.
//!
//! A pattern without a slash matches names at any depth; with one it counts from where the search
//! starts. `*` stops at a slash, `**` does not; braces and classes work. Pure text work.

use globset::{GlobBuilder, GlobMatcher};

use crate::fault::{Fault, FaultKind, head};

/// A compiled pattern.
pub(super) struct Pattern {
    matcher: GlobMatcher,
    /// Directories that every match lies in, as they stand at the head of the pattern.
    pub(super) start: String,
    /// A pattern that ends in a slash asks for directories, any other for everything else.
    pub(super) wants_directories: bool,
}

impl Pattern {
    /// Compiles `raw`. `roots` are the absolute spellings of the place the search starts from.
    ///
    /// # Errors
    /// `invalid-input` for a pattern that does not parse or that leads upwards.
    pub(super) fn parse(raw: &str, roots: &[String]) -> Result<Pattern, Fault> {
        let relative = strip_root(raw, roots);
        let relative = relative.trim_start_matches("./");
        if relative.starts_with('/') {
            return Err(Fault::new(
                FaultKind::Denied,
                format!("pattern `{}` is absolute and outside the searched directory", head(raw)),
            )
            .with_hint("use a pattern relative to the searched directory"));
        }
        if relative.split('/').any(|part| part == "..") {
            return Err(Fault::new(
                FaultKind::InvalidInput,
                format!("pattern `{}` leads upwards with `..`", head(raw)),
            )
            .with_hint("name the directory to search as the path instead"));
        }
        let wants_directories = relative.ends_with('/');
        let body = relative.trim_end_matches('/');
        if body.is_empty() {
            return Err(Fault::new(FaultKind::InvalidInput, "the pattern is empty")
                .with_hint("use `**/*` for everything"));
        }
        let full = if body.contains('/') { body.to_owned() } else { format!("**/{body}") };
        let matcher = GlobBuilder::new(&full)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|err| {
                Fault::new(
                    FaultKind::InvalidInput,
                    format!("pattern `{}` does not parse: {}", head(raw), err.kind()),
                )
                .with_hint("escape a literal `[`, `{`, `*` or `?` with a backslash")
            })?
            .compile_matcher();
        Ok(Pattern { matcher, start: literal_start(&full), wants_directories })
    }

    /// Whether `path`, relative to where the search starts, matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

fn strip_root<'a>(raw: &'a str, roots: &[String]) -> &'a str {
    let inside = |root: &String| raw.strip_prefix(root.as_str())?.strip_prefix('/');
    roots.iter().find_map(inside).unwrap_or(raw)
}

/// The leading parts without special characters, the last part never among them.
fn literal_start(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.split('/').collect();
    let literal = parts[..parts.len() - 1]
        .iter()
        .take_while(|part| !part.contains(['*', '?', '[', ']', '{', '}', '\\', ',']));
    let literal: Vec<&str> =
        literal.copied().filter(|part| !part.is_empty() && *part != ".").collect();
    // A brace that opens later and holds a slash makes what seems a directory a part of it; one
    // that opened earlier has ended the literal parts already.
    literal.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, path: &str, expected: bool) {
        let parsed = Pattern::parse(pattern, &["/w".to_owned()]).expect(pattern);
        assert_eq!(parsed.matches(path), expected, "{pattern} {path}");
    }

    #[test]
    fn matches() {
        check("*.rs", "a.rs", true);
        check("*.rs", "src/deep/a.rs", true);
        check("src/*.rs", "src/a.rs", true);
        check("src/*.rs", "src/deep/a.rs", false);
        check("src/**/*.rs", "src/a.rs", true);
        check("**/*.yml", ".github/workflows/ci.yml", true);
        check("*.{ts,tsx}", "x/a.tsx", true);
        check("./src/*.rs", "src/a.rs", true);
        check("/w/src/*.rs", "src/a.rs", true);
        check("{a,b}/x", "b/x", true);
    }

    #[test]
    fn starts() {
        for (pattern, start) in [
            ("src/a/*.rs", "src/a"),
            ("*.rs", ""),
            ("src/**/x", "src"),
            ("a/b", "a"),
            ("{a,b}/x", ""),
        ] {
            let parsed = Pattern::parse(pattern, &[]).expect(pattern);
            assert_eq!(parsed.start, start, "{pattern}");
        }
    }

    #[test]
    fn refusals() {
        for pattern in ["/etc/*", "../x", "a/../b", "", "a[", "{a"] {
            assert!(Pattern::parse(pattern, &["/w".to_owned()]).is_err(), "{pattern}");
        }
    }
}
