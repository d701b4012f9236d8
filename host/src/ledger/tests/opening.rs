//! Who may open the file, which files are refused, and what a torn log leaves.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::event::State;

#[tokio::test]
async fn two_cannot_have_it_open() {
    let (_directory, path) = place();
    let ledger = open(&path);
    let second = Ledger::open(&path, SYNC).unwrap_err();
    let expected =
        format!("ledger `{}` is in use by process {}", path.display(), std::process::id());
    assert_eq!(second.to_string(), expected);
    ledger.close().await;
    open(&path);
}

#[tokio::test]
async fn a_look_from_outside_says_how_it_stands() {
    let (directory, path) = place();
    assert_eq!(standing(&path).unwrap(), Standing::Absent);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "something was made");
    let ledger = open(&path);
    assert_eq!(standing(&path).unwrap(), Standing::InUse(Some(std::process::id())));
    ledger.close().await;
    assert_eq!(standing(&path).unwrap(), Standing::Free);
    // The one who looked does not hold it.
    open(&path).close().await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA user_version = 99").unwrap();
    drop(other);
    let newer = standing(&path);
    assert!(matches!(newer, Err(LedgerError::Newer { found: 99, .. })), "{newer:?}");
    fs::write(&path, "not a database at all").unwrap();
    let broken = standing(&path);
    assert!(matches!(broken, Err(LedgerError::Storage { .. })), "{broken:?}");
}

#[tokio::test]
async fn the_files_are_the_owners_alone() {
    let (directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    let mut names = Vec::new();
    for entry in fs::read_dir(directory.path()).unwrap() {
        let entry = entry.unwrap();
        names.push(entry.file_name().into_string().unwrap());
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{names:?}");
    }
    names.sort();
    let expected =
        ["ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal", "ledger.sqlite.lock"];
    assert_eq!(names, expected);
    drop(ledger);
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let (_directory, path) = place();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE theirs (x); PRAGMA user_version = 99;").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    let refused = Ledger::open(&path, SYNC).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("ledger `{}` has format 99, this version reads up to 4", path.display())
    );

    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("PRAGMA user_version = 0").unwrap();
    drop(other);
    let refused = Ledger::open(&path, SYNC).unwrap_err();
    assert!(matches!(refused, LedgerError::Foreign { .. }), "{refused:?}");
    // All but the version and the two change counters that came with it.
    let after = fs::read(&path).unwrap();
    assert_eq!((before.len(), &before[100..]), (after.len(), &after[100..]));

    fs::write(&path, "not a database at all, but long enough to be asked about\n".repeat(99))
        .unwrap();
    let refused = Ledger::open(&path, SYNC).unwrap_err();
    assert!(matches!(refused, LedgerError::Storage { .. }), "{refused:?}");
    let refused = Ledger::open(&path.join("below"), SYNC).unwrap_err();
    assert!(matches!(refused, LedgerError::File { .. }), "{refused:?}");
}

#[tokio::test]
async fn a_file_of_an_earlier_format_gets_what_it_lacks() {
    let third = "DROP TABLE kept; PRAGMA user_version = 3;";
    let second = &format!("{third} DROP TABLE observations; PRAGMA user_version = 2;");
    let first = "DROP TABLE removals; DROP TABLE requests; DROP TABLE files; \
                 DROP INDEX runs_session; DROP INDEX sessions_caller; PRAGMA user_version = 1;";
    for undo in [third.to_owned(), second.to_owned(), format!("{second} {first}")] {
        let (_directory, path) = place();
        let ledger = with_runs(&path, &["r"]).await;
        ledger.append("r", vec![(1, ended())]).await.unwrap();
        ledger.close().await;
        let older = rusqlite::Connection::open(&path).unwrap();
        older.execute_batch(&undo).unwrap();
        drop(older);
        let ledger = open(&path);
        assert_eq!(ledger.events("r", 0, 9).await.unwrap().len(), 2);
        assert_eq!(ledger.observations("ws_1").await.unwrap(), []);
        assert_eq!(ledger.kept("ws_1").await.unwrap(), []);
        ledger.remove_session("ws_1").await.unwrap();
        assert_eq!(ledger.session("ws_1").await.unwrap(), None);
        ledger.close().await;
        open(&path);
    }
}

#[tokio::test]
async fn runs_left_open_are_closed_with_what_was_running() {
    let (directory, path) = place();
    let ledger = with_runs(&path, &["r", "over"]).await;
    ledger.append("over", vec![(1, ended())]).await.unwrap();
    ledger.append("r", turn(1, &["a", "b", "c"])).await.unwrap();
    let events = vec![call_started(1, "a"), call_started(1, "b"), call_ended(1, "a")];
    ledger.append("r", stamped(events)).await.unwrap();
    let copy = copied(&path, directory.path(), 0);

    let (ledger, interrupted) = Ledger::open(&copy, SYNC).unwrap();
    let expected = Interrupted {
        run: "r".to_owned(),
        session: "ws_1".to_owned(),
        in_flight: vec!["b".to_owned()],
    };
    assert_eq!(interrupted, [expected]);
    let run = ledger.run("r").await.unwrap().unwrap();
    assert_eq!((run.state, run.reason), (State::Failed, Some(Reason::Interrupted)));
    assert_eq!((run.turns, run.tool_calls, run.usage.total()), (1, 3, 12));
    assert_eq!(run.error.as_deref(), Some("the server stopped while this run was going on"));
    assert_eq!(ledger.events("r", 7, 10).await.unwrap().len(), 1);
    ledger.close().await;
    // Closed once and for all.
    assert_eq!(Ledger::open(&copy, SYNC).unwrap().1, []);
}

#[tokio::test]
async fn a_torn_log_loses_its_tail_and_nothing_before_it() {
    let (directory, path) = place();
    let ledger = with_runs(&path, &["r"]).await;
    for count in 0..20 {
        ledger.append("r", vec![(1, note(&count.to_string()))]).await.unwrap();
    }
    let whole = ledger.events("r", 0, 100).await.unwrap();
    // In the last frame, at its border, and some frames before.
    for cut in [1, 2_000, 4_096 + 24, 9_000] {
        let copy = copied(&path, directory.path(), cut);
        let (torn, interrupted) = Ledger::open(&copy, SYNC).unwrap();
        assert_eq!(interrupted.len(), 1);
        let mut stored = torn.events("r", 0, 100).await.unwrap();
        assert!(matches!(stored.pop().map(|last| last.event), Some(Event::Ended { .. })));
        assert!(stored.len() < whole.len() && stored.len() >= whole.len() - 4, "cut {cut}");
        assert_eq!(stored, whole[..stored.len()]);
        torn.close().await;
    }
}

/// The file and its log as a crash would leave them, the last `cut` bytes of the log missing.
fn copied(path: &Path, directory: &Path, cut: usize) -> PathBuf {
    let copy = directory.join(format!("copy-{cut}"));
    fs::copy(path, &copy).unwrap();
    let log = fs::read(path.with_extension("sqlite-wal")).unwrap();
    fs::write(directory.join(format!("copy-{cut}-wal")), &log[..log.len() - cut]).unwrap();
    copy
}
