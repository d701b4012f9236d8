//! A chat completion request: JSON in, a checked [`ChatRequest`] or a [`Refusal`] out.
//!
//! Every key OpenAI defines has one of four fates here: it is read, it is sent on to the upstream
//! as it came, it is left out with a note, or the request is refused. Keys nobody knows are sent
//! on; only inside `harness`, which is ours, an unknown key is a mistake. Null is as good as absent.

use serde_json::{Map, Value};

use super::field::{Field, is_nothing, shown};
use super::history::History;
use crate::error::Refusal;
use crate::message::Message;
use crate::nearest::nearest;

/// Stop sequences OpenAI allows.
const MAX_STOP_SEQUENCES: usize = 4;

/// Keys of the `harness` object.
const HARNESS_KEYS: [&str; 7] = [
    "workspace",
    "session_id",
    "max_turns",
    "max_seconds",
    "max_total_tokens",
    "detach",
    "stream_events",
];

/// What a client asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChatRequest {
    /// `model` as it was sent, to be echoed; None when none was named.
    pub sent_model: Option<String>,
    /// The model to ask; None for the configured one.
    pub model: Option<String>,
    /// The session in the model's suffix, `name::ws_…`.
    pub model_session: Option<String>,
    /// Texts of system and developer messages, in order.
    pub system: Vec<String>,
    /// User and assistant messages, in order; the last is a user's.
    pub messages: Vec<Message>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// Whether a stream tells its usage.
    pub include_usage: bool,
    /// Where the answer ends.
    pub stop: Vec<String>,
    /// The most tokens of the answer.
    pub max_tokens: Option<u64>,
    /// The form of the answer, when it is another than text.
    pub response_format: Option<Value>,
    /// Whether tools may, must or must not be called.
    pub tool_choice: ToolChoice,
    /// The `harness` object.
    pub harness: HarnessOptions,
    /// Keys that are the upstream's business, as they came. Ordered by name, so that the same
    /// request always becomes the same bytes.
    pub extra: Map<String, Value>,
    /// What is not done as asked, a sentence each.
    pub notes: Vec<String>,
}

/// `tool_choice`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// At least one call.
    Required,
    /// No call.
    None,
}

/// The `harness` object of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarnessOptions {
    /// An absolute directory.
    pub workspace: Option<String>,
    /// A session's id.
    pub session_id: Option<String>,
    /// Turns, at most.
    pub max_turns: Option<u32>,
    /// Seconds, at most.
    pub max_seconds: Option<u64>,
    /// Tokens in all, at most.
    pub max_total_tokens: Option<u64>,
    /// The run goes on when its client leaves.
    pub detach: bool,
    /// The stream tells what happens in the run, in `delta.harness`.
    pub stream_events: bool,
}

impl ChatRequest {
    /// Reads a request's body.
    pub fn from_json(bytes: &[u8]) -> Result<ChatRequest, Refusal> {
        let value = serde_json::from_slice(bytes).map_err(|err| {
            Refusal::invalid("body", format!("the body must be JSON, got {err}"))
                .with_code("invalid_json")
        })?;
        ChatRequest::from_value(value)
    }

    /// Reads a request.
    pub fn from_value(value: Value) -> Result<ChatRequest, Refusal> {
        let Value::Object(keys) = value else {
            return Err(Field::new("body", &value).wrong("an object"));
        };
        let mut request = ChatRequest::default();
        let mut has_messages = false;
        for (key, value) in keys {
            if value.is_null() {
                continue;
            }
            has_messages |= key == "messages";
            let taken = request.read(&Field::new(key.as_str(), &value))?;
            if taken == Taken::No {
                request.extra.insert(key, value);
            }
        }
        if request.harness.stream_events && !request.stream {
            let note = "`harness.stream_events` has no effect without `stream`";
            request.notes.push(note.to_owned());
        }
        if !has_messages {
            let message = "`messages` is missing";
            return Err(Refusal::invalid("messages", message).with_code("missing"));
        }
        Ok(request)
    }

    /// Reads one key of the request that holds something.
    fn read(&mut self, field: &Field<'_>) -> Result<Taken, Refusal> {
        match field.path.as_str() {
            "model" => self.read_model(field.text()?),
            "messages" => {
                let history = History::read(field, &mut self.notes)?;
                self.system = history.system;
                self.messages = history.messages;
            }
            "stream" => self.stream = field.flag()?,
            "stream_options" => self.read_stream_options(field)?,
            "stop" => {
                self.stop = read_stop(field)?;
                self.note(field, "is applied to the answer alone");
            }
            "tool_choice" | "function_call" => self.tool_choice = read_tool_choice(field)?,
            "harness" => self.harness = HarnessOptions::read(field)?,
            "tools" | "functions" => {
                if !field.list("a list")?.is_empty() {
                    let path = &field.path;
                    return Err(field.unsupported(format!(
                        "client tools are not supported yet: `{path}` must be empty or absent"
                    )));
                }
            }
            "n" => {
                if field.count()? > 1 {
                    return Err(field.unsupported(format!(
                        "`n` must be 1, got `{}`: a run has one answer",
                        field.value
                    )));
                }
            }
            // These belong to the answer; on every turn they would cut or bend tool calls.
            "max_tokens" | "max_completion_tokens" => {
                let limit = field.count()?;
                self.max_tokens = Some(self.max_tokens.map_or(limit, |other| other.min(limit)));
                self.note(field, "is applied to the answer alone");
            }
            "response_format" => {
                let object = field.object()?;
                let kind = field.child("type", object.get("type").unwrap_or(&Value::Null));
                if kind.text()? != "text" {
                    self.response_format = Some(field.value.clone());
                    self.note(field, "is applied to the answer alone");
                }
            }
            // These change the shape of a reply, which the loop reads.
            "logprobs" | "top_logprobs" | "audio" | "prediction" => {
                if field.value != &Value::Bool(false) && field.value != &Value::from(0) {
                    self.note(field, "is not sent on, since the answer cannot carry it");
                }
            }
            "modalities" => {
                if field.value != &serde_json::json!(["text"]) {
                    self.note(field, "is not sent on, since the answer is text alone");
                }
            }
            "parallel_tool_calls" => {
                field.flag()?;
                self.note(field, "is not sent on, since the upstream's profile decides it");
            }
            // What a run did is kept here, under the run's id; the upstream is asked to keep
            // nothing, and learns nothing of who asks.
            "store" => {
                if field.flag()? {
                    self.note(field, "is not sent on, since runs are kept by the harness itself");
                }
            }
            "metadata" | "user" => {
                if !is_nothing(field.value) {
                    self.note(field, "is neither kept nor sent on");
                }
            }
            _ => return Ok(Taken::No),
        }
        Ok(Taken::Yes)
    }

    /// Splits `name::ws_…`; `harness` and an empty name stand for the configured model.
    fn read_model(&mut self, sent: &str) {
        let (name, session) = match sent.rsplit_once("::") {
            Some((name, id)) if is_session_id(id) => (name, Some(id.to_owned())),
            _ => (sent, None),
        };
        self.model = (!matches!(name, "" | "harness")).then(|| name.to_owned());
        self.model_session = session;
        self.sent_model = (!sent.is_empty()).then(|| sent.to_owned());
    }

    fn read_stream_options(&mut self, field: &Field<'_>) -> Result<(), Refusal> {
        for (key, value) in field.object()? {
            let option = field.child(key, value);
            match key.as_str() {
                _ if value.is_null() => {}
                "include_usage" => self.include_usage = option.flag()?,
                // Asking for no padding is asking for what we do.
                "include_obfuscation" if !option.flag()? => {}
                _ => self.note(&option, "is not known and has no effect"),
            }
        }
        Ok(())
    }

    fn note(&mut self, field: &Field<'_>, text: &str) {
        self.notes.push(format!("{} {text}", shown(&field.path)));
    }
}

/// Whether a key was read here; if not, it is the upstream's.
#[derive(PartialEq)]
enum Taken {
    Yes,
    No,
}

impl HarnessOptions {
    fn read(field: &Field<'_>) -> Result<HarnessOptions, Refusal> {
        let mut options = HarnessOptions::default();
        for (key, value) in field.object()? {
            let option = field.child(key, value);
            match key.as_str() {
                key if !HARNESS_KEYS.contains(&key) => return Err(unknown_option(&option, key)),
                _ if value.is_null() => {}
                "workspace" => options.workspace = Some(read_workspace(&option)?),
                "session_id" => {
                    let id = option.text()?;
                    if !is_session_id(id) {
                        return Err(option.wrong("a session's id, `ws_…`"));
                    }
                    options.session_id = Some(id.to_owned());
                }
                "max_turns" => {
                    options.max_turns = Some(u32::try_from(option.count()?).unwrap_or(u32::MAX));
                }
                "detach" => options.detach = option.flag()?,
                "stream_events" => options.stream_events = option.flag()?,
                "max_seconds" => options.max_seconds = Some(option.count()?),
                _ => options.max_total_tokens = Some(option.count()?),
            }
        }
        Ok(options)
    }
}

/// Whether `text` has the form of a session's id: `ws_` and 8 to 64 lower-case letters or digits.
pub fn is_session_id(text: &str) -> bool {
    let is_body = |body: &str| {
        (8..=64).contains(&body.len())
            && body.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    text.strip_prefix("ws_").is_some_and(is_body)
}

/// Whether `text` can name a workspace: an absolute path. What lies there is not looked at.
pub fn is_workspace_path(text: &str) -> bool {
    text.starts_with('/') && !text.contains('\0')
}

fn read_workspace(option: &Field<'_>) -> Result<String, Refusal> {
    let path = option.text()?;
    if !is_workspace_path(path) {
        return Err(option.wrong("an absolute path"));
    }
    Ok(path.to_owned())
}

fn unknown_option(option: &Field<'_>, key: &str) -> Refusal {
    let hint = match nearest(key, HARNESS_KEYS.into_iter()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known are `{}`", HARNESS_KEYS.join("`, `")),
    };
    let message = format!("`harness` has no key {}: {hint}", shown(key));
    Refusal::invalid(&option.path, message).with_code("unknown_parameter")
}

fn read_stop(field: &Field<'_>) -> Result<Vec<String>, Refusal> {
    let entries = match field.value {
        Value::String(_) => vec![field.clone()],
        _ => field.list("a text or a list of texts")?,
    };
    if entries.len() > MAX_STOP_SEQUENCES {
        return Err(field.wrong(&format!("at most {MAX_STOP_SEQUENCES} texts")));
    }
    let read = |entry: &Field<'_>| match entry.text()? {
        "" => Err(entry.wrong("a text that is not empty")),
        text => Ok(text.to_owned()),
    };
    entries.iter().map(read).collect()
}

fn read_tool_choice(field: &Field<'_>) -> Result<ToolChoice, Refusal> {
    if field.value.is_object() {
        return Err(field.unsupported(format!(
            "`{}` must be `auto`, `none` or `required`, got an object: \
             naming a tool is not supported yet",
            field.path
        )));
    }
    match field.value.as_str() {
        Some("auto") => Ok(ToolChoice::Auto),
        Some("none") => Ok(ToolChoice::None),
        Some("required") => Ok(ToolChoice::Required),
        _ => Err(field.wrong("`auto`, `none` or `required`")),
    }
}

#[cfg(test)]
mod tests;
