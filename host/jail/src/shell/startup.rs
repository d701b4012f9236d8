//! What bash is told before a script: to say at its end how the parts of the last pipeline ended.
//!
//! The exit code of `cargo test | tail` is that of `tail`. `pipefail` would change what a script
//! does, and make a failure of `head`; so the exit code stays and the others are noted. bash reads
//! the text as its `BASH_ENV`, from its standard input, which is nothing again before the script
//! runs. The script itself is untouched: its lines, its `$?`, its options. A trap of its own on
//! `EXIT` takes the place of ours, and then nothing is noted.

use super::{Command, Request};

/// Where bash reads [`TEXT`].
pub(super) const VARIABLE: (&str, &str) = ("BASH_ENV", "/dev/stdin");

/// Says it in a sequence for terminals, which is no part of the output. Only after a success, and
/// only when stdout and stderr still lead to the one pipe, so that nothing lands in a file.
pub(super) const TEXT: &str = r#"unset BASH_ENV
exec </dev/null
trap '{ HARNESS=("$?" "${PIPESTATUS[@]}"); IFS=" "
[[ ${HARNESS[0]} == 0 && ${#HARNESS[@]} -gt 2 && -p /proc/self/fd/1 && /proc/self/fd/1 -ef /proc/self/fd/3 ]] &&
builtin printf "\033]pipeline;%s\007" "${HARNESS[*]:1}"; } 3>&2 2>/dev/null' EXIT
"#;

/// How the sequence begins.
pub(super) const SEQUENCE: &str = "pipeline;";

/// What a shell reports of a program that wrote to nobody, as `head` makes it of those before it.
const BROKEN_PIPE: u8 = 128 + 13;

/// Whether a command gets this: scripts whose input and `BASH_ENV` are nothing of their own.
pub(super) fn applies_to(request: &Request) -> bool {
    let has_own = request.environment.iter().any(|(name, _)| name == VARIABLE.0);
    matches!(request.command, Command::Shell(_)) && request.stdin.is_none() && !has_own
}

/// The note on exit codes that were said, if one of them is worth it.
pub(super) fn note(said: &str) -> Option<String> {
    let codes: Result<Vec<u8>, _> = said.split(' ').map(str::parse).collect();
    let codes = codes.ok()?;
    if codes.iter().all(|code| matches!(*code, 0 | BROKEN_PIPE)) {
        return None;
    }
    let codes: Vec<String> = codes.iter().map(u8::to_string).collect();
    Some(format!("the parts of the last pipeline ended with exit codes {}", codes.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted() {
        let check = |said, expected: Option<&str>| {
            let words = "the parts of the last pipeline ended with exit codes ";
            assert_eq!(note(said), expected.map(|codes| format!("{words}{codes}")), "{said}");
        };
        check("1 0", Some("1, 0"));
        check("141 3 0", Some("141, 3, 0"));
        check("0 0", None);
        check("141 0", None);
        check("1 0 x", None);
        check("1 999", None);
        check("", None);
    }
}
