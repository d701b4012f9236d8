//! `POST /v1/chat/completions`: a request becomes a run, and its end a reply.
//!
//! Headers and body are joined here, and contradictions between them refused. The ids of session
//! and run stand in the headers of every response from the moment the run exists.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::caller::Caller;
use super::follow::Follower;
use super::{Door, body, refuse, stream, unix_seconds};
use crate::error::Refusal;
use crate::harness::{AnswerOptions, Finished, Run, RunRequest, Tighter, ToolUse};
use crate::ledger::Mark;
use crate::upstream::Passthrough;
use crate::wire::chat::{ChatRequest, ToolChoice, is_session_id, is_workspace_path};
use crate::wire::response::{ChatCompletion, Chunks, Ending, FinishReason, Head, RunInfo};

const SESSION: HeaderName = HeaderName::from_static("x-harness-session");
const WORKSPACE: HeaderName = HeaderName::from_static("x-harness-workspace");
const RUN: HeaderName = HeaderName::from_static("x-harness-run");

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Sent by OpenAI's SDKs: how often this request was sent before.
const RETRY_COUNT: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// A body that takes milliseconds to read.
const LARGE_BYTES: usize = 256 * 1024;

/// The longest `Idempotency-Key`, in bytes.
const MAX_KEY_BYTES: usize = 255;

/// Answers one request.
pub(super) async fn complete(
    State(door): State<Arc<Door>>,
    Caller(caller): Caller,
    request: Request,
) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let bytes = body::read_json(&parts.headers, body, door.options.max_body_bytes).await?;
    let (bytes, chat) = parse(bytes).await?;
    let mut chat = chat?;
    let mark =
        Mark { caller, key: key_of(&parts.headers)?, digest: digest_of(&parts.headers, &bytes) };
    drop(bytes);
    let session = session_of(&parts.headers, &chat)?;
    let workspace = workspace_of(&parts.headers, &chat)?;
    let sent_model = chat.sent_model.take();
    let (is_stream, include_usage) = (chat.stream, chat.include_usage);
    let stream_events = chat.harness.stream_events;
    let mut request = to_run(chat, mark);
    (request.session, request.workspace) = (session, workspace);
    request.is_sent_again = is_sent_again(&parts.headers);
    let run = door.harness.start(request).await?;

    let ids = Ids { session: run.session.clone(), run: run.id.clone() };
    let place = Place::of(&run, sent_model);
    let mut response = if is_stream {
        let chunks = Chunks { head: place.head.clone(), include_usage };
        let events = stream_events.then(|| Follower::new(door.clone(), run.id.clone(), 0));
        stream::respond(run, place, chunks, events, door.options.keep_alive)
    } else {
        let finished = run.finished().await;
        match finished.error {
            Some(refusal) => refusal.into_response(),
            None => {
                let (answer, ending) = place.ending(finished);
                let head = place.head;
                refuse::json(StatusCode::OK, &ChatCompletion::new(head, answer, ending))
            }
        }
    };
    ids.write(response.headers_mut());
    Ok(response)
}

/// Reads a body; a large one where it holds up nobody.
async fn parse(bytes: Vec<u8>) -> Result<(Vec<u8>, Result<ChatRequest, Refusal>), Refusal> {
    if bytes.len() < LARGE_BYTES {
        let chat = ChatRequest::from_json(&bytes);
        return Ok((bytes, chat));
    }
    let parsing = tokio::task::spawn_blocking(move || {
        let chat = ChatRequest::from_json(&bytes);
        (bytes, chat)
    });
    parsing.await.map_err(|err| {
        tracing::error!("a request could not be read: {err}");
        Refusal::internal("the request could not be read; this is our fault")
    })
}

/// What a reply says of its run, apart from how it ended.
pub(super) struct Place {
    head: Head,
    session_id: String,
    run_id: String,
    workspace: String,
}

impl Place {
    fn of(run: &Run, sent_model: Option<String>) -> Place {
        let bare = run.id.split_once('_').map_or(run.id.as_str(), |(_, bare)| bare);
        Place {
            head: Head {
                id: format!("chatcmpl-{bare}"),
                created: unix_seconds(),
                model: sent_model.unwrap_or_else(|| run.model.clone()),
            },
            session_id: run.session.clone(),
            run_id: run.id.clone(),
            workspace: run.workspace.clone(),
        }
    }

    /// The answer, and how the run ended, in the client's words.
    pub(super) fn ending(&self, finished: Finished) -> (String, Ending) {
        let ending = Ending {
            finish_reason: FinishReason::of(finished.reason, finished.finish),
            usage: finished.usage.into(),
            run: RunInfo {
                session_id: self.session_id.clone(),
                run_id: self.run_id.clone(),
                workspace: self.workspace.clone(),
                turns: finished.turns,
                tool_calls: finished.tool_calls,
                termination_reason: finished.reason,
                notes: finished.notes,
            },
        };
        (finished.answer, ending)
    }
}

struct Ids {
    session: String,
    run: String,
}

impl Ids {
    fn write(&self, headers: &mut HeaderMap) {
        for (name, id) in [(SESSION, &self.session), (RUN, &self.run)] {
            // Our ids are ASCII; one that is not has no place in a header.
            if let Ok(value) = HeaderValue::from_str(id) {
                headers.insert(name, value);
            }
        }
    }
}

fn to_run(chat: ChatRequest, mark: Mark) -> RunRequest {
    let formatted = chat.response_format.map(|format| {
        let mut keys = chat.extra.clone();
        keys.insert("response_format".to_owned(), format);
        Passthrough::new(keys)
    });
    RunRequest {
        mark,
        is_sent_again: false,
        detach: chat.harness.detach,
        session: None,
        workspace: None,
        model: chat.model,
        system: chat.system,
        messages: chat.messages,
        answer: AnswerOptions { stop: chat.stop, max_tokens: chat.max_tokens, formatted },
        extra: Passthrough::new(chat.extra),
        tools: match chat.tool_choice {
            ToolChoice::Auto => ToolUse::Auto,
            ToolChoice::Required => ToolUse::Required,
            ToolChoice::None => ToolUse::Off,
        },
        limits: Tighter {
            max_turns: chat.harness.max_turns,
            max_seconds: chat.harness.max_seconds,
            max_total_tokens: chat.harness.max_total_tokens,
        },
        notes: chat.notes,
    }
}

/// By what the request is known again: its bytes, and the headers that say where it is to run.
fn digest_of(headers: &HeaderMap, body: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    for name in [&SESSION, &WORKSPACE] {
        for value in headers.get_all(name) {
            hasher.update(name.as_str().as_bytes()).update(b":");
            hasher.update(value.as_bytes()).update(b"\n");
        }
    }
    hasher.update(b"\n").update(body);
    hasher.finalize().to_hex().to_string()
}

fn key_of(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.any(|other| other != value) {
        let message = "`Idempotency-Key` must be sent once, got several";
        return Err(Refusal::invalid("Idempotency-Key", message).with_code("contradiction"));
    }
    let key = value.to_str().ok().map(str::trim).unwrap_or_default();
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        let message = format!(
            "`Idempotency-Key` must be 1 to {MAX_KEY_BYTES} printable ASCII characters, got {}",
            value.len()
        );
        return Err(Refusal::invalid("Idempotency-Key", message).with_code("invalid_value"));
    }
    Ok(Some(key.to_owned()))
}

fn is_sent_again(headers: &HeaderMap) -> bool {
    let count = headers.get(RETRY_COUNT).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    count.is_some_and(|count: u64| count >= 1)
}

/// The session that header, body and model name; all that name one must name the same.
fn session_of(headers: &HeaderMap, chat: &ChatRequest) -> Result<Option<String>, Refusal> {
    let header = header_text(headers, &SESSION, is_session_id, "a session's id, `ws_…`")?;
    let named = [
        ("X-Harness-Session", header.as_ref()),
        ("harness.session_id", chat.harness.session_id.as_ref()),
        ("model", chat.model_session.as_ref()),
    ];
    agreed(&named)
}

/// The workspace that header and body name.
fn workspace_of(headers: &HeaderMap, chat: &ChatRequest) -> Result<Option<String>, Refusal> {
    let header = header_text(headers, &WORKSPACE, is_workspace_path, "an absolute path")?;
    let named = [
        ("X-Harness-Workspace", header.as_ref()),
        ("harness.workspace", chat.harness.workspace.as_ref()),
    ];
    agreed(&named)
}

fn agreed(named: &[(&str, Option<&String>)]) -> Result<Option<String>, Refusal> {
    let mut given = named.iter().filter_map(|(place, value)| Some((place, (*value)?)));
    let Some((first, value)) = given.next() else { return Ok(None) };
    match given.find(|(_, other)| *other != value) {
        None => Ok(Some(value.clone())),
        Some((place, other)) => Err(Refusal::invalid(
            *place,
            format!("`{place}` must agree with `{first}` `{value}`, got `{other}`"),
        )
        .with_code("contradiction")),
    }
}

fn header_text(
    headers: &HeaderMap,
    name: &HeaderName,
    is_valid: fn(&str) -> bool,
    expected: &str,
) -> Result<Option<String>, Refusal> {
    let mut found = None;
    for value in headers.get_all(name) {
        // A path may hold any letter: bytes as they are, not the ASCII that headers are meant for.
        let text = std::str::from_utf8(value.as_bytes()).ok().filter(|text| is_valid(text));
        let agrees = found.is_none() || found.as_deref() == text;
        let (Some(text), true) = (text, agrees) else {
            let got = value.as_bytes().escape_ascii();
            let message = format!("`{name}` must be {expected}, once, got `{got}`");
            return Err(Refusal::invalid(name.as_str(), message).with_code("invalid_value"));
        };
        found = Some(text.to_owned());
    }
    Ok(found)
}
