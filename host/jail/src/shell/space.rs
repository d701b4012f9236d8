//! The room a command leaves on the disk: how many files it writes is bounded by nothing else, and a
//! full disk stops the server's record too.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::statvfs;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// How often it is looked.
const LOOKING: Duration = Duration::from_millis(200);

/// Room that a command has to leave, in bytes; where there was little, a quarter of that.
const LEAST_BYTES: u64 = 1 << 30;

/// The file systems a command writes to, as they were when it began.
#[derive(Debug)]
pub(super) struct Space {
    /// A directory of each, and the bytes that have to stay free.
    places: Vec<(PathBuf, u64)>,
    has_run_out: AtomicBool,
}

impl Space {
    /// Looks at the file systems of these directories.
    pub(super) fn of(directories: [PathBuf; 2]) -> Space {
        let with_floor = |directory: PathBuf| {
            let least = LEAST_BYTES.min(free(&directory)? / 4);
            Some((directory, least))
        };
        let places = directories.into_iter().filter_map(with_floor).collect();
        Space { places, has_run_out: AtomicBool::new(false) }
    }

    /// Waits until one of them has too little room left.
    pub(super) async fn runs_out(&self) {
        loop {
            sleep(LOOKING).await;
            let places = self.places.clone();
            // One that is mounted from elsewhere may be slow to answer.
            let looked = spawn_blocking(move || {
                places.iter().any(|(place, least)| free(place).is_some_and(|free| free < *least))
            });
            if looked.await.unwrap_or(false) {
                self.has_run_out.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// What to say when it came to that.
    pub(super) fn note(&self) -> Option<String> {
        self.has_run_out.load(Ordering::Relaxed).then(|| {
            "it was killed: it left too little room on the disk; remove what it wrote".to_owned()
        })
    }
}

fn free(directory: &PathBuf) -> Option<u64> {
    let system = statvfs(directory).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}
