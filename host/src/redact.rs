//! Takes known secrets out of text, before the model, the ledger or the client sees it.
//!
//! One word for the whole process, on floor 0. It replaces values it was given, in the forms in
//! which they usually travel, and nothing else: it never guesses by pattern, because text that a
//! model reads may be written back, and what only looks like a secret would be destroyed.

mod events;
mod forms;

use std::borrow::Cow;
use std::fmt;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::config::KEYS;

/// What stands where a secret stood.
pub const PLACEHOLDER: &str = "[redacted]";

/// Values of fewer bytes are left alone: they are words, and would tear ordinary text.
pub const MIN_SECRET_BYTES: usize = 8;

/// Words in a variable's name that make its value a secret. The last part of a word counts, so
/// that `PGPASSWORD` is one and `TOKENIZERS_PARALLELISM` is not.
const SECRET_WORDS: [&str; 8] =
    ["TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "CREDENTIAL", "CREDENTIALS"];

/// These must be a word of their own: `KEY` ends monkeys and turkeys.
const SECRET_WHOLE_WORDS: [&str; 3] = ["KEY", "KEYS", "APIKEY"];

/// Last words that say that the value only tells where the secret is.
const PLACE_WORDS: [&str; 4] = ["PATH", "FILE", "DIR", "URL"];

/// Replaces a fixed set of secrets. Costs one pass over the text, whatever their number.
pub struct Redactor {
    /// None when there is nothing to look for.
    forms: Option<AhoCorasick>,
}

impl fmt::Debug for Redactor {
    /// Without the secrets, so that no log line can hold them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.forms.as_ref().map_or(0, AhoCorasick::patterns_len);
        f.debug_struct("Redactor").field("forms", &count).finish()
    }
}

impl Redactor {
    /// Looks for `secrets`: as they are, and JSON-escaped, percent-encoded and in base64. Blank
    /// space around a secret does not count; one under [`MIN_SECRET_BYTES`] is ignored.
    pub fn new(secrets: impl Iterator<Item = String>) -> Redactor {
        let mut forms: Vec<String> = secrets
            .map(|secret| secret.trim().to_owned())
            .filter(|secret| secret.len() >= MIN_SECRET_BYTES)
            .flat_map(|secret| forms::of(&secret))
            .collect();
        forms.sort();
        forms.dedup();
        // Building fails only for patterns beyond what memory could hold.
        let forms = if forms.is_empty() {
            None
        } else {
            Some(
                AhoCorasick::builder()
                    .match_kind(MatchKind::LeftmostLongest)
                    .build(forms)
                    .expect("some secrets of some kilobytes fit into an automaton"),
            )
        };
        Redactor { forms }
    }

    /// `text` with [`PLACEHOLDER`] for each secret in it; borrowed when there is none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(forms) = &self.forms else { return Cow::Borrowed(text) };
        let mut redacted = String::new();
        let mut kept = 0;
        for found in forms.find_iter(text) {
            redacted.push_str(&text[kept..found.start()]);
            redacted.push_str(PLACEHOLDER);
            kept = found.end();
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        redacted.push_str(&text[kept..]);
        Cow::Owned(redacted)
    }

    /// The same for bytes that may be no text.
    pub fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let Some(forms) = &self.forms else { return bytes };
        let mut redacted = Vec::new();
        let mut kept = 0;
        for found in forms.find_iter(&bytes) {
            redacted.extend_from_slice(&bytes[kept..found.start()]);
            redacted.extend_from_slice(PLACEHOLDER.as_bytes());
            kept = found.end();
        }
        if kept == 0 {
            return bytes;
        }
        redacted.extend_from_slice(&bytes[kept..]);
        redacted
    }

    /// The same for a text that one owns; does not copy it when there is no secret in it.
    pub fn redact_owned(&self, text: String) -> String {
        match self.redact(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(redacted) => redacted,
        }
    }
}

/// The values of the variables whose names look like a secret's: a word of the name ends in
/// `TOKEN`, `SECRET`, `PASSWORD` or `CREDENTIAL`, or is `KEY`. Names that end in `PATH`, `FILE`,
/// `DIR` or `URL` only point to one. Of our own settings it is known which are secret: a number of
/// tokens is none.
pub fn secrets_in_environment(
    environment: impl Iterator<Item = (String, String)>,
) -> impl Iterator<Item = String> {
    environment.filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value)
}

fn is_secret_name(name: &str) -> bool {
    if let Some(setting) = KEYS.iter().find(|key| key.variable() == name) {
        return setting.kind.is_secret();
    }
    let name = name.to_uppercase();
    let words: Vec<&str> = name.split(|letter: char| !letter.is_alphanumeric()).collect();
    let points_elsewhere = words.last().is_some_and(|last| PLACE_WORDS.contains(last));
    !points_elsewhere
        && words.iter().any(|word| {
            SECRET_WHOLE_WORDS.contains(word)
                || SECRET_WORDS.iter().any(|secret| word.ends_with(secret))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(secrets: &[&str], text: &str, expected: &str) {
        let redactor = Redactor::new(secrets.iter().map(|secret| (*secret).to_owned()));
        assert_eq!(redactor.redact(text), expected, "{text}");
        assert_eq!(redactor.redact_owned(text.to_owned()), expected, "{text}");
        let bytes = redactor.redact_bytes([b"\xff", text.as_bytes(), b"\xff"].concat());
        assert_eq!(bytes, [b"\xff", expected.as_bytes(), b"\xff"].concat(), "{text}");
        // Twice is once: the placeholder holds no secret.
        assert_eq!(redactor.redact(expected), expected);
    }

    #[test]
    fn known_values_go_and_everything_else_stays() {
        check(&["sk-abcdefgh"], "key=sk-abcdefgh;", "key=[redacted];");
        check(
            &["sk-abcdefgh"],
            "sk-abcdefgsk-abcdefghsk-abcdefgh",
            "sk-abcdefg[redacted][redacted]",
        );
        check(&["sk-abcdefgh"], "ä sk-abcdefgh ö", "ä [redacted] ö");
        check(&["sk-abcdefgh"], "sk-otherkey and SK-ABCDEFGH", "sk-otherkey and SK-ABCDEFGH");
        check(&["sk-abcdefgh\n"], "sk-abcdefgh", "[redacted]");
        check(&[], "sk-abcdefgh", "sk-abcdefgh");
        check(&["short", "1234567", ""], "short 1234567", "short 1234567");
    }

    #[test]
    fn the_longest_of_several_goes_whole() {
        check(&["abcdefgh", "abcdefgh-ijkl"], "abcdefgh-ijkl abcdefgh", "[redacted] [redacted]");
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        let redactor = Redactor::new(["sk-abcdefgh".to_owned()].into_iter());
        assert!(matches!(redactor.redact("nothing here"), Cow::Borrowed(_)));
    }

    #[test]
    fn secrets_travel_in_other_forms() {
        check(&["pa\"ss\\wörd\t1"], r#"{"k":"pa\"ss\\wörd\t1"}"#, r#"{"k":"[redacted]"}"#);
        check(&["p&ss word/1"], "?k=p%26ss%20word%2F1&x", "?k=[redacted]&x");
        check(&["p&ss word/1"], "?k=p%26ss%20word%2f1&x", "?k=[redacted]&x");
        // `printf hunter2hunter2 | base64`, and the same behind `user:` and `me:`.
        check(&["hunter2hunter2"], "aHVudGVyMmh1bnRlcjI=", "[redacted]");
        check(&["hunter2hunter2"], "Basic dXNlcjpodW50ZXIyaHVudGVyMg==", "Basic dXNlcjp[redacted]");
        check(&["hunter2hunter2"], "Basic bWU6aHVudGVyMmh1bnRlcjI=", "Basic bWU6[redacted]");
        check(&["?>?>?>?>?>"], "Pz4/Pj8+Pz4/Pg== Pz4_Pj8-Pz4_Pg", "[redacted] [redacted]");
    }

    #[test]
    fn a_secret_of_several_lines_goes_line_by_line_too() {
        let secret =
            "-----BEGIN KEY-----\nabcdefghijklmnopqrst\nuvwxyz0123456789ABCD\n-----END KEY-----";
        let shown = "1\t-----BEGIN KEY-----\n2\tabcdefghijklmnopqrst\n3\tuvwxyz0123456789ABCD\n";
        check(&[secret], secret, "[redacted]");
        check(&[secret], shown, "1\t-----BEGIN KEY-----\n2\t[redacted]\n3\t[redacted]\n");
    }

    #[test]
    fn names_tell_what_is_secret() {
        let names = [
            ("OPENAI_API_KEY", true),
            ("api-key", true),
            ("SOME_APIKEY", true),
            ("GITHUB_TOKEN", true),
            ("PGPASSWORD", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("MY_CREDENTIALS", true),
            ("HARNESS_UPSTREAM_API_KEY", true),
            ("HARNESS_SERVER_TOKENS", true),
            ("HARNESS_AGENT_MAX_TOTAL_TOKENS", false),
            ("HARNESS_UPSTREAM_FIRST_TOKEN_SECONDS", false),
            ("KEYBOARD", false),
            ("MONKEY_NAME", false),
            ("TOKENIZERS_PARALLELISM", false),
            ("SSH_KEY_PATH", false),
            ("PASSWORD_FILE", false),
            ("PATH", false),
            ("", false),
        ];
        for (name, expected) in names {
            let pair = (name.to_owned(), "value".to_owned());
            let found = secrets_in_environment([pair].into_iter()).count();
            assert_eq!(found == 1, expected, "{name}");
        }
    }

    #[test]
    fn a_redactor_does_not_print_its_secrets() {
        let redactor = Redactor::new(["sk-abcdefgh".to_owned()].into_iter());
        assert!(!format!("{redactor:?}").contains("abcdefgh"));
    }
}
