//! How many tokens a model holds, as far as anybody said: which word counts, and where to read it.
//!
//! Pure but for the table of what was heard; `probe` asks. A number that no model has is not
//! believed: nothing is better than a wrong window.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::chunk::count;

/// What a model's window may be; outside of it a number means something else.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// Models that are kept in mind. Clients choose the names.
const MAX_MODELS: usize = 256;

/// Where a list of models tells the window, the most exact first: what is loaded before what could
/// be, and what this provider serves before what the model was made for.
const FIELDS: [&[&str]; 10] = [
    &["recipe_options", "ctx_size"],
    &["loaded_context_length"],
    &["top_provider", "context_length"],
    &["max_model_len"],
    &["context_length"],
    &["context_window"],
    &["max_context_length"],
    &["max_context_window"],
    &["max_input_tokens"],
    &["meta", "n_ctx"],
];

/// What was heard of each model.
#[derive(Debug, Default)]
pub(super) struct Windows(Mutex<HashMap<String, Heard>>);

/// What was heard of one model.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    was_asked: bool,
    probed: Option<u64>,
    learned: Option<u64>,
}

impl Windows {
    /// The window in force for `model`.
    pub(super) fn get(
        &self,
        model: &str,
        configured: Option<u64>,
        quirk: Option<u64>,
    ) -> Option<u64> {
        let heard = self.lock().get(model).copied().unwrap_or_default();
        in_force(configured, quirk, heard.probed, heard.learned)
    }

    /// True once for each model, for who is going to ask.
    pub(super) fn shall_ask(&self, model: &str) -> bool {
        let mut was_asked = true;
        self.change(model, |heard| was_asked = std::mem::replace(&mut heard.was_asked, true));
        !was_asked
    }

    /// The upstream told it when it was asked.
    pub(super) fn probed(&self, model: &str, window: u64) {
        self.change(model, |heard| heard.probed = Some(window));
    }

    /// The upstream named it when it refused a conversation.
    pub(super) fn learned(&self, model: &str, window: u64) {
        self.change(model, |heard| heard.learned = Some(window));
    }

    fn change(&self, model: &str, change: impl FnOnce(&mut Heard)) {
        let mut models = self.lock();
        if let Some(heard) = models.get_mut(model) {
            change(heard);
        } else if models.len() < MAX_MODELS {
            change(models.entry(model.to_owned()).or_default());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose word counts: a person's, the profile's, the upstream's own, what its refusal named.
fn in_force(
    configured: Option<u64>,
    quirk: Option<u64>,
    probed: Option<u64>,
    learned: Option<u64>,
) -> Option<u64> {
    configured.or(quirk).or(probed).or(learned)
}

/// Reads `{"data": […]}` for `model`. An upstream with one model serves it under any name.
pub(super) fn in_list(list: &Value, model: &str) -> Option<u64> {
    let entries = list.get("data").or_else(|| list.get("models"))?.as_array()?;
    let entry = match entries.as_slice() {
        [only] => only,
        entries => entries.iter().find(|entry| is_called(entry, model))?,
    };
    FIELDS
        .iter()
        .find_map(|path| plausible(path.iter().try_fold(entry, |value, key| value.get(key))?))
}

/// Reads llama.cpp's `/props`: the window of one slot, which is what a request gets.
pub(super) fn in_props(props: &Value) -> Option<u64> {
    plausible(props.get("default_generation_settings")?.get("n_ctx")?)
}

/// Reads Ollama's `/api/ps`: the window a loaded model has, not the one it was trained with.
pub(super) fn in_running(running: &Value, model: &str) -> Option<u64> {
    let mut models = running.get("models")?.as_array()?.iter();
    plausible(models.find(|entry| is_called(entry, model))?.get("context_length")?)
}

fn is_called(entry: &Value, model: &str) -> bool {
    ["id", "name", "model"]
        .iter()
        .filter_map(|key| entry.get(key)?.as_str())
        .any(|name| name == model || name.strip_suffix(":latest") == Some(model))
}

/// Reads what an overflow error says, where it names the window.
pub(super) fn in_words(message: &str) -> Option<u64> {
    const BEFORE: [&str; 9] = [
        "maximum context length is ",
        "maximum prompt length is ",
        "available context size (",
        "maximum number of tokens allowed (",
        "max prompt length (",
        "exceeds the limit of ",
        "context window of ",
        "context length of ",
        "tokens > ",
    ];
    let message = message.to_ascii_lowercase();
    BEFORE.iter().find_map(|words| {
        let rest = &message[message.find(words)? + words.len()..];
        let digits =
            rest.chars().take_while(|letter| letter.is_ascii_digit() || ",_".contains(*letter));
        let digits: String = digits.filter(char::is_ascii_digit).collect();
        digits.parse().ok().filter(|window| PLAUSIBLE.contains(window))
    })
}

fn plausible(value: &Value) -> Option<u64> {
    count(value).filter(|window| PLAUSIBLE.contains(window))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearer_word_counts() {
        let table = [
            ([Some(1), Some(2), Some(3), Some(4)], Some(1)),
            ([None, Some(2), Some(3), Some(4)], Some(2)),
            ([None, None, Some(3), Some(4)], Some(3)),
            ([None, None, None, Some(4)], Some(4)),
            ([Some(1), None, None, Some(4)], Some(1)),
            ([None; 4], None),
        ];
        for ([configured, quirk, probed, learned], expected) in table {
            assert_eq!(in_force(configured, quirk, probed, learned), expected);
        }
    }

    #[test]
    fn lists_of_models() {
        let check = |entry: Value, expected: Option<u64>| {
            let other = json!({"id": "other", "context_length": 999});
            let list = json!({"data": [other, entry]});
            assert_eq!(in_list(&list, "m"), expected, "{list}");
        };
        check(json!({"id": "m"}), None);
        check(json!({"id": "m", "context_length": 8192}), Some(8192));
        check(json!({"id": "m", "max_model_len": 32768}), Some(32768));
        check(json!({"id": "m", "context_window": "131072"}), Some(131_072));
        check(json!({"id": "m", "max_context_length": 4096}), Some(4096));
        check(
            json!({"id": "m", "max_context_length": 131_072, "loaded_context_length": 4096}),
            Some(4096),
        );
        check(
            json!({"id": "m", "context_length": 200_000, "top_provider": {"context_length": 64_000}}),
            Some(64_000),
        );
        check(
            json!({"id": "m", "max_context_window": 131_072, "recipe_options": {"ctx_size": 4096}}),
            Some(4096),
        );
        check(json!({"name": "m:latest", "context_length": 8192}), Some(8192));
        check(json!({"id": "m", "context_length": 0}), None);
        check(json!({"id": "m", "context_length": -1, "max_model_len": 1024}), Some(1024));
        check(json!({"id": "m", "meta": {"n_ctx_train": 131_072}}), None);
        check(json!({"id": "n", "context_length": 8192}), None);
        assert_eq!(
            in_list(&json!({"data": [{"id": "x", "max_model_len": 4096}]}), "m"),
            Some(4096)
        );
        assert_eq!(in_list(&json!({"data": []}), "m"), None);
        assert_eq!(in_list(&json!([]), "m"), None);
    }

    #[test]
    fn native_answers() {
        let props = json!({"default_generation_settings": {"n_ctx": 8192}, "total_slots": 2});
        assert_eq!(in_props(&props), Some(8192));
        assert_eq!(in_props(&json!({"error": "no"})), None);
        let running = json!({"models": [{"name": "m:latest", "context_length": 4096}]});
        assert_eq!(in_running(&running, "m"), Some(4096));
        assert_eq!(in_running(&running, "other"), None);
    }

    #[test]
    fn refusals() {
        let check = |message: &str, expected: Option<u64>| {
            assert_eq!(in_words(message), expected, "{message}");
        };
        check("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000));
        check("This model's maximum context length is 8192 tokens. You asked for 9000", Some(8192));
        check("maximum prompt length is 131,072", Some(131_072));
        check(
            "the request (40031 tokens) exceeds the available context size (4096 tokens)",
            Some(4096),
        );
        check(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Some(1_048_576),
        );
        check("prompt token count of 9 exceeds the limit of 12288", Some(12_288));
        check("prompt is too long: 9 tokens > 8 maximum", None);
        check("the request exceeds the available context size", None);
        check("", None);
    }

    #[test]
    fn each_model_is_asked_for_once() {
        let windows = Windows::default();
        assert!(windows.shall_ask("m") && !windows.shall_ask("m"));
        windows.learned("m", 4096);
        assert_eq!(windows.get("m", None, None), Some(4096));
        windows.probed("m", 8192);
        assert_eq!(windows.get("m", None, None), Some(8192));
        for n in 0..MAX_MODELS {
            windows.learned(&n.to_string(), 4096);
        }
        assert!(!windows.shall_ask("one more"), "names without end are not kept");
        assert_eq!(windows.get("one more", None, Some(512)), Some(512));
    }
}
