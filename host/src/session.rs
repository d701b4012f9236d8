//! Sessions: one caller in one directory, with what the model was shown of it.
//!
//! A session outlives its runs; its runs take turns. What a run needs of it is lent by reference:
//! the workspace to the tools, the changes to the guards' view of the past. Knows no request and
//! no model.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use harness_jail::Fingerprint;

use crate::deadline::Deadline;
use crate::plugin::Workspace;

/// The longest a look at the whole tree may take; a tree that needs more counts as changed.
const LOOKING: Duration = Duration::from_millis(250);

/// Idle sessions that stay open. Each holds two directory handles; with more of them a server that
/// only ever makes fresh workspaces would run out of handles.
const IDLE: usize = 256;

/// An open session.
pub struct Session {
    /// `ws_` and 32 hexadecimal digits.
    pub id: String,
    /// The canonical directory.
    pub directory: String,
    /// What its tools reach.
    pub workspace: Arc<Workspace>,
    /// How often the workspace was changed.
    pub changes: Changes,
}

/// Counts changes of a workspace, so that "unchanged since" is a comparison of numbers.
///
/// A write tells whether it altered bytes. A command does not, and looking at the whole tree after
/// each would cost more than most commands: it counts as a change, unless it repeats the call
/// before it. Only then the tree is looked at, before and after.
#[derive(Default)]
pub struct Changes {
    count: AtomicU64,
    tree: Mutex<Option<Fingerprint>>,
}

impl Changes {
    /// Changes so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Something changed, and the last look is void.
    pub fn changed(&self) {
        *self.tree() = None;
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// Looks at the tree; counts a change unless it is as it was at the last look.
    pub fn look(&self, workspace: &Workspace) {
        let seen = see(workspace);
        let mut tree = self.tree();
        if seen.is_none() || seen != *tree {
            self.count.fetch_add(1, Ordering::AcqRel);
        }
        *tree = seen;
    }

    /// Looks at the tree to have something to compare with; counts only what differs from the
    /// last look, if there was one.
    pub fn look_before(&self, workspace: &Workspace) {
        let was_seen = self.tree().is_some();
        if was_seen {
            self.look(workspace);
        } else {
            *self.tree() = see(workspace);
        }
    }

    fn tree(&self) -> std::sync::MutexGuard<'_, Option<Fingerprint>> {
        // Poisoned or not, it is one value that is written whole.
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The tree as it is; None when it takes too long to tell.
fn see(workspace: &Workspace) -> Option<Fingerprint> {
    let until = Deadline::after(LOOKING).instant();
    tokio::task::block_in_place(|| workspace.jail.fingerprint(until))
}

/// The sessions that are open, by id.
#[derive(Default)]
pub struct Sessions {
    open: HashMap<String, (Arc<Session>, u64)>,
    uses: u64,
}

impl Sessions {
    /// The open session of that id.
    pub fn get(&mut self, id: &str) -> Option<Arc<Session>> {
        self.uses += 1;
        let (session, last_use) = self.open.get_mut(id)?;
        *last_use = self.uses;
        Some(session.clone())
    }

    /// Takes a session in, unless its id is open already: then that one is everyone's. Gives the
    /// session, and one that was let go of for it: idle, and the longest unused.
    pub fn admit(&mut self, session: Session) -> (Arc<Session>, Option<Arc<Session>>) {
        self.uses += 1;
        let (id, session) = (session.id.clone(), Arc::new(session));
        let (session, last_use) = self.open.entry(id).or_insert((session, 0));
        *last_use = self.uses;
        let session = session.clone();
        (session, self.let_go())
    }

    /// Forgets a session, and gives it; runs that are in it keep it.
    pub fn remove(&mut self, id: &str) -> Option<Arc<Session>> {
        self.open.remove(id).map(|(session, _)| session)
    }

    /// Every open session.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.open.values().map(|(session, _)| session)
    }

    /// Forgets every idle session, and gives them.
    pub fn let_go_all(&mut self) -> Vec<Arc<Session>> {
        let idle = self.open.extract_if(|_, (session, _)| Arc::strong_count(session) == 1);
        idle.map(|(_, (session, _))| session).collect()
    }

    fn let_go(&mut self) -> Option<Arc<Session>> {
        if self.open.len() <= IDLE {
            return None;
        }
        // A session that a run works in is held by it too.
        let idle = self.open.iter().filter(|(_, (session, _))| Arc::strong_count(session) == 1);
        let oldest = idle.min_by_key(|(_, (_, last_use))| *last_use);
        let id = oldest.map(|(id, _)| id.clone())?;
        self.open.remove(&id).map(|(session, _)| session)
    }
}
