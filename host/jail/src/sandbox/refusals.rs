//! What the walls refused, as far as a command's output tells, in words for a model.
//!
//! A program says "read-only file system" and means the walls; a model that does not know would try
//! to mend the file system. So the walls are named, with the setting that moves them, which is the
//! operator's to change and no command's. A guess by the words that programs use: it can miss, and
//! it can see a refusal where a text speaks of one.

use super::{Posture, Sandbox};

/// How much of the end of an output is searched, in bytes: an error is the last thing said.
const SEARCHED_BYTES: usize = 8 * 1024;

/// What programs say when there is no way to another machine.
const NO_NETWORK: [&str; 10] = [
    "network is unreachable",
    "could not resolve host",
    "couldn't resolve host",
    "temporary failure in name resolution",
    "name or service not known",
    "failed to lookup address",
    "eai_again",
    "enotfound",
    "enetunreach",
    "address family not supported by protocol",
];

/// What the walls of `sandbox` did to a command with this output; `failed`: it ended badly.
pub(crate) fn refusals(sandbox: &Sandbox, output: &str, failed: bool) -> Vec<String> {
    if sandbox.posture == Posture::None {
        return Vec::new();
    }
    let from = output.len().saturating_sub(SEARCHED_BYTES);
    let output = output[output.ceil_char_boundary(from)..].to_lowercase();
    let says = |words: &str| output.contains(words);
    let tmp = if sandbox.posture == Posture::Full { "/tmp" } else { "$TMPDIR" };
    let mut refusals = Vec::new();
    let is_git = says(".git/hooks") || says("'.git'") || says("`.git`");
    if is_git && (says("read-only file system") || says("device or resource busy")) {
        refusals.push(
            "the sandbox keeps `.git` where it is and its hooks as they are; no setting allows it"
                .to_owned(),
        );
    } else if says("read-only file system") || says("erofs") {
        refusals.push(format!(
            "the sandbox lets commands write in the workspace and {tmp} only; the server's setting \
             `shell.write` lets them write elsewhere"
        ));
    }
    if !sandbox.network && NO_NETWORK.iter().any(|words| says(words)) {
        refusals.push(
            "the sandbox gives commands no way to other machines; the server's setting \
             `shell.network = true` does"
                .to_owned(),
        );
    }
    if !failed {
        return refusals;
    }
    if says("permission denied") || says("eacces") {
        let masked = sandbox.masked.iter().map(|path| path.display().to_string());
        match masked.into_iter().find(|path| says(&path.to_lowercase())) {
            Some(path) => refusals.push(format!(
                "the sandbox masks `{path}`; the server's setting `shell.read` shows it to commands"
            )),
            // Landlock has no words of its own.
            None if sandbox.posture == Posture::Partial && refusals.is_empty() => refusals.push(format!(
                "this may be the sandbox: it lets commands write in the workspace and {tmp} only; the \
                 server's settings `shell.read` and `shell.write` allow more"
            )),
            None => {}
        }
    }
    if says("operation not permitted") || says("eperm") {
        refusals.push(
            "this may be the sandbox: commands have no privileges in it, whoever they run as, and no \
             setting gives them any"
                .to_owned(),
        );
    }
    refusals
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walls_are_named_and_nothing_else_is() {
        let full = Sandbox {
            posture: Posture::Full,
            masked: vec!["/home/ada/.ssh".into()],
            ..Sandbox::none()
        };
        let partial = Sandbox { posture: Posture::Partial, ..full.clone() };
        let networked = Sandbox { network: true, ..full.clone() };
        for (sandbox, output, failed, setting) in [
            (&full, "touch: cannot touch '/etc/x': Read-only file system", true, "`shell.write`"),
            (&full, "touch: '/etc/x': Read-only file system\\nok", false, "`shell.write`"),
            (&full, "curl: (6) Could not resolve host: a.b", true, "`shell.network = true`"),
            (&full, "npm error code EAI_AGAIN", true, "`shell.network = true`"),
            (&networked, "curl: (6) Could not resolve host: a.b", true, ""),
            (&full, "cat: /home/ada/.ssh/id: Permission denied", true, "masks `/home/ada/.ssh`"),
            (
                &full,
                "x: Read-only file system\ncat: /home/ada/.ssh/id: Permission denied",
                true,
                "masks",
            ),
            (&full, "cp: cannot create '.git/hooks/x': Read-only file system", true, "hooks"),
            (&full, "mv: cannot move '.git' to 'g': Device or resource busy", true, "keeps `.git`"),
            (&full, "bash: ./x: Permission denied", true, ""),
            (&partial, "bash: /etc/x: Permission denied", true, "`shell.write`"),
            (&full, "mount: Operation not permitted", true, "no privileges"),
            (&full, "mount: Operation not permitted", false, ""),
            (&full, "error: expected `;`", true, ""),
            (&Sandbox::none(), "x: Read-only file system", true, ""),
        ] {
            let told = refusals(sandbox, output, failed).join("\n");
            assert_eq!(told.is_empty(), setting.is_empty(), "{output}: {told}");
            assert!(told.contains(setting), "{output}: {told}");
        }
        let long = format!("Read-only file system{}", "é".repeat(SEARCHED_BYTES));
        assert!(refusals(&full, &long, true).is_empty());
    }
}
