//! The demonstration's sample project: laid out before, compared and checked after.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use harness_jail::{PrivateDir, read_capped};
use similar::TextDiff;

/// Every file of the sample, by its path.
const FILES: [(&str, &str); 5] = [
    ("README.md", include_str!("../../../testdata/demo/project/README.md")),
    ("till.sh", include_str!("../../../testdata/demo/project/till.sh")),
    ("lib/money.sh", include_str!("../../../testdata/demo/project/lib/money.sh")),
    ("check.sh", include_str!("../../../testdata/demo/project/check.sh")),
    ("list.txt", include_str!("../../../testdata/demo/project/list.txt")),
];

/// Files that the scripted run makes.
const MADE: [&str; 1] = ["CHANGES.md"];

/// Larger than any file of the sample.
const FILE_BYTES: u64 = 1 << 20;

/// Writes the sample into `workspace` under `place`, and returns that directory.
pub(super) fn lay_out(place: &PrivateDir) -> anyhow::Result<PathBuf> {
    let workspace = place.subdirectory("workspace")?;
    for (path, text) in FILES {
        match path.split_once('/') {
            Some((folder, name)) => workspace.subdirectory(folder)?.write(name, text.as_bytes()),
            None => workspace.write(path, text.as_bytes()),
        }
        .with_context(|| format!("cannot lay out `{path}`"))?;
    }
    Ok(workspace.path().to_owned())
}

/// What the run changed, as a unified diff.
pub(super) fn diff(workspace: &Path) -> anyhow::Result<String> {
    let mut all = String::new();
    for (path, before) in FILES.into_iter().chain(MADE.map(|path| (path, ""))) {
        let after = read(workspace, path)?;
        if after != before {
            let diff = TextDiff::from_lines(before, after.as_str());
            let (old, new) = (format!("a/{path}"), format!("b/{path}"));
            write!(all, "{}", diff.unified_diff().context_radius(1).header(&old, &new))?;
        }
    }
    Ok(all)
}

/// Fails unless the project is as the script should have left it.
pub(super) fn check(workspace: &Path) -> anyhow::Result<()> {
    ensure!(read(workspace, "till.sh")?.contains("quantity * cents"), "`till.sh` was not mended");
    ensure!(!read(workspace, "CHANGES.md")?.is_empty(), "`CHANGES.md` was not written");
    Ok(())
}

fn read(workspace: &Path, path: &str) -> anyhow::Result<String> {
    let bytes = read_capped(&workspace.join(path), FILE_BYTES)
        .with_context(|| format!("the run left no `{path}`"))?;
    Ok(String::from_utf8(bytes)?)
}
