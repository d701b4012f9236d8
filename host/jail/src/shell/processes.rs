//! Finding the processes of a call or a session, and ending them.
//!
//! A process belongs to a call when it is in the session or group of the call's leader, when it
//! carries the call's mark in its environment, or when its parent belongs. So one that made a
//! session of its own, or was orphaned, is found as well; one that shed mark, session and parents
//! together is not: that takes a namespace. The server itself is never among them.

use std::collections::HashSet;
use std::io::Read;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::MARK_VARIABLE;

/// How often it is looked again after a kill: a process may have been born in between.
const KILL_ROUNDS: usize = 5;

/// More than the line of fields about a process ever has.
const MAX_STAT_BYTES: usize = 1024;

/// The most bytes of an environment that are searched for the mark.
const MAX_ENVIRONMENT_BYTES: u64 = 1024 * 1024;

/// One process; the time of its start tells it from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Process {
    pid: i32,
    /// In ticks since the machine started.
    start: u64,
}

impl Process {
    pub(super) fn is_alive(&self) -> bool {
        proc_dir()
            .and_then(|proc_dir| Row::read(&proc_dir, self.pid))
            .is_some_and(|row| row.process() == *self && !row.is_dead())
    }
}

/// What the processes in question have in common.
pub(super) struct Mark {
    /// The value of the mark, or its head.
    value: Option<MarkValue>,
    /// The leader whose session and group count; 0 for none.
    leader: i32,
    /// Nothing that started before this can belong, in ticks since the machine started.
    since: u64,
    /// Processes known to belong.
    known: HashSet<Process>,
}

enum MarkValue {
    Exactly(String),
    StartsWith(String),
}

impl Mark {
    /// The processes of one call.
    pub(super) fn call(value: &str, leader: i32) -> Mark {
        let value = Some(MarkValue::Exactly(value.to_owned()));
        // The leader is not reaped yet, so it has a row even when it has ended already.
        let row = proc_dir().and_then(|proc_dir| Row::read(&proc_dir, leader));
        Mark { value, leader, since: row.map_or(0, |row| row.start), known: HashSet::new() }
    }

    /// The processes of all calls of a session. Leaders do not count here: the number of one that
    /// ended long ago may be another's by now.
    pub(super) fn session(session: &str, known: HashSet<Process>) -> Mark {
        Mark {
            value: Some(MarkValue::StartsWith(format!("{session}/"))),
            leader: 0,
            since: 0,
            known,
        }
    }

    /// No process at all.
    pub(super) fn nothing() -> Mark {
        Mark { value: None, leader: 0, since: 0, known: HashSet::new() }
    }

    /// The processes that are there now, without those that are dead and only not reaped.
    pub(super) fn find(&self) -> Vec<Process> {
        if self.value.is_none() {
            return Vec::new();
        }
        let Some(proc_dir) = proc_dir() else {
            return Vec::new();
        };
        let rows = rows(&proc_dir, self.since);
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        let mut belongs: HashSet<i32> = HashSet::new();
        for row in &rows {
            let is_led =
                self.leader > 0 && (row.session == self.leader || row.group == self.leader);
            if is_led || self.known.contains(&row.process()) || self.marks(&proc_dir, row.pid) {
                belongs.insert(row.pid);
            }
        }
        belongs.remove(&own);
        loop {
            let children: Vec<i32> = rows
                .iter()
                .filter(|row| belongs.contains(&row.parent) && !belongs.contains(&row.pid))
                .map(|row| row.pid)
                .filter(|pid| *pid != own)
                .collect();
            if children.is_empty() {
                break;
            }
            belongs.extend(children);
        }
        rows.iter()
            .filter(|row| belongs.contains(&row.pid) && !row.is_dead())
            .map(Row::process)
            .collect()
    }

    /// Asks all to end.
    pub(super) fn terminate(&self) {
        self.signal(Signal::SIGTERM);
    }

    /// Ends all, and looks again until none is left or it was tried often enough.
    pub(super) fn kill(&self) {
        for _ in 0..KILL_ROUNDS {
            if self.signal(Signal::SIGKILL) == 0 {
                return;
            }
        }
    }

    /// How many were signalled.
    fn signal(&self, signal: Signal) -> usize {
        let found = self.find();
        // The group in one call first: its members then cannot answer the death of another.
        if self.leader > 0 && !found.is_empty() {
            let _ = killpg(Pid::from_raw(self.leader), signal);
        }
        for process in &found {
            let _ = kill(Pid::from_raw(process.pid), signal);
        }
        found.len()
    }

    fn marks(&self, proc_dir: &Dir, pid: i32) -> bool {
        let Some(environment) = environment(proc_dir, pid) else {
            return false;
        };
        let name = format!("{MARK_VARIABLE}=");
        environment
            .split(|byte| *byte == 0)
            .filter_map(|variable| variable.strip_prefix(name.as_bytes()))
            .any(|value| match &self.value {
                Some(MarkValue::Exactly(exact)) => value == exact.as_bytes(),
                Some(MarkValue::StartsWith(head)) => value.starts_with(head.as_bytes()),
                None => false,
            })
    }
}

/// What the system tells about one process.
struct Row {
    pid: i32,
    state: u8,
    parent: i32,
    group: i32,
    session: i32,
    start: u64,
}

impl Row {
    fn read(proc_dir: &Dir, pid: i32) -> Option<Row> {
        // One read: this runs for every process of the machine after each command.
        let mut buffer = [0; MAX_STAT_BYTES];
        let len = proc_dir.open(format!("{pid}/stat")).ok()?.read(&mut buffer).ok()?;
        Row::parse(pid, &String::from_utf8_lossy(&buffer[..len]))
    }

    /// The name in brackets may hold anything, so the fields are counted from its end.
    fn parse(pid: i32, stat: &str) -> Option<Row> {
        let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let start = fields.nth(15)?.parse().ok()?;
        Some(Row { pid, state, parent, group, session, start })
    }

    fn process(&self) -> Process {
        Process { pid: self.pid, start: self.start }
    }

    fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X')
    }
}

fn proc_dir() -> Option<Dir> {
    Dir::open_ambient_dir("/proc", ambient_authority()).ok()
}

/// The processes that started at `since` or later.
fn rows(proc_dir: &Dir, since: u64) -> Vec<Row> {
    let Ok(entries) = proc_dir.entries() else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Row::read(proc_dir, pid))
        .filter(|row| row.start >= since)
        .collect()
}

fn environment(proc_dir: &Dir, pid: i32) -> Option<Vec<u8>> {
    let file = proc_dir.open(format!("{pid}/environ")).ok()?.into_std();
    let mut bytes = Vec::with_capacity(8 * 1024);
    file.take(MAX_ENVIRONMENT_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let line = "42 (a) b) S 7 40 39 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2";
        let row = Row::parse(42, line).expect("a stat line");
        assert_eq!(
            (row.state, row.parent, row.group, row.session, row.start),
            (b'S', 7, 40, 39, 987_654)
        );
        assert!(Row::parse(1, "nonsense").is_none());
    }

    #[test]
    fn we_know_ourselves() {
        let own = i32::try_from(std::process::id()).expect("a small number");
        let proc_dir = proc_dir().expect("/proc is there");
        let process = Row::read(&proc_dir, own).expect("we run").process();
        assert!(process.is_alive());
        assert!(!Process { start: process.start + 1, ..process }.is_alive());
    }
}
