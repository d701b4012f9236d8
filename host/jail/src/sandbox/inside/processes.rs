//! The processes below this one.

use std::collections::HashSet;
use std::io::Read;
use std::time::{Duration, Instant};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// More than the line of fields about a process ever has.
const MAX_STAT_BYTES: usize = 1024;

/// How long ending everything is tried.
const ENDING: Duration = Duration::from_secs(2);

/// All children, their children and so on, without those that are dead and only not reaped.
pub(super) fn descendants() -> Vec<i32> {
    let rows = rows().unwrap_or_default();
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut below = HashSet::from([own]);
    loop {
        let before = below.len();
        below.extend(
            rows.iter()
                .filter(|row| below.contains(&row.parent))
                .map(|row| row.pid)
                .collect::<Vec<_>>(),
        );
        if below.len() == before {
            break;
        }
    }
    rows.iter()
        .filter(|row| row.pid != own && below.contains(&row.pid) && !row.is_dead)
        .map(|row| row.pid)
        .collect()
}

/// Ends everything below, also what is born meanwhile.
pub(super) fn kill_descendants() {
    let deadline = Instant::now() + ENDING;
    while Instant::now() < deadline {
        let found = descendants();
        if found.is_empty() {
            return;
        }
        for pid in found {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What the system tells about one process.
struct Row {
    pid: i32,
    parent: i32,
    is_dead: bool,
}

/// The name in brackets may hold anything, so the fields are counted from its end.
fn parse(pid: i32, stat: &str) -> Option<Row> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    Some(Row { pid, parent: fields.next()?.parse().ok()?, is_dead })
}

fn rows() -> std::io::Result<Vec<Row>> {
    let proc_dir = Dir::open_ambient_dir("/proc", ambient_authority())?;
    let mut rows = Vec::new();
    for entry in proc_dir.entries()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let mut buffer = [0; MAX_STAT_BYTES];
        // Who ended in between is not there.
        let Ok(len) =
            proc_dir.open(format!("{pid}/stat")).and_then(|mut file| file.read(&mut buffer))
        else {
            continue;
        };
        rows.extend(parse(pid, &String::from_utf8_lossy(&buffer[..len])));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines() {
        let row = parse(42, "42 (a) b) S 7 40 39 0 -1 4194560 1 2 3").expect("a stat line");
        assert_eq!((row.pid, row.parent, row.is_dead), (42, 7, false));
        assert!(parse(42, "42 (a) Z 7 40").expect("a stat line").is_dead);
        assert!(parse(1, "nonsense").is_none());
    }
}
