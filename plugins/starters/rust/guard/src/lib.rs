//! Refuses writes outside `src/`.
//!
//! It judges by where a path leads, which the host found out, links followed: to `src/../.env`, and
//! to a link that leads there, it says the same. It has no way to allow a call, only no objection.

use harness_sdk::{Denial, Effects, Guard, Proposal, export_guard};

struct OutsideSrc;

export_guard!(OutsideSrc);

impl Guard for OutsideSrc {
    fn check(proposal: Proposal) -> Option<Denial> {
        // Which files a command writes, its text does not say; a guard may refuse commands whole.
        let is_command = proposal.effects.contains(Effects::EXECUTE);
        if is_command || !proposal.effects.contains(Effects::WRITE) {
            return None;
        }
        let outside = proposal.paths.iter().find(|named| !is_inside(named.path.as_deref()))?;
        Some(Denial::new(
            "outside-src",
            format!(
                "`{}` leads to {}, and only files below `src/` may be written: write there, or say \
                 what you would change",
                outside.argument,
                outside.path.as_ref().map_or("no known place".into(), |path| format!("`{path}`")),
            ),
        ))
    }
}

/// A path that leads nowhere known is not inside.
fn is_inside(path: Option<&str>) -> bool {
    path.is_some_and(|path| path.starts_with("src/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_src_is_inside() {
        for (path, inside) in [("src/a.rs", true), ("src", false), ("srcs/a", false), ("", false)] {
            assert_eq!(is_inside(Some(path)), inside, "{path}");
        }
        assert!(!is_inside(None));
    }
}
