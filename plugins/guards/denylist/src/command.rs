//! What a simple command really runs, behind assignments and behind commands that only start
//! another one.

/// Commands that run the command in their arguments, with the options that take a value.
const PREFIXES: [(&str, &[&str]); 16] = [
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-T", "-r", "-t", "-U", "-D"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "-S", "--unset", "--chdir"]),
    ("nohup", &[]),
    ("time", &["-f", "-o"]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("exec", &["-a"]),
    ("command", &[]),
    ("builtin", &[]),
    ("setsid", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-k", "-s", "--kill-after", "--signal"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-a", "-s", "-E"]),
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
        while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
            let takes_value = valued.contains(&option.as_str());
            rest = rest.get(1 + usize::from(takes_value)..).unwrap_or_default();
            if option == "--" {
                break;
            }
        }
        // The one prefix with an operand of its own: how long.
        if name == "timeout" {
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

/// The script in the arguments: of `sh -c …`, or of `eval …`.
pub(crate) fn inner_script(words: &[String]) -> Option<String> {
    let words = bare(words);
    if words.first()? == "eval" {
        return Some(words[1..].join(" "));
    }
    if !is_shell(words) {
        return None;
    }
    let is_script =
        |word: &String| word.starts_with('-') && !word.starts_with("--") && word[1..].contains('c');
    let place = words.iter().position(is_script)?;
    words[place + 1..].iter().find(|word| !word.starts_with('-')).cloned()
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
