//! Watching the plugins: their files, the directories they are found in, and their tables in the
//! configuration.
//!
//! Once a second it looks whether anything has changed, which costs a look at each file, and works
//! on every file system; what looks the same twice is taken up. Other settings than plugins' wait for the next start. A configuration that
//! is not sound changes nothing, and is told once.

use std::path::PathBuf;
use std::time::Duration;

use harness_jail::Stamp;
use tokio_util::sync::CancellationToken;

use super::Boot;
use super::flags::{self, Configured, Loaded};

/// Between two looks.
const LOOKING: Duration = Duration::from_secs(1);

/// Every file that counts, as it was looked at.
type Looks = Vec<(PathBuf, Option<Stamp>)>;

/// What was seen at the beginning.
pub(super) struct Watch<'a> {
    flags: &'a Configured,
    seen: Looks,
    had_file: bool,
}

/// Watches until `stop`, and loads plugins anew when something changed.
pub(super) async fn plugins(boot: &Boot, watch: Watch<'_>, stop: &CancellationToken) {
    let Watch { flags, mut seen, had_file } = watch;
    let mut loaded = seen.clone();
    let mut told = String::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOKING) => {}
        }
        let now = look(flags);
        // What is still being written is left alone: half a configuration may be a sound one, in
        // which a guard is missing.
        if now != seen || now == loaded {
            seen = now;
            continue;
        }
        loaded = now;
        let reloaded = match flags::load(flags) {
            Ok(_) if had_file && !flags::has_file(flags) => {
                Err(anyhow::anyhow!("the configuration file is gone, or empty"))
            }
            Ok(Loaded { config, .. }) => tokio::select! {
                () = stop.cancelled() => return,
                reloaded = boot.reload(config.plugins) => reloaded,
            },
            Err(err) => Err(err),
        };
        match reloaded {
            Ok(()) => {
                tracing::info!("plugins were loaded anew");
                told.clear();
            }
            Err(err) => {
                let problem = format!("{err:#}");
                if problem != told {
                    tracing::error!("plugins stay as they are: {problem}");
                    told = problem;
                }
            }
        }
    }
}

impl Watch<'_> {
    /// Looks for the first time: before the configuration is read, so that no change is missed.
    pub(super) fn begin(flags: &Configured) -> Watch<'_> {
        Watch { flags, seen: look(flags), had_file: flags::has_file(flags) }
    }
}

/// Every file that counts, and how it looks now.
fn look(flags: &Configured) -> Looks {
    let stamped = |path: PathBuf| {
        let stamp = Stamp::of(&path);
        (path, stamp)
    };
    flags::plugin_files(flags).into_iter().map(stamped).collect()
}
