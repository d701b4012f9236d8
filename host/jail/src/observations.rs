//! What the model was shown: of which file, in which version, which lines.
//!
//! One record per session, keyed by the path of the file itself beneath the root, so that a link
//! and its target share it. It never looks at the disk; whether an observation still holds is
//! decided where a change is made. Whoever keeps it over a restart takes what changed, as text, and
//! gives it back; an observation that is lost on the way costs one more read and nothing else.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::lines::LineSet;

/// Files of one session. Of more, those longest unused are dropped, and must be read again.
const MAX_FILES: usize = 1_000;

/// Stands for the lines in a text.
const FORGOTTEN: &str = "forgotten";

/// The observations of one session. Shared freely between threads.
#[derive(Debug, Default)]
pub struct Observations {
    files: Mutex<Files>,
}

/// What was shown of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Observed {
    pub(crate) version: String,
    pub(crate) lines: LineSet,
    /// The part of the conversation that showed it is gone.
    pub(crate) is_forgotten: bool,
}

#[derive(Debug, Default)]
struct Files {
    known: HashMap<String, Known>,
    /// Files whose observation is not what was last taken.
    changed: BTreeSet<String>,
    uses: u64,
}

#[derive(Debug)]
struct Known {
    observed: Observed,
    last_use: u64,
}

impl Observations {
    /// Nothing was shown yet.
    pub fn new() -> Observations {
        Observations::default()
    }

    /// As they were when they were taken, file by file. A text that is not ours counts for nothing.
    pub fn restored(kept: impl IntoIterator<Item = (String, String)>) -> Observations {
        let mut files = Files::default();
        for (real, text) in kept {
            if let Some(observed) = Observed::from_text(&text) {
                files.set(&real, observed);
            }
        }
        files.changed.clear();
        Observations { files: Mutex::new(files) }
    }

    /// Every file whose observation changed since the last time, with its text; none where there is
    /// no observation any more.
    pub fn take_changed(&self) -> Vec<(String, Option<String>)> {
        let mut files = self.files();
        let changed = std::mem::take(&mut files.changed);
        let text = |real: &str| files.known.get(real).map(|known| known.observed.to_text());
        changed
            .into_iter()
            .map(|real| {
                let text = text(&real);
                (real, text)
            })
            .collect()
    }

    /// Marks every observation as forgotten: the model no longer sees what showed the files, so
    /// they have to be read again before they are changed.
    pub fn forget_all(&self) {
        let mut files = self.files();
        let Files { known, changed, .. } = &mut *files;
        for (real, Known { observed, .. }) in known {
            if !observed.is_forgotten {
                *observed = Observed { is_forgotten: true, ..Observed::new(&observed.version) };
                changed.insert(real.clone());
            }
        }
    }

    pub(crate) fn shown(&self, real: &str, version: &str, first_line: u64, last_line: u64) {
        let mut files = self.files();
        let known = files.known.get(real).map(|known| &known.observed);
        let current = known.filter(|known| known.version == version && !known.is_forgotten);
        let mut observed = current.cloned().unwrap_or_else(|| Observed::new(version));
        observed.lines.add(first_line, last_line);
        files.set(real, observed);
    }

    pub(crate) fn of(&self, real: &str) -> Option<Observed> {
        self.files().known.get(real).map(|known| known.observed.clone())
    }

    /// Our own write made this version, of which the model knows these lines.
    pub(crate) fn written(&self, real: &str, version: &str, lines: LineSet) {
        let observed = Observed { version: version.to_owned(), lines, is_forgotten: false };
        self.files().set(real, observed);
    }

    pub(crate) fn moved(&self, old_real: &str, new_real: &str) {
        let mut files = self.files();
        let below = format!("{old_real}/");
        let moved: Vec<String> = files
            .known
            .keys()
            .filter(|real| *real == old_real || real.starts_with(&below))
            .cloned()
            .collect();
        for real in moved {
            if let Some(observed) = files.remove(&real) {
                files.set(&format!("{new_real}{}", &real[old_real.len()..]), observed);
            }
        }
    }

    pub(crate) fn removed(&self, real: &str) {
        self.files().remove(real);
    }

    /// A panic elsewhere cannot leave the map half changed, so a poisoned lock is taken as it is.
    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn set(&mut self, real: &str, observed: Observed) {
        self.uses += 1;
        let last_use = self.uses;
        if let Some(known) = self.known.get_mut(real) {
            known.last_use = last_use;
            if known.observed == observed {
                return;
            }
            known.observed = observed;
        } else {
            self.known.insert(real.to_owned(), Known { observed, last_use });
        }
        self.changed.insert(real.to_owned());
        if self.known.len() > MAX_FILES {
            let oldest = self.known.iter().min_by_key(|(_, known)| known.last_use);
            if let Some(real) = oldest.map(|(real, _)| real.clone()) {
                self.remove(&real);
            }
        }
    }

    fn remove(&mut self, real: &str) -> Option<Observed> {
        let known = self.known.remove(real)?;
        self.changed.insert(real.to_owned());
        Some(known.observed)
    }
}

impl Observed {
    fn new(version: &str) -> Observed {
        Observed { version: version.to_owned(), lines: LineSet::default(), is_forgotten: false }
    }

    /// The version and the lines: `b3:… 1-40,90`.
    fn to_text(&self) -> String {
        match self.is_forgotten {
            true => format!("{} {FORGOTTEN}", self.version),
            false => format!("{} {}", self.version, self.lines),
        }
    }

    fn from_text(text: &str) -> Option<Observed> {
        let (version, rest) = text.split_once(' ')?;
        match rest {
            FORGOTTEN => Some(Observed { is_forgotten: true, ..Observed::new(version) }),
            lines => Some(Observed { lines: lines.parse().ok()?, ..Observed::new(version) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a keeper of texts has after every change.
    fn keep(kept: &mut HashMap<String, String>, seen: &Observations) {
        for (real, text) in seen.take_changed() {
            match text {
                Some(text) => kept.insert(real, text),
                None => kept.remove(&real),
            };
        }
    }

    #[test]
    fn only_what_changed_is_taken() {
        let seen = Observations::new();
        seen.shown("a", "b3:1", 1, 4);
        seen.shown("a", "b3:1", 9, 9);
        seen.shown("b", "b3:2", 1, 0);
        let taken = |real: &str, text: Option<&str>| (real.to_owned(), text.map(str::to_owned));
        let expected = [taken("a", Some("b3:1 1-4,9")), taken("b", Some("b3:2 "))];
        assert_eq!(seen.take_changed(), expected);
        seen.shown("a", "b3:1", 2, 3);
        assert_eq!(seen.take_changed(), [], "nothing new was shown");
        seen.moved("a", "c");
        seen.removed("b");
        seen.removed("never");
        let expected = [taken("a", None), taken("b", None), taken("c", Some("b3:1 1-4,9"))];
        assert_eq!(seen.take_changed(), expected);
        seen.forget_all();
        seen.forget_all();
        assert_eq!(seen.take_changed(), [taken("c", Some("b3:1 forgotten"))]);
    }

    #[test]
    fn a_text_of_another_makes_no_observation() {
        for text in ["", "b3:1", "b3:1 x", "b3:1 1-", "b3:1 4-2", "b3:1 0", "b3:1 1-2,2-3"] {
            let seen = Observations::restored([("a".to_owned(), text.to_owned())]);
            assert_eq!(seen.of("a"), None, "{text}");
        }
    }

    #[test]
    fn the_files_are_bounded_and_the_longest_unused_go() {
        let seen = Observations::new();
        let mut kept = HashMap::new();
        for n in 0..MAX_FILES {
            seen.shown(&n.to_string(), "b3:1", 1, 1);
        }
        keep(&mut kept, &seen);
        seen.shown("0", "b3:1", 1, 1);
        seen.shown("new", "b3:1", 1, 1);
        keep(&mut kept, &seen);
        assert_eq!(kept.len(), MAX_FILES);
        assert!(kept.contains_key("0") && kept.contains_key("new") && !kept.contains_key("1"));
    }

    proptest! {
        #[test]
        fn what_is_kept_is_what_is_known(
            steps in proptest::collection::vec((0u8..6, 0usize..4, 0usize..4, 0u64..9, 0u64..9), 0..30),
        ) {
            const FILES: [&str; 4] = ["a", "d/b", "d/e/c", "d"];
            let seen = Observations::new();
            let mut kept = HashMap::new();
            for (step, file, other, first, last) in steps {
                let (file, other) = (FILES[file], FILES[other]);
                match step {
                    0 | 1 => seen.shown(file, &format!("b3:{}", first % 2), first, last),
                    2 => seen.written(file, "b3:w", LineSet::through(last)),
                    3 => seen.moved(file, other),
                    4 => seen.removed(file),
                    _ => seen.forget_all(),
                }
                keep(&mut kept, &seen);
                let again = Observations::restored(kept.clone());
                for file in FILES {
                    prop_assert_eq!(again.of(file), seen.of(file));
                }
                prop_assert_eq!(again.take_changed(), vec![]);
            }
        }
    }
}
