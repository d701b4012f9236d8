//! The accidents, one function each, and what to do instead.
//!
//! A rule names things that are hardly ever meant. `git reset --hard`, `git clean` and
//! `rm -rf build` are not here: they are ordinary work, and the sandbox bounds them.

use std::collections::BTreeSet;

use harness_sdk::Denial;

use crate::command::{self, bare, is_fetcher, name};
use crate::pattern::Pattern;
use crate::script::{PLAIN_DOLLAR, Read, SUBSTITUTION, Simple};

/// Directories whose recursive removal is never meant.
const SYSTEM: [&str; 16] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/opt", "/proc", "/root",
    "/sbin", "/sys", "/usr", "/var", "$HOME",
];
/// Devices that take output without harm.
const HARMLESS: [&str; 10] = [
    "/dev/null",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/",
    "/dev/shm/",
    "/dev/full",
    "/dev/pts/",
    "/dev/tcp/",
    "/dev/udp/",
];

type Rule = fn(&[String], &[&str]) -> Option<Denial>;

const RULES: [Rule; 6] = [remove, change_mode, make_filesystem, copy_to_device, switch_off, git];

/// Words without which no rule of ours is about a script.
const NAMES: [&str; 15] = [
    "rm", "chmod", "chown", "chgrp", "mkfs", "dd", "shutdown", "reboot", "halt", "poweroff",
    "telinit", "init", "push", "curl", "wget",
];

/// Most characters of a command that a refusal repeats.
const SHOWN_CHARS: usize = 120;

/// The first accident in a script.
pub(crate) fn first(script: &str, read: &Read, denied: &[Pattern]) -> Option<Denial> {
    fork_bomb(&read.commands)
        .or_else(|| among(&read.commands, denied))
        .or_else(|| unread(script, read, denied))
}

fn among(commands: &[Simple], denied: &[Pattern]) -> Option<Denial> {
    let mut fetched: Option<String> = None;
    let mut stands_in: Option<String> = None;
    for simple in commands {
        let words = bare(&simple.words);
        if words.first().is_some_and(|word| matches!(word.as_str(), "cd" | "pushd")) {
            stands_in = system_directory(words);
        }
        fetched = fetched.filter(|_| simple.is_piped);
        if command::is_shell(words) {
            let run = fetched.clone().or_else(|| runs_fetched(words));
            if let Some(fetcher) = run {
                return Some(Denial::new(
                    "fetched-script",
                    format!(
                        "`{}` would run unread what `{fetcher}` brings: save it to a file, read it, \
                         then run it",
                        shown(words)
                    ),
                ));
            }
        }
        if words.first().is_some_and(|word| is_fetcher(word)) {
            fetched = Some(shown(words));
        }
        let judged = judge(words, &simple.outputs, denied);
        let judged =
            judged.or_else(|| judge(&seen_from_root(words, stands_in.as_ref()?), &[], &[]));
        if judged.is_some() {
            return judged;
        }
    }
    None
}

/// Where a `cd` leads, when that is a directory of the system; any other is the workspace's.
fn system_directory(words: &[String]) -> Option<String> {
    let operand = words[1..].iter().find(|word| !word.starts_with('-'));
    let operand = operand.map_or("$HOME", String::as_str);
    is_system(operand).then(|| place(operand))
}

/// A command with its relative operands as they lead from another directory.
fn seen_from_root(words: &[String], directory: &str) -> Vec<String> {
    let is_relative = |word: &String| !word.starts_with(['-', '/', '$']);
    let operands = words.iter().skip(1).map(|word| match is_relative(word) {
        true => format!("{directory}/{word}"),
        false => word.clone(),
    });
    words.iter().take(1).cloned().chain(operands).collect()
}

/// A script that cannot be read to its end is refused when a word in it is one that a rule is
/// about: that word may be a command in the part that was not read.
fn unread(script: &str, read: &Read, denied: &[Pattern]) -> Option<Denial> {
    let why = read.unread?;
    let is_of_word = |c: char| c.is_alphanumeric() || "_-.+".contains(c);
    let words: Vec<&str> =
        script.split(|c| !is_of_word(c)).filter(|word| !word.is_empty()).collect();
    let is_named = |word: &&&str| NAMES.contains(*word) || word.starts_with("mkfs.");
    let named = words.iter().find(is_named).map(|word| (*word).to_owned());
    let named = named.or_else(|| {
        let pattern = denied.iter().find(|pattern| pattern.may_be_among(&words))?;
        Some(pattern.text().to_owned())
    })?;
    Some(Denial::new(
        "unread",
        format!(
            "the command cannot be read to its end, because {why}, and it holds `{named}`: mend it, \
             or write it in several calls"
        ),
    ))
}

/// A command as a refusal repeats it.
fn shown(words: &[String]) -> String {
    let line = words.join(" ").replace(PLAIN_DOLLAR, "$").replace(SUBSTITUTION, "$(…)");
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn judge(words: &[String], outputs: &[String], denied: &[Pattern]) -> Option<Denial> {
    if let Some(device) = outputs.iter().find(|path| is_device(path)) {
        return Some(Denial::new(
            "device",
            format!("writing to `{device}` would destroy what it holds: write to a file"),
        ));
    }
    words.first()?;
    let given = without_git_options(words);
    if let Some(pattern) = denied.iter().find(|pattern| pattern.matches(&given)) {
        return Some(Denial::new(
            "configured",
            format!(
                "`{}` is denied by the configuration's `{}`: do without it, or say in your answer \
                 that it is needed",
                shown(words),
                pattern.text()
            ),
        ));
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

/// The words of a command; of `git`, without the options before the subcommand.
fn without_git_options(words: &[String]) -> Vec<&str> {
    let mut rest = &words[1..];
    if name(&words[0]) == "git" {
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            let takes_value = matches!(option.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree");
            rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
        }
    }
    words[..1].iter().chain(rest).map(String::as_str).collect()
}

fn git(words: &[String], _operands: &[&str]) -> Option<Denial> {
    let given = without_git_options(words);
    if name(given[0]) != "git" || given.get(1) != Some(&"push") {
        return None;
    }
    let rest: Vec<String> = given[1..].iter().map(|word| (*word).to_owned()).collect();
    let is_forced = has_option(&rest, &['f'], "--force")
        || rest[1..].iter().any(|word| word.starts_with('+') && word.len() > 1);
    is_forced.then(|| {
        Denial::new(
            "force-push",
            format!(
                "`{}` can remove other people's commits: use `git push --force-with-lease`, or a \
                 new branch",
                shown(words)
            ),
        )
    })
}

/// `sh -c "$(curl …)"`, `bash <(curl …)`: the name of what fetches.
fn runs_fetched(words: &[String]) -> Option<String> {
    let fetchers = words[1..].iter().filter_map(|word| word.strip_prefix(SUBSTITUTION));
    fetchers.map(name).find(|word| is_fetcher(word)).map(str::to_owned)
}

/// A function that pipes itself into itself in the background.
fn fork_bomb(commands: &[Simple]) -> Option<Denial> {
    let defined = commands.iter().filter(|simple| simple.is_definition);
    let defined: BTreeSet<&String> = defined.filter_map(|simple| simple.words.first()).collect();
    let is_bomb = commands.windows(2).any(|pair| {
        let called = pair[1].words.first();
        called.is_some_and(|name| defined.contains(name))
            && pair[0].words.first() == called
            && pair[1].is_piped
            && pair[1].is_background
    });
    is_bomb.then(|| {
        Denial::new(
            "fork-bomb",
            "a function that pipes into itself in the background starts processes without end: \
             start a fixed number of them",
        )
    })
}
