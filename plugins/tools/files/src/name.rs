//! Names near one that does not exist.
//!
//! Pure: takes the names that are there. Only close ones are offered, because a wrong offer
//! costs the model a turn.

/// How many names are offered.
const MOST: usize = 3;

/// The nearest of `names`, best first: the same but for case, then few edits, then one that
/// contains the other.
pub(crate) fn nearest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let folded = wanted.to_lowercase();
    let mut scored: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let other = name.to_lowercase();
            let edits = distance(&folded, &other);
            let stem = |text: &str| text.split('.').next().unwrap_or_default().to_owned();
            let is_part = folded.len() > 2 && (other.contains(&folded) || folded.contains(&other));
            let is_near = edits <= folded.chars().count().div_ceil(4).max(1);
            (is_near || is_part || stem(&folded) == stem(&other)).then_some((edits, name))
        })
        .collect();
    scored.sort();
    scored.truncate(MOST);
    scored.into_iter().map(|(_, name)| name).collect()
}

/// Single-character insertions, removals and replacements between two names.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_offered_and_far_ones_are_not() {
        let there = ["main.rs", "lib.rs", "README.md", "config.toml", "z"];
        let check = |wanted: &str, expected: &[&str]| {
            assert_eq!(nearest(wanted, there.into_iter()), expected, "{wanted}");
        };
        check("mian.rs", &["main.rs"]);
        check("readme.md", &["README.md"]);
        check("config.yaml", &["config.toml"]);
        check("server.py", &[]);
    }
}
