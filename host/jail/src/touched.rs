//! Which files of a workspace were changed since a moment, by whomever.
//!
//! Goes by the time at which a file's data or name was last changed, which programs cannot set
//! back. Ignored files are passed over; what was removed leaves no trace here. Reads no file.

use std::time::Instant;

use crate::entry::EntryKind;
use crate::handles;
use crate::jail::Jail;
use crate::search::walk::{Ignored, Start, walk};

impl Jail {
    /// Paths of the files changed at or after `since_ms` (milliseconds since 1970), sorted; `None`
    /// when the walk was not finished by the deadline.
    pub fn touched_since(&self, since_ms: u64, deadline: Instant) -> Option<Vec<String>> {
        let start = Start {
            dir: self.dir.try_clone().ok()?,
            shown: String::new(),
            real: String::new(),
            root: self.dir.try_clone().ok(),
            is_ignored: false,
            ignored: Ignored::Leave,
        };
        let (gathered, is_complete) =
            walk(start, deadline, Vec::new, |own: &mut Vec<String>, found| {
                if found.is_ignored {
                    return;
                }
                let Ok(stat) = handles::stat_at(found.dir, found.name) else { return };
                if stat.kind != EntryKind::Directory && stat.changed_ms() >= since_ms {
                    own.push(found.path.clone());
                }
            });
        let mut paths: Vec<String> = gathered.into_iter().flatten().collect();
        paths.sort_unstable();
        is_complete.then_some(paths)
    }
}
