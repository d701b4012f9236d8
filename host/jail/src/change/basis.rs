//! May this change be made? Compares what is there with what the change assumes.
//!
//! Pure judgement over what was read; the texts tell the model what to do instead.

use crate::change::{Basis, Current};
use crate::fault::{Fault, FaultKind};
use crate::lines;
use crate::nearest;
use crate::observations::Observed;
use crate::path::JailPath;
use crate::resolve::Place;

/// How many missing ranges of lines are listed.
const MAX_LISTED_RANGES: usize = 5;

/// Checks `basis` against the file as it was found.
pub(super) fn check(
    path: &JailPath,
    place: &Place,
    basis: &Basis,
    current: Option<&Current>,
    observed: Option<&Observed>,
) -> Result<(), Fault> {
    let Some(current) = current else {
        return match basis {
            Basis::Absent => Ok(()),
            Basis::Read(_) => Err(Fault::new(
                FaultKind::Conflict,
                format!("`{path}` was removed since it was read"),
            )
            .with_hint("look again at what is there")),
            Basis::Shown | Basis::ShownWhole => Err(nearest::missing(place, path)),
        };
    };
    match basis {
        Basis::Absent => Err(Fault::new(FaultKind::Conflict, format!("`{path}` already exists"))
            .with_hint("read it and use edit to change it")),
        Basis::Read(version) if *version == current.version => Ok(()),
        Basis::Read(_) => Err(changed(path)),
        Basis::Shown | Basis::ShownWhole => {
            let observed = known(path, current, observed)?;
            let missing = observed.lines.missing(lines::count(&current.bytes));
            match basis {
                Basis::ShownWhole if !missing.is_empty() => Err(partly_shown(path, &missing)),
                _ => Ok(()),
            }
        }
    }
}

/// The observation, if it is of the version that is there and shows any of it.
fn known<'a>(
    path: &JailPath,
    current: &Current,
    observed: Option<&'a Observed>,
) -> Result<&'a Observed, Fault> {
    let never = || {
        Fault::new(FaultKind::Conflict, format!("`{path}` has not been read in this session"))
            .with_hint("read it first, then send the change again")
    };
    let observed = observed.ok_or_else(never)?;
    if observed.is_forgotten {
        return Err(Fault::new(
            FaultKind::Conflict,
            format!("you read `{path}`, but that part of the conversation was summarised away"),
        )
        .with_hint("read it again, then send the change again"));
    }
    if observed.version != current.version {
        return Err(changed(path));
    }
    Ok(observed)
}

/// The file is not what it was.
pub(super) fn changed(path: &JailPath) -> Fault {
    Fault::new(FaultKind::Conflict, format!("`{path}` has changed since it was read"))
        .with_hint("re-read it, then make the change to what is there now")
}

fn partly_shown(path: &JailPath, missing: &[(u64, u64)]) -> Fault {
    let mut ranges: Vec<String> = missing
        .iter()
        .take(MAX_LISTED_RANGES)
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    if missing.len() > MAX_LISTED_RANGES {
        ranges.push(format!("{} more ranges", missing.len() - MAX_LISTED_RANGES));
    }
    Fault::new(
        FaultKind::Conflict,
        format!("only a part of `{path}` was read; not shown were lines {}", ranges.join(", ")),
    )
    .with_hint("read these lines before you replace the whole file, or use edit")
}
