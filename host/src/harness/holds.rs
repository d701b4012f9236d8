//! The lock of each directory: one run at a time in it, around it and inside it.
//!
//! Whoever finds it taken is refused or waits, as the configuration says; who waits gets it in the
//! order of coming. Knows directories and runs by name alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Every directory that is held or waited for.
#[derive(Default)]
pub(super) struct Holds {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Default)]
struct State {
    /// Canonical directory to the run that holds it.
    held: HashMap<String, String>,
    /// Those that wait, in the order of coming.
    waiting: Vec<Waiting>,
}

struct Waiting {
    run: String,
    directory: String,
}

/// A directory, held for one run. Dropping it lets the next run in.
pub(super) struct Hold {
    holds: Arc<Holds>,
    directory: String,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.holds.state().held.remove(&self.directory);
        self.holds.freed.notify_waiters();
    }
}

/// A run's place in the queue for a directory; given up when dropped.
pub(super) struct Queued {
    holds: Arc<Holds>,
    run: String,
    directory: String,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.holds.state().waiting.retain(|waiting| waiting.run != self.run);
        // Who came behind may have waited for this one alone.
        self.holds.freed.notify_waiters();
    }
}

impl Queued {
    /// Waits for the lock. Dropping the future gives the place up.
    pub(super) async fn wait(self) -> Hold {
        let Queued { holds, run, directory } = &self;
        loop {
            let mut freed = std::pin::pin!(holds.freed.notified());
            // Before the look: what is freed in between wakes us all the same.
            freed.as_mut().enable();
            let taken = {
                let mut state = holds.state();
                let before = state.waiting.iter().position(|waiting| waiting.run == *run);
                state.take(directory, run, before.unwrap_or(usize::MAX))
            };
            if taken.is_ok() {
                return Hold { holds: holds.clone(), directory: directory.clone() };
            }
            freed.await;
        }
    }
}

impl Holds {
    /// Takes the lock of `directory` for `run`.
    ///
    /// # Errors
    ///
    /// The run that stands in the way.
    pub(super) fn take(self: &Arc<Self>, directory: &str, run: &str) -> Result<Hold, String> {
        self.state().take(directory, run, usize::MAX)?;
        Ok(Hold { holds: self.clone(), directory: directory.to_owned() })
    }

    /// Takes a place in the queue for `directory`, behind everyone who has one.
    pub(super) fn queue(self: &Arc<Self>, directory: &str, run: &str) -> Queued {
        let (run, directory) = (run.to_owned(), directory.to_owned());
        self.state().waiting.push(Waiting { run: run.clone(), directory: directory.clone() });
        Queued { holds: self.clone(), run, directory }
    }

    /// The run that is at work in, around or inside `directory`, or waits to be.
    pub(super) fn holder(&self, directory: &str) -> Option<String> {
        let state = self.state();
        let held = state.held.iter().find(|(other, _)| overlap(directory, other));
        let waiting = state.waiting.iter().find(|w| overlap(directory, &w.directory));
        held.map(|(_, run)| run).or(waiting.map(|waiting| &waiting.run)).cloned()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the lock unless a run holds it, or one of the first `before` waits for it.
    fn take(&mut self, directory: &str, run: &str, before: usize) -> Result<(), String> {
        let held = self.held.iter().find(|(other, _)| overlap(directory, other));
        let queued = self.waiting.iter().take(before).find(|w| overlap(directory, &w.directory));
        match held.map(|(_, run)| run).or(queued.map(|waiting| &waiting.run)) {
            Some(other) => Err(other.clone()),
            None => {
                self.held.insert(directory.to_owned(), run.to_owned());
                Ok(())
            }
        }
    }
}

/// Whether one is the other, or lies in it.
fn overlap(one: &str, other: &str) -> bool {
    let within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    within(one, other) || within(other, one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_overlap() {
        for (one, other, expected) in [
            ("/a", "/a", true),
            ("/a", "/a/b", true),
            ("/a/b", "/a", true),
            ("/a", "/ab", false),
            ("/a/b", "/a/c", false),
        ] {
            assert_eq!(overlap(one, other), expected, "{one} {other}");
        }
    }

    #[tokio::test]
    async fn who_waits_gets_it_in_the_order_of_coming() {
        let holds = Arc::<Holds>::default();
        let first = holds.take("/a", "r1").unwrap_or_else(|_| panic!("free"));
        assert_eq!(holds.take("/a/b", "r2").err().as_deref(), Some("r1"));
        let (order, mut ends) = tokio::sync::mpsc::unbounded_channel();
        let mut tasks = Vec::new();
        for run in ["r2", "r3", "r4"] {
            let (queued, order) = (holds.queue("/a", run), order.clone());
            tasks.push(tokio::spawn(async move {
                let hold = queued.wait().await;
                order.send(run).unwrap();
                drop(hold);
            }));
        }
        // One that gives up does not stand in the way of those behind.
        tasks.remove(1).abort();
        // Nor does somebody who comes late overtake.
        assert_eq!(holds.take("/a", "late").err().as_deref(), Some("r1"));
        drop(first);
        assert_eq!(ends.recv().await, Some("r2"));
        assert_eq!(ends.recv().await, Some("r4"));
        assert!(holds.take("/b", "r5").is_ok());
    }
}
