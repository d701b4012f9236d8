//! What the value of a setting may be, and the words that say so.
//!
//! A value is a list of texts: one text, but for the kinds that are lists. Judges text alone: never
//! looks at the disk, and never repeats a secret.

use std::net::SocketAddr;

/// Characters a token has at least: with fewer it could be guessed.
const MIN_TOKEN_CHARS: usize = 16;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text that is not empty.
    Text,
    /// Text that is never shown, fit for an HTTP header.
    Secret,
    /// A list of secrets that clients show.
    Tokens,
    /// A list of texts.
    Texts,
    /// `true` or `false`.
    Bool,
    /// A whole number from the first to the second.
    Number(u64, u64),
    /// `IP:PORT`.
    Address,
    /// An `http://` or `https://` address.
    Url,
    /// A file or a folder; `~/` is the home directory.
    Path,
    /// A list of such paths.
    Paths,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Which lines are logged: a level, or a filter of the tracing library.
    Filter,
}

impl Kind {
    /// What stands between the members of a list in an environment variable; None for what is no
    /// list.
    pub fn separator(self) -> Option<char> {
        match self {
            Kind::Tokens | Kind::Texts => Some(','),
            Kind::Paths => Some(':'),
            _ => None,
        }
    }

    /// Whether the value is never shown.
    pub fn is_secret(self) -> bool {
        matches!(self, Kind::Secret | Kind::Tokens)
    }

    /// Whether the value is a path, or a list of them.
    pub fn is_path(self) -> bool {
        matches!(self, Kind::Path | Kind::Paths)
    }

    /// What is allowed, for a message; of a list, what each member may be.
    pub fn allowed(self) -> String {
        match self {
            Kind::Text => "a text that is not empty".to_owned(),
            Kind::Texts => "a text whose first word is not `*`".to_owned(),
            Kind::Secret => "a text of ASCII characters that is not empty".to_owned(),
            Kind::Tokens => {
                format!("{MIN_TOKEN_CHARS} or more characters, no space or control character")
            }
            Kind::Bool => "`true` or `false`".to_owned(),
            Kind::Number(min, max) => format!("a whole number from {min} to {max}"),
            Kind::Address => "an `IP:PORT`, such as `127.0.0.1:8080`".to_owned(),
            Kind::Url => "an `http://` or `https://` address without a name or password".to_owned(),
            Kind::Path | Kind::Paths => "an absolute path, or one that starts with `~/`".to_owned(),
            Kind::Word(words) => format!("one of `{}`", words.join("`, `")),
            Kind::Filter => {
                "`error`, `warn`, `info`, `debug`, `trace`, `off`, or a filter such as \
                 `info,harness=debug`"
                    .to_owned()
            }
        }
    }

    /// What is wrong with a value: what was expected and what came, once for each text that does
    /// not fit.
    pub fn problems(self, texts: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        for (number, text) in (1..).zip(texts) {
            if !self.fits(text) {
                let which = self.separator().map(|_| format!("number {number}: "));
                let (which, allowed) = (which.unwrap_or_default(), self.allowed());
                problems.push(format!("{which}expected {allowed}, got {}", self.got(text)));
            } else if self == Kind::Tokens && texts[..number - 1].contains(text) {
                problems.push(format!("number {number} is there twice; leave one of them out"));
            }
        }
        problems
    }

    /// A value as a person may see it, on one line.
    pub fn shown(self, texts: &[String]) -> String {
        match texts {
            _ if self.is_secret() => "set".to_owned(),
            [text] if self.separator().is_none() => match self {
                Kind::Url => without_secrets(text),
                _ => on_one_line(text),
            },
            // As the file would have it.
            texts => on_one_line(&format!("{texts:?}")),
        }
    }

    fn got(self, text: &str) -> String {
        match self {
            Kind::Secret if text.trim().is_empty() => "none".to_owned(),
            Kind::Secret => "others".to_owned(),
            Kind::Tokens if text.chars().count() < MIN_TOKEN_CHARS => {
                format!("{} of them", text.chars().count())
            }
            Kind::Tokens => "one with such a character".to_owned(),
            Kind::Url => format!("`{}`", without_secrets(text)),
            _ => format!("`{}`", on_one_line(text)),
        }
    }

    fn fits(self, text: &str) -> bool {
        match self {
            Kind::Text => !text.trim().is_empty(),
            // A pattern of `*` alone would deny every command.
            Kind::Texts => text.split_whitespace().next().is_some_and(|word| word != "*"),
            Kind::Secret => {
                !text.trim().is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
            }
            Kind::Tokens => {
                let is_gap = |letter: char| letter.is_whitespace() || letter.is_control();
                text.chars().count() >= MIN_TOKEN_CHARS && !text.contains(is_gap)
            }
            Kind::Bool => matches!(text, "true" | "false"),
            Kind::Number(min, max) => {
                text.parse::<u64>().is_ok_and(|number| (min..=max).contains(&number))
            }
            Kind::Address => text.parse::<SocketAddr>().is_ok(),
            Kind::Url => {
                let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
                let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
                host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
                    && !text.contains(|letter: char| letter.is_whitespace() || letter.is_control())
            }
            Kind::Path | Kind::Paths => text.starts_with('/') || text.starts_with("~/"),
            Kind::Word(words) => words.contains(&text),
            Kind::Filter => is_filter(text),
        }
    }
}

/// The library takes a bare word that is no level for the name of a module, and then logs nothing
/// else: a slip of the pen would silence the server.
fn is_filter(text: &str) -> bool {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let is_meant = |part: &str| {
        part.contains(['=', '[']) || LEVELS.contains(&part.trim().to_lowercase().as_str())
    };
    text.split(',').all(is_meant) && tracing_subscriber::EnvFilter::try_new(text).is_ok()
}

/// An address without what may be a secret in it: a name with a password, and the query.
fn without_secrets(url: &str) -> String {
    let (url, query) = match url.split_once(['?', '#']) {
        Some((url, _)) => (url, "?…"),
        None => (url, ""),
    };
    let start = url.find("://").map_or(0, |index| index + 3);
    let end = url[start..].find('/').map_or(url.len(), |index| start + index);
    let host = match url[start..end].rsplit_once('@') {
        Some((_, host)) => format!("…@{host}"),
        None => url[start..end].to_owned(),
    };
    on_one_line(&format!("{}{host}{}{query}", &url[..start], &url[end..]))
}

/// Control characters as escapes: a message is one line, and moves no cursor.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter.is_control() {
            true => line.extend(letter.escape_default()),
            false => line.push(letter),
        }
    }
    line
}
