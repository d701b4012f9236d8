//! What a simple command really runs, behind assignments and behind commands that only start
//! another one.

/// Commands that run the command in their arguments, with the options that take a value.
const PREFIXES: [(&str, &[&str]); 18] = [
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-D", "-R", "--user", "--group",
            "--host", "--prompt", "--chdir",
        ],
    ),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S", "--unset", "--chdir", "--split-string"]),
    ("nohup", &[]),
    ("time", &["-f", "-o"]),
    ("nice", &["-n", "--adjustment"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("exec", &["-a"]),
    ("command", &[]),
    ("builtin", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    ("flock", &["-w", "-E", "--timeout", "--conflict-exit-code"]),
    ("unbuffer", &[]),
    (
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-s",
            "-E",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
        ],
    ),
    ("busybox", &[]),
    ("chronic", &[]),
];

const SHELLS: [&str; 6] = ["sh", "bash", "zsh", "dash", "ash", "ksh"];

/// The words from the command that really runs on; empty if there is none.
pub(crate) fn bare(words: &[String]) -> &[String] {
    let mut rest = words;
    loop {
        while rest.first().is_some_and(|word| is_assignment(word)) {
            rest = &rest[1..];
        }
        let Some(first) = rest.first() else {
            return rest;
        };
        let name = name(first);
        let Some((_, valued)) = PREFIXES.iter().find(|(prefix, _)| *prefix == name) else {
            return rest;
        };
        rest = &rest[1..];
        // Only asks where a command is.
        if name == "command" && rest.first().is_some_and(|word| word == "-v" || word == "-V") {
            return &[];
        }
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            let takes_value = valued.contains(&option.as_str());
            rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
            if option == "--" {
                break;
            }
        }
        // The prefixes with an operand of their own: how long, and which lock.
        if matches!(name, "timeout" | "flock") {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
}

/// The last part of a command's path.
pub(crate) fn name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Is the command a shell?
pub(crate) fn is_shell(words: &[String]) -> bool {
    bare(words).first().is_some_and(|word| SHELLS.contains(&name(word)))
}

/// Is the command a shell that reads its script from its input?
pub(crate) fn reads_script(words: &[String]) -> bool {
    let words = bare(words);
    let mut arguments = words.iter().skip(1);
    is_shell(words)
        && (arguments.all(|word| word.starts_with('-')) || words.iter().any(|word| word == "-s"))
}

/// What a command prints, where that stands in its arguments.
pub(crate) fn printed(words: &[String]) -> Option<String> {
    let words = bare(words);
    let arguments = || words[1..].iter().skip_while(|word| word.starts_with('-'));
    match name(words.first()?) {
        "echo" => Some(arguments().map(String::as_str).collect::<Vec<_>>().join(" ")),
        "printf" => {
            let texts = arguments().filter(|word| !word.starts_with('%'));
            Some(texts.map(String::as_str).collect::<Vec<_>>().join("\n"))
        }
        _ => None,
    }
}

/// The commands in the arguments of `find`.
pub(crate) fn executed(words: &[String]) -> Vec<Vec<String>> {
    const OPTIONS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    let words = bare(words);
    if words.first().is_none_or(|word| name(word) != "find") {
        return Vec::new();
    }
    let mut commands = Vec::new();
    let mut rest = words;
    while let Some(at) = rest.iter().position(|word| OPTIONS.contains(&word.as_str())) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        commands.push(rest[..end].to_vec());
        rest = &rest[end..];
    }
    commands
}

/// The script in the arguments: of `sh -c …`, `eval …` and the like.
pub(crate) fn inner_script(words: &[String]) -> Option<String> {
    let after = |option: &[&str]| {
        let place = words.iter().position(|word| option.contains(&word.as_str()))?;
        words.get(place + 1).cloned()
    };
    if words.iter().any(|word| name(word) == "env")
        && let Some(script) = after(&["-S", "--split-string"])
    {
        return Some(script);
    }
    let bare = bare(words);
    match name(bare.first()?) {
        "eval" => return Some(bare[1..].join(" ")),
        "su" | "runuser" => return after(&["-c", "--command"]),
        "trap" => return bare.get(1).cloned(),
        "watch" => {
            let command = bare[1..].iter().skip_while(|word| is_option_or_number(word));
            return Some(command.map(String::as_str).collect::<Vec<_>>().join(" "));
        }
        _ if !is_shell(bare) => return None,
        _ => {}
    }
    let is_script =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word[1..].contains('c');
    let place = bare.iter().position(is_script)?;
    bare[place + 1..].iter().find(|word| !word.starts_with('-')).cloned()
}

/// Does the command bring something from the network?
pub(crate) fn is_fetcher(word: &str) -> bool {
    matches!(name(word), "curl" | "wget" | "fetch")
}

fn is_option_or_number(word: &str) -> bool {
    word.starts_with('-') || word.parse::<f64>().is_ok()
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}
