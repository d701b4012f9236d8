//! A parallel walk over a tree, by directory handles.
//!
//! Directories and chunks of files are tasks on one stack that a few threads share, so that a large
//! directory is spread over them too. It never follows a link, never enters `.git` and never shows
//! our temporary files. Ignored directories come last, and only as far as the caller lets them.

use std::ffi::OsString;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cap_std::fs::{Dir, FileType, FileTypeExt};

use super::ignores::Ignores;
use crate::entry::EntryKind;
use crate::handles;
use crate::unfinished::is_temporary;

/// Files handed to a thread at a time.
const CHUNK_FILES: usize = 64;

/// Threads at most, whatever the machine has: the disk is the bound beyond.
const MAX_THREADS: usize = 8;

/// Where and how to walk.
pub(crate) struct Start {
    /// The directory to walk.
    pub(crate) dir: Dir,
    /// Its path as results show it; empty for the root.
    pub(crate) shown: String,
    /// Its path beneath the root, for the ignore rules; empty for the root.
    pub(crate) real: String,
    /// The root, whose ignore rules and those on the way to `dir` count; `None`: no rules at all.
    pub(crate) root: Option<Dir>,
    /// Whether everything below counts as ignored unless the rules are asked to be passed over.
    pub(crate) is_ignored: bool,
    /// What to do below ignored directories.
    pub(crate) ignored: Ignored,
}

/// How far to walk below what the rules ignore.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ignored {
    /// As if there were no rules.
    Enter,
    /// Not at all.
    Leave,
    /// Up to this many entries, to count them.
    Count(usize),
}

/// One thing the walk came by.
pub(crate) struct Found<'a> {
    /// The directory that holds it.
    pub(crate) dir: &'a Dir,
    pub(crate) name: &'a OsString,
    /// Its path as results show it.
    pub(crate) path: String,
    pub(crate) kind: EntryKind,
    pub(crate) is_ignored: bool,
}

/// Walks below `start` and shows everything to `visit`, each thread with a state of its own. Gives
/// the states, and whether the walk came to its end before the deadline.
pub(crate) fn walk<S: Send>(
    start: Start,
    deadline: Instant,
    state: impl Fn() -> S + Sync,
    visit: impl Fn(&mut S, Found<'_>) + Sync,
) -> (Vec<S>, bool) {
    let rules = match &start.root {
        Some(root) => rules_above(root, &start.real),
        None => Ignores::none(),
    };
    let walk = Walk {
        uses_rules: start.root.is_some() && start.ignored != Ignored::Enter,
        enters_ignored: start.ignored != Ignored::Leave,
        budget: AtomicUsize::new(match start.ignored {
            Ignored::Count(entries) => entries,
            _ => usize::MAX,
        }),
        deadline,
        is_late: AtomicBool::new(false),
        queue: Mutex::default(),
        changed: Condvar::new(),
    };
    walk.push(vec![Task {
        dir: Arc::new(start.dir),
        path: start.shown,
        real: start.real,
        rules,
        is_ignored: start.is_ignored,
        work: Work::List(None),
    }]);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let work = || {
        let mut own = state();
        while let Some(task) = walk.next() {
            walk.run(task, &mut own, &visit);
            walk.done();
        }
        own
    };
    let states = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut states = vec![work()];
        for other in others {
            match other.join() {
                Ok(state) => states.push(state),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        states
    });
    (states, !walk.is_late.load(Ordering::Relaxed))
}

/// The rules of the root and of every directory on the way to `real`, which is not among them.
fn rules_above(root: &Dir, real: &str) -> Arc<Ignores> {
    let mut rules = Ignores::none();
    let mut here = root.try_clone();
    let mut path = String::new();
    for part in real.split('/').filter(|part| !part.is_empty()) {
        let Ok(dir) = here else { break };
        rules = rules.below(&dir, &path, |name| handles::stat_at(&dir, name.as_ref()).is_ok());
        path = join(&path, part);
        here = handles::open_dir_at(&dir, part.as_ref());
    }
    rules
}

/// Whether the rules exclude `real` or a directory it lies in.
pub(crate) fn is_excluded(root: &Dir, real: &str, is_directory: bool) -> bool {
    let mut path = String::new();
    let parts: Vec<&str> = real.split('/').filter(|part| !part.is_empty()).collect();
    parts.iter().enumerate().any(|(at, part)| {
        path = join(&path, part);
        let is_directory = is_directory || at + 1 < parts.len();
        rules_above(root, &path).excludes(&path, is_directory)
    })
}

/// Where something lies beneath the root that a walk from `real`, shown as `shown`, shows as `path`.
pub(crate) fn below(real: &str, shown: &str, path: &str) -> String {
    join(real, path[shown.len()..].trim_start_matches('/'))
}

/// Puts a name under a path; an empty one on either side adds nothing.
pub(crate) fn join(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        // By hand, for every name of the tree passes here.
        _ => [path, "/", name].concat(),
    }
}

struct Walk {
    uses_rules: bool,
    enters_ignored: bool,
    /// Entries below ignored directories that may still be looked at.
    budget: AtomicUsize,
    deadline: Instant,
    is_late: AtomicBool,
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// Last in, first out: that keeps few directories open.
    tasks: Vec<Task>,
    /// Ignored directories, for when there is nothing else.
    later: Vec<Task>,
    running: usize,
}

struct Task {
    dir: Arc<Dir>,
    /// The path of `dir` as shown, and beneath the root.
    path: String,
    real: String,
    rules: Arc<Ignores>,
    is_ignored: bool,
    work: Work,
}

enum Work {
    /// List a directory of this name in `dir`; `None` is `dir` itself.
    List(Option<OsString>),
    /// Show these to the visitor.
    Show(Vec<(OsString, EntryKind, bool)>),
}

impl Walk {
    fn run<S>(&self, task: Task, state: &mut S, visit: &impl Fn(&mut S, Found<'_>)) {
        match &task.work {
            Work::List(name) => self.list(&task, name.as_ref()),
            Work::Show(files) => {
                for (name, kind, is_ignored) in files {
                    if self.check_late() {
                        return;
                    }
                    let path = join(&task.path, &name.to_string_lossy());
                    visit(
                        state,
                        Found { dir: &task.dir, name, path, kind: *kind, is_ignored: *is_ignored },
                    );
                }
            }
        }
    }

    fn list(&self, task: &Task, name: Option<&OsString>) {
        if self.check_late() {
            return;
        }
        // What cannot be opened or listed holds nothing that can be shown.
        let (dir, path, real) = match name {
            None => (Arc::clone(&task.dir), task.path.clone(), task.real.clone()),
            Some(name) => {
                let Ok(dir) = handles::open_dir_at(&task.dir, name) else {
                    return;
                };
                let name = name.to_string_lossy();
                (Arc::new(dir), join(&task.path, &name), join(&task.real, &name))
            }
        };
        let Ok(entries) = dir.entries() else { return };
        let mut listed: Vec<(OsString, EntryKind)> = Vec::new();
        let mut has = [false; 3];
        for entry in entries.flatten() {
            let name = entry.file_name();
            match name.to_str() {
                Some(".gitignore") => has[0] = true,
                Some(".ignore") => has[1] = true,
                Some(".git") => {
                    has[2] = true;
                    continue;
                }
                _ if is_temporary(&name) => continue,
                _ => {}
            }
            let kind = entry.file_type().ok().and_then(|file_type| kind_of(&file_type));
            let kind = kind.or_else(|| handles::stat_at(&dir, &name).ok().map(|stat| stat.kind));
            listed.extend(kind.map(|kind| (name, kind)));
        }
        let rules = if self.uses_rules && has != [false; 3] {
            task.rules.below(&dir, &real, |name| match name {
                ".gitignore" => has[0],
                ".ignore" => has[1],
                _ => has[2],
            })
        } else {
            Arc::clone(&task.rules)
        };
        self.queue_listed(task, listed, &Listed { dir, path, real, rules });
    }

    fn queue_listed(&self, task: &Task, listed: Vec<(OsString, EntryKind)>, here: &Listed) {
        let mut shown = Vec::new();
        let mut tasks = Vec::new();
        let mut real = join(&here.real, "");
        for (name, kind) in listed {
            let is_directory = kind == EntryKind::Directory;
            let mut is_excluded = || {
                real.truncate(here.real.len());
                if !real.is_empty() {
                    real.push('/');
                }
                real.push_str(&name.to_string_lossy());
                here.rules.excludes(&real, is_directory)
            };
            let is_ignored = task.is_ignored || (self.uses_rules && is_excluded());
            if is_ignored && task.is_ignored && !self.spend() {
                break;
            }
            if is_directory && (!is_ignored || self.enters_ignored) {
                tasks.push(here.task(is_ignored, Work::List(Some(name.clone()))));
            }
            shown.push((name, kind, is_ignored));
        }
        while !shown.is_empty() {
            let rest = shown.split_off(shown.len().saturating_sub(CHUNK_FILES));
            tasks.push(here.task(task.is_ignored, Work::Show(rest)));
        }
        self.push(tasks);
    }

    /// Takes one entry from the budget; false when nothing is left of it.
    fn spend(&self) -> bool {
        let take = |left: usize| {
            if left == usize::MAX { Some(left) } else { left.checked_sub(1) }
        };
        self.budget.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    fn check_late(&self) -> bool {
        if Instant::now() >= self.deadline {
            self.is_late.store(true, Ordering::Relaxed);
        }
        self.is_late.load(Ordering::Relaxed)
    }

    fn push(&self, tasks: Vec<Task>) {
        let mut queue = self.queue();
        for task in tasks {
            if task.is_ignored { queue.later.push(task) } else { queue.tasks.push(task) }
        }
        drop(queue);
        self.changed.notify_all();
    }

    /// The next task; `None` when all is done.
    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        loop {
            let queued = &mut *queue;
            if let Some(task) = queued.tasks.pop().or_else(|| queued.later.pop()) {
                queue.running += 1;
                return Some(task);
            }
            if queue.running == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut queue = self.queue();
        queue.running -= 1;
        let is_over = queue.running == 0 && queue.tasks.is_empty() && queue.later.is_empty();
        drop(queue);
        if is_over {
            self.changed.notify_all();
        }
    }

    /// A thread that panicked ends the walk when it is joined, so the lock is taken as it is.
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listed directory, from which tasks are made.
struct Listed {
    dir: Arc<Dir>,
    path: String,
    real: String,
    rules: Arc<Ignores>,
}

impl Listed {
    fn task(&self, is_ignored: bool, work: Work) -> Task {
        Task {
            dir: Arc::clone(&self.dir),
            path: self.path.clone(),
            real: self.real.clone(),
            rules: Arc::clone(&self.rules),
            is_ignored,
            work,
        }
    }
}

/// `None` where the file system does not say in the listing.
fn kind_of(file_type: &FileType) -> Option<EntryKind> {
    if file_type.is_file() {
        Some(EntryKind::File)
    } else if file_type.is_dir() {
        Some(EntryKind::Directory)
    } else if file_type.is_symlink() {
        Some(EntryKind::Symlink)
    } else if file_type.is_fifo()
        || file_type.is_socket()
        || file_type.is_block_device()
        || file_type.is_char_device()
    {
        Some(EntryKind::Other)
    } else {
        None
    }
}
