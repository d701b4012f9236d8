//! A command that the configuration denies, as a pattern for its words.
//!
//! Each word of a pattern is a glob (`*` and `?`) for one word of a command; the command may go on
//! behind them, so a `*` at the end says only what holds anyhow. No regular expression, and nothing
//! to build: patterns are compared as they are written.

use crate::command::name;

/// One pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    words: Vec<String>,
}

impl Pattern {
    /// None for a pattern that names no command.
    pub(crate) fn new(text: &str) -> Option<Pattern> {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        while words.last().is_some_and(|word| word == "*") {
            words.pop();
        }
        (!words.is_empty()).then(|| Pattern { text: text.trim().to_owned(), words })
    }

    /// As it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether a command's words begin like this. The command's own path does not count, unless
    /// the pattern has one.
    pub(crate) fn matches(&self, words: &[&str]) -> bool {
        let mut pairs = self.words.iter().zip(words);
        let Some((first, command)) = pairs.next() else { return false };
        let command = if first.contains('/') { *command } else { name(command) };
        words.len() >= self.words.len()
            && glob(first, command)
            && pairs.all(|(pattern, word)| glob(pattern, word))
    }

    /// Whether every word of the pattern is somewhere among `words`.
    pub(crate) fn may_be_among(&self, words: &[&str]) -> bool {
        self.words.iter().all(|pattern| words.iter().any(|word| glob(name(pattern), word)))
    }
}

/// Whether `pattern` fits the whole of `word`: each `*` takes as little as it can, and only the
/// last one is ever tried again.
fn glob(pattern: &str, word: &str) -> bool {
    let (pattern, word) = (pattern.as_bytes(), word.as_bytes());
    let (mut p, mut w) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while w < word.len() {
        match (pattern.get(p), retry) {
            (Some(b'*'), _) => {
                retry = Some((p, w));
                p += 1;
            }
            (Some(&byte), _) if byte == b'?' || byte == word[w] => {
                p += 1;
                w += 1;
            }
            (_, Some((star, from))) => {
                retry = Some((star, from + 1));
                (p, w) = (star + 1, from + 1);
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |pattern: &str, command: &str, expected: bool| {
            let words: Vec<&str> = command.split(' ').collect();
            let pattern = Pattern::new(pattern).expect("a pattern");
            assert_eq!(pattern.matches(&words), expected, "{pattern:?} {command}");
        };
        check("rm *", "rm", true);
        check("rm *", "rm -r x", true);
        check("rm", "/bin/rm x", true);
        check("rm *", "rmdir x", false);
        check("git push *", "git push origin", true);
        check("git push", "git pull", false);
        check("git push * main", "git push origin main", true);
        check("git push * main", "git push origin", false);
        check("kubectl delete *", "kubectl get pods", false);
        check("npm publish", "npm publish --tag x", true);
        check("*-prod", "deploy-prod now", true);
        check("aws s?", "aws s3 ls", true);
        check("aws s?", "aws s3api ls", false);
        check("/opt/x", "/opt/x a", true);
        check("/opt/x", "x a", false);
        check("a*b*c", "axxbxxbc", true);
        check("a*b*c", "axxbxxb", false);
        assert_eq!(Pattern::new(" * "), None, "a pattern for everything names no command");
        assert_eq!(Pattern::new(""), None);
    }
}
