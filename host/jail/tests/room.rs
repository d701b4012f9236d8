//! Commands that fill the disk.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use harness_jail::{Ask, Ending, Jail, Posture, Shell};
use tempfile::TempDir;

use crate::faults::{in_namespace, place_of_child};
use crate::process::{request, sandbox};

/// One file after the other, each far below any limit on one.
const FILL: &str =
    "for n in $(seq 1000); do head -c 1000000 /dev/zero > fill-$n || exit 9; sleep 0.05; done";

/// It ends by itself when it leaves too little, and the server keeps its room. In a small file system
/// of the test's own.
#[test]
fn what_fills_the_disk_is_ended() {
    if let Some(place) = place_of_child() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.expect("a runtime").block_on(fill(&place));
        return;
    }
    let temp = TempDir::new().expect("a directory");
    let prepare = "mount -t tmpfs -o size=64m none \"$1\" && mkdir \"$1/w\" \"$1/tmp\"";
    in_namespace(temp.path(), "room::what_fills_the_disk_is_ended", prepare);
}

async fn fill(place: &Path) {
    let jail = Jail::open(&place.join("w"), None).expect("a jail");
    let path = vec![("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())];
    let name = place.display().to_string().replace('/', "-");
    // No walls: it is the server that looks.
    let shell = Shell::new(path, &name, Arc::new(sandbox(Posture::None)), place.join("tmp"));
    let done = shell.run(&jail, request(FILL)).await.expect("ran");
    assert_eq!(done.ending, Ending::Signalled(9), "{done:?}");
    assert!(done.notes.join("").contains("too little room on the disk"), "{done:?}");
    assert_eq!(done.still_running, 0);
    let cleared = shell.run(&jail, request("rm fill-*; ls | wc -l")).await.expect("ran");
    assert_eq!(cleared.output, "0\n");

    let job = shell.start_job(&jail, request(FILL)).await.expect("started").id;
    let wait = Ask::Wait(Duration::from_secs(60));
    let ended = shell.ask_job(&job, wait).await.expect("a job");
    assert_eq!(ended.ending, Ending::Signalled(9), "{ended:?}");
    assert!(ended.notes.join("").contains("too little room on the disk"), "{ended:?}");
}
