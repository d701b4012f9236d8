//! "Did you mean": the one place that decides whether a name is close enough to another.
//!
//! Used for settings, tools and plugins. It only suggests; nobody acts on a suggestion.

/// The candidate most like `name`, if one is close enough to have been meant.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro_winkler(&name, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_what_was_meant_and_nothing_else() {
        let names = ["read", "write", "edit", "glob", "grep", "bash"];
        let cases = [
            ("Read", Some("read")),
            ("read_file", Some("read")),
            ("wirte", Some("write")),
            ("gerp", Some("grep")),
            ("delegate", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, names.into_iter()), expected, "{name}");
        }
    }
}
