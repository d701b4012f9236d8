//! The accidents, one function each, and what to do instead.
//!
//! A rule names things that are hardly ever meant. `git reset --hard`, `git clean` and
//! `rm -rf build` are not here: they are ordinary work, and the sandbox bounds them.

use harness_sdk::Denial;

use crate::command::{self, bare, name};
use crate::script::Simple;

/// Directories whose recursive removal is never meant.
const SYSTEM: [&str; 16] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root",
    "/sbin", "/sys", "/usr", "/var", "$HOME",
];
/// Devices that take output without harm.
const HARMLESS: [&str; 8] = [
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/",
    "/dev/shm/",
    "/dev/full",
    "/dev/pts/",
];

type Rule = fn(&[String], &[&str]) -> Option<Denial>;

const RULES: [Rule; 6] = [remove, change_mode, make_filesystem, copy_to_device, switch_off, git];

/// The first accident among the commands.
pub(crate) fn first(commands: &[Simple], denied: &[Vec<String>]) -> Option<Denial> {
    if let Some(denial) = fork_bomb(commands) {
        return Some(denial);
    }
    let mut is_fetched = false;
    for simple in commands {
        let words = bare(&simple.words);
        is_fetched &= simple.is_piped;
        if command::is_shell(words) && (is_fetched || runs_fetched(words)) {
            return Some(Denial::new(
                "fetched-script",
                "a script from the network would run unread: save it to a file, read it, then run it",
            ));
        }
        is_fetched |= words.first().is_some_and(|word| is_fetcher(name(word)));
        if let Some(denial) = judge(words, &simple.outputs, denied) {
            return Some(denial);
        }
    }
    None
}

fn judge(words: &[String], outputs: &[String], denied: &[Vec<String>]) -> Option<Denial> {
    if let Some(device) = outputs.iter().find(|path| is_device(path)) {
        return Some(Denial::new(
            "device",
            format!("writing to `{device}` would destroy what it holds: write to a file"),
        ));
    }
    let command = name(words.first()?);
    for entry in denied {
        let given = std::iter::once(command).chain(words[1..].iter().map(String::as_str));
        if entry.len() <= words.len() && given.zip(entry).all(|(word, entry)| word == entry) {
            return Some(Denial::new(
                "configured",
                format!(
                    "`{}` is denied by the configuration: do without it, or say in your answer that it is needed",
                    entry.join(" ")
                ),
            ));
        }
    }
    let operands: Vec<&str> =
        words[1..].iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect();
    RULES.iter().find_map(|rule| rule(words, &operands))
}

/// Is the short option among the bundled ones, or the long one given?
fn has_option(words: &[String], short: &[char], long: &str) -> bool {
    words[1..].iter().take_while(|word| *word != "--").any(|word| {
        let is_short = word.starts_with('-') && !word.starts_with("--");
        word == long || (is_short && word.contains(short))
    })
}

/// A path without what does not change where it leads: `//`, a final `/`, `/.` or `/*`.
fn place(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let parts: Vec<&str> =
        path.split('/').filter(|part| !matches!(*part, "" | "." | "*" | ".*")).collect();
    if is_absolute { format!("/{}", parts.join("/")) } else { parts.join("/") }
}

fn is_system(path: &str) -> bool {
    // Relative paths that come to nothing, such as `.` or `*`, are the workspace's own.
    SYSTEM.contains(&place(path).as_str())
}

fn remove(words: &[String], operands: &[&str]) -> Option<Denial> {
    if name(&words[0]) != "rm" || !has_option(words, &['r', 'R'], "--recursive") {
        return None;
    }
    if let Some(path) = operands.iter().find(|path| is_system(path)) {
        return Some(Denial::new(
            "remove",
            format!(
                "`rm -r {path}` would remove far more than this work: name the files in the workspace that should go"
            ),
        ));
    }
    let git = operands.iter().find(|path| place(path) == ".git")?;
    Some(Denial::new(
        "remove",
        format!(
            "`rm -r {git}` would remove the repository's history: remove the files in question instead"
        ),
    ))
}

fn change_mode(words: &[String], operands: &[&str]) -> Option<Denial> {
    let command = name(&words[0]);
    if !matches!(command, "chmod" | "chown" | "chgrp") || !has_option(words, &['R'], "--recursive")
    {
        return None;
    }
    let path = operands.iter().skip(1).find(|path| is_system(path))?;
    Some(Denial::new(
        "change-mode",
        format!(
            "`{command} -R` on `{path}` would break the system: name the files in the workspace"
        ),
    ))
}

fn make_filesystem(words: &[String], operands: &[&str]) -> Option<Denial> {
    let command = name(&words[0]);
    if command != "mkfs" && !command.starts_with("mkfs.") {
        return None;
    }
    let device = operands.iter().find(|path| is_device(path))?;
    Some(Denial::new(
        "device",
        format!("`{command} {device}` would erase the device: use an image file in the workspace"),
    ))
}

fn copy_to_device(words: &[String], operands: &[&str]) -> Option<Denial> {
    if name(&words[0]) != "dd" {
        return None;
    }
    let target =
        operands.iter().filter_map(|word| word.strip_prefix("of=")).find(|path| is_device(path))?;
    Some(Denial::new(
        "device",
        format!("`dd of={target}` would overwrite the device: write to a file in the workspace"),
    ))
}

fn is_device(path: &str) -> bool {
    path.starts_with("/dev/") && !HARMLESS.iter().any(|harmless| path.starts_with(harmless))
}

fn switch_off(words: &[String], operands: &[&str]) -> Option<Denial> {
    const COMMANDS: [&str; 4] = ["shutdown", "reboot", "halt", "poweroff"];
    let command = name(&words[0]);
    let first = operands.first().copied().unwrap_or_default();
    let is_off = match command {
        "init" | "telinit" => matches!(first, "0" | "6"),
        "systemctl" => COMMANDS.contains(&first) || first == "kexec",
        _ => COMMANDS.contains(&command),
    };
    is_off.then(|| {
        Denial::new(
            "switch-off",
            format!("`{command}` would stop the machine that you run on: go on without it"),
        )
    })
}

fn git(words: &[String], _operands: &[&str]) -> Option<Denial> {
    if name(&words[0]) != "git" {
        return None;
    }
    let mut rest = &words[1..];
    // Options of git itself, two of them with a value.
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let takes_value = matches!(option.as_str(), "-C" | "-c");
        rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
    }
    if rest.first()? != "push" {
        return None;
    }
    let is_forced = has_option(rest, &['f'], "--force")
        || rest[1..].iter().any(|word| word.starts_with('+') && word.len() > 1);
    is_forced.then(|| {
        Denial::new(
            "force-push",
            "a forced push can remove other people's commits: use `git push --force-with-lease`, or a new branch",
        )
    })
}

fn is_fetcher(command: &str) -> bool {
    matches!(command, "curl" | "wget" | "fetch")
}

/// `sh -c "$(curl …)"`, `bash <(curl …)`.
fn runs_fetched(words: &[String]) -> bool {
    words[1..].iter().any(|word| {
        let script = word.strip_prefix("$(").or_else(|| word.strip_prefix("<("));
        script.and_then(|script| script.split_whitespace().next()).is_some_and(is_fetcher)
    })
}

/// A function that pipes itself into itself in the background.
fn fork_bomb(commands: &[Simple]) -> Option<Denial> {
    let defined = commands.iter().filter(|simple| simple.is_definition);
    let is_bomb = defined.filter_map(|simple| simple.words.first()).any(|bomb| {
        commands.windows(2).any(|pair| {
            let calls = |simple: &Simple| simple.words.first() == Some(bomb);
            calls(&pair[0]) && calls(&pair[1]) && pair[1].is_piped && pair[1].is_background
        })
    });
    is_bomb.then(|| {
        Denial::new("fork-bomb", "this starts processes without end: start a fixed number of them")
    })
}
