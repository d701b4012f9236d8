//! The upstream client: one request to a model in, one whole reply out.
//!
//! Owns the network: encoding, framing, timers, retries and the provider's key. It always streams
//! and hands out nothing before a reply is whole, so a failed attempt can be repeated without harm.
//! Never runs a tool, never changes a conversation, never shows a key, a header or a host name.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Client, Url, redirect};
use tokio::time::{Instant, sleep, timeout_at};

use crate::deadline::Deadline;
use crate::message::Reply;
use crate::quirks::Quirks;

mod assemble;
mod attempt;
mod calls;
mod chunk;
mod conversation;
mod encode;
mod error;
mod growing;
mod hint;
mod offers;
mod probe;
mod reach;
mod reading;
mod retry;
mod scrub;
mod sse;
mod verdict;
mod window;

#[cfg(test)]
mod tests;

use window::Windows;

pub use conversation::Conversation;
pub use error::{UpstreamError, Wait};
pub use offers::{OfferError, Offers, Passthrough, ToolChoice, ToolOffer};

/// How long each part of an attempt may take, and how many there may be. The run's deadline bounds
/// all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timers {
    /// Making the connection, TLS included.
    pub connect: Duration,
    /// From sending the request to the first event. Long, because a local model reads its prompt
    /// at some hundred tokens a second before it says anything.
    pub first_event: Duration,
    /// From one event to the next. Comments and pings do not count.
    pub idle: Duration,
    /// Attempts in all, 1 or more; 1 tries nothing again.
    pub attempts: u32,
    /// Before the second attempt, where the upstream names no wait; before each further one it is
    /// four times as long, and at most 30 seconds. Spread by a quarter in either direction.
    pub backoff: Duration,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            connect: Duration::from_secs(10),
            first_event: Duration::from_secs(600),
            idle: Duration::from_secs(120),
            attempts: 3,
            backoff: Duration::from_millis(500),
        }
    }
}

/// What an [`Upstream`] is made from.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamSettings {
    /// `http` or `https`, up to and without `/chat/completions`; a query is kept.
    pub base_url: String,
    /// Sent as a bearer token; never shown.
    pub api_key: Option<String>,
    /// See there.
    pub timers: Timers,
    /// The context window in tokens, where a person configured it. Counts before everything else.
    pub window: Option<u64>,
}

impl std::fmt::Debug for UpstreamSettings {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("UpstreamSettings")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "set"))
            .field("timers", &self.timers)
            .field("window", &self.window)
            .finish()
    }
}

/// One request.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// As the upstream knows it.
    pub model: &'a str,
    /// What the model reads; its quirks apply to the whole request.
    pub conversation: &'a Conversation,
    /// What the model may call.
    pub offers: &'a Offers,
    /// Whether it may, or must.
    pub choice: ToolChoice,
    /// The client's own keys.
    pub extra: &'a Passthrough,
    /// Most tokens it may write; the provider's own limit when none.
    pub output_limit: Option<u64>,
    /// When the reply must be whole, retries included.
    pub deadline: Deadline,
}

impl Ask<'_> {
    /// Size of the request's body.
    pub fn len_bytes(&self) -> usize {
        encode::head(self).len() + self.conversation.len_bytes() + encode::TAIL.len()
    }
}

/// A client for one upstream. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Upstream {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    client: Client,
    /// What every address begins with.
    base: Url,
    /// Where replies come from.
    url: Url,
    timers: Timers,
    window: Option<u64>,
    windows: Windows,
    /// Words that must not come back in an error: the key and the host.
    secrets: Vec<String>,
}

impl Upstream {
    /// Makes the client. Connects to nothing yet.
    pub fn new(settings: UpstreamSettings) -> Result<Upstream, UpstreamError> {
        let (base, url) = endpoint(&settings.base_url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let mut headers = HeaderMap::new();
        if let Some(key) = &settings.api_key {
            let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| {
                UpstreamError::Settings {
                    what: "the upstream's key has characters that cannot stand in a header"
                        .to_owned(),
                }
            })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        // An error says that one is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = Client::builder()
            .user_agent(concat!("harness/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            // A redirect would carry conversation and key to wherever it points.
            .redirect(redirect::Policy::none())
            .connect_timeout(settings.timers.connect)
            .tcp_nodelay(true)
            .tcp_keepalive(Duration::from_secs(60));
        if is_loopback(&host) {
            // A proxy's loopback is not ours.
            builder = builder.no_proxy();
        }
        if url.scheme() == "http" {
            // Without TLS there is no need for the system to have certificates at all.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|err| UpstreamError::Settings {
            what: format!("the upstream client cannot be made: {}", err.without_url()),
        })?;
        let mut secrets: Vec<String> = settings.api_key.clone().into_iter().chain([host]).collect();
        secrets.retain(|secret| secret.len() > 3);
        let UpstreamSettings { timers, window, .. } = settings;
        let windows = Windows::default();
        Ok(Upstream {
            inner: Arc::new(Inner { client, base, url, timers, window, windows, secrets }),
        })
    }

    /// Sends the conversation and waits for the whole reply. Attempts that fail in passing are
    /// repeated, as often as the settings say and never past the deadline; `retried` hears of each
    /// with the reason and the wait. A wait that the upstream asks for is kept to; where the
    /// deadline comes first, there is no point in waiting, and the error says how long it would
    /// have been. Dropping the future closes the connection.
    pub async fn ask(
        &self,
        ask: Ask<'_>,
        retried: &mut (dyn FnMut(&str, Duration) + Send),
    ) -> Result<Reply, UpstreamError> {
        let body = encode::body(&ask);
        let deadline = Instant::from_std(ask.deadline.instant());
        for attempt in 1.. {
            if ask.deadline.is_over() {
                break;
            }
            let sent = attempt::attempt(self, body.clone(), ask.conversation);
            let failure = match timeout_at(deadline, sent).await {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(failure)) => failure,
                Err(_) => break,
            };
            let wait = retry::wait(&failure, attempt, &self.inner.timers);
            let error = failure.error.without(&self.inner.secrets);
            match wait {
                Some(wait) if wait < ask.deadline.left() => {
                    retried(&error.to_string(), wait);
                    sleep(wait).await;
                }
                _ => return Err(self.told(error, &ask)),
            }
        }
        Err(UpstreamError::TimedOut { waiting: Wait::Deadline })
    }

    /// What an error teaches us, and what it tells the operator; the client gets the rest.
    fn told(&self, mut error: UpstreamError, ask: &Ask<'_>) -> UpstreamError {
        if let Some(to_mend) = error.to_mend() {
            tracing::error!(model = ask.model, "{error}\nhint: {to_mend}");
        }
        match &mut error {
            UpstreamError::ContextOverflow { window: Some(window), .. } => {
                self.inner.windows.learned(ask.model, *window);
            }
            UpstreamError::Refused { param, .. } => {
                let is_ours =
                    |key: &String| key != "model" && !ask.extra.entries().contains_key(key);
                drop(param.take_if(|key| is_ours(key)));
            }
            _ => {}
        }
        error
    }

    /// The context window of `model` in tokens, as far as it is known now: configured, or the
    /// profile's, or what the upstream told, or what a refusal named. Where nobody said, the
    /// upstream is asked in the background, once for each model; nobody waits for that. To be
    /// called inside a Tokio runtime.
    pub fn window(&self, model: &str, quirks: &Quirks) -> Option<u64> {
        let known = self.known_window(model, quirks);
        if known.is_none() && self.inner.windows.shall_ask(model) {
            tokio::spawn(probe::probe(self.clone(), model.to_owned()));
        }
        known
    }

    /// The same, and nobody is asked.
    pub fn known_window(&self, model: &str, quirks: &Quirks) -> Option<u64> {
        self.inner.windows.get(model, self.inner.window, quirks.context_window)
    }
}

/// The base of every address, and where replies come from.
fn endpoint(base_url: &str) -> Result<(Url, Url), UpstreamError> {
    let wrong = |what: &str| UpstreamError::Settings {
        what: format!(
            "the upstream's base URL must be like `https://api.example.com/v1`, but {what}"
        ),
    };
    let mut base = Url::parse(base_url).map_err(|err| wrong(&err.to_string()))?;
    if !matches!(base.scheme(), "http" | "https") {
        return Err(wrong(&format!("its scheme is `{}`", base.scheme())));
    }
    if !base.username().is_empty() || base.password().is_some() {
        return Err(wrong("it holds a name or a password"));
    }
    base.path_segments_mut().map_err(|()| wrong("it has no path"))?.pop_if_empty();
    let url = under(&base, &["chat", "completions"]).ok_or_else(|| wrong("it has no path"))?;
    Ok((base, url))
}

/// `base` with `path` at its end; a query is kept.
fn under(base: &Url, path: &[&str]) -> Option<Url> {
    let mut url = base.clone();
    url.path_segments_mut().ok()?.extend(path);
    Some(url)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
