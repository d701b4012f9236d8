//! Takes out of a provider's words what nobody else should read: keys, tokens, the host.
//!
//! What is known is replaced as it is; what only looks like a credential is replaced as well,
//! because providers quote the key they were sent, shortened, masked or somebody else's. Only for
//! error texts: it would tear ordinary ones.

/// What stands where something was taken out.
const REMOVED: &str = "[removed]";

/// How keys of well-known makers begin.
const PREFIXES: [&str; 22] = [
    "sk-",
    "sk_",
    "pk-",
    "pk_",
    "rk-",
    "rk_",
    "gsk_",
    "csk-",
    "xai-",
    "hf_",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
    "nvapi-",
    "pplx-",
    "r8_",
    "fw_",
    "tgp_",
    "AIza",
    "AKIA",
    "eyJ",
];

/// Characters after such a beginning that make it a key and not a word.
const KEY_CHARS: usize = 6;

/// Words directly before a credential, in lower case.
const NAMES: [&str; 8] =
    ["bearer", "basic", "key", "token", "secret", "password", "authorization", "provided"];

/// `text` without `secrets` and without what looks like one.
pub(super) fn scrub(mut text: String, secrets: &[String]) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), REMOVED);
        }
    }
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut before) = (text.as_str(), "");
    while let Some(start) = rest.find(is_of_key) {
        let (between, from) = rest.split_at(start);
        let end = from.find(|letter| !is_of_key(letter)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        out.push_str(between);
        out.push_str(if is_credential(word, before) { REMOVED } else { word });
        (rest, before) = (after, word);
    }
    out.push_str(rest);
    out
}

/// True when `word` alone looks like a credential.
pub(super) fn is_key(word: &str) -> bool {
    let word = word.trim_start_matches(['/', '.']);
    PREFIXES.iter().any(|prefix| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.chars().count() >= KEY_CHARS)
    })
}

fn is_credential(word: &str, before: &str) -> bool {
    // `Bearer authentication` is not one; what is random has digits, or is very long.
    let is_random =
        word.len() >= 8 && (word.bytes().any(|byte| byte.is_ascii_digit()) || word.len() >= 24);
    let before = before.to_ascii_lowercase();
    is_key(word) || (is_random && NAMES.iter().any(|name| before.ends_with(name)))
}

fn is_of_key(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.+/*~…".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_and_words_stay() {
        let secrets = ["my-own-key".to_owned(), "models.example".to_owned()];
        let check = |text: &str, expected: &str| {
            assert_eq!(scrub(text.to_owned(), &secrets), expected, "{text}");
        };
        for same in [
            "",
            "bad request",
            "the model `gpt-5` does not exist",
            "use sk-learn 1.5",
            "Bearer authentication is missing",
            "token count (40031) exceeds the maximum",
            "maximum context length is 128000 tokens",
            "max_tokens must be at most 4096, as é says",
        ] {
            check(same, same);
        }
        check("we saw my-own-key at models.example:443", "we saw [removed] at [removed]:443");
        check("key sk-proj-0a1b2c3d is unknown", "key [removed] is unknown");
        check("Incorrect API key provided: abcd****1234.", "Incorrect API key provided: [removed]");
        check(
            "got `Authorization: Bearer abc/def+12345=`",
            "got `Authorization: Bearer [removed]=`",
        );
        check("GET /v1?key=AIzaSyA1234567&x=1", "GET /v1?key=[removed]&x=1");
        check("{\"token\":\"0123456789abcdef\"}", "{\"token\":\"[removed]\"}");
        check("eyJhbGciOi.eyJzdWIiOiI.sig", "[removed]");
    }
}
