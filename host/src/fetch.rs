//! The power to ask servers: one request of a plugin out, one answer back.
//!
//! Owns every connection that a plugin causes. A request goes only where its plugin's [`Servers`]
//! lets it, and each redirect is judged like a request of its own; names are resolved here, so that
//! the address that was judged is the one that is connected to. Keeps no cookies, goes through no
//! proxy (who would resolve the name then?), unpacks nothing, tries nothing twice.

mod answer;
mod connect;
mod fault;
mod headers;
mod judge;
mod redirect;

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::HeaderMap;
use reqwest::Url;
use tokio::time::{Instant, timeout_at};

use crate::deadline::Deadline;
use crate::redact::Redactor;
use crate::servers::Servers;
use crate::wit::Fault;
use crate::wit::fetch::{Method as Verb, Request, Response};
use connect::Clients;
use judge::Target;

/// Redirects that one request follows.
const REDIRECTS: usize = 5;

/// Bytes of a request's body.
const REQUEST_BYTES: usize = 1 << 20;

/// The way out of one plugin.
#[derive(Debug)]
pub struct Fetch {
    plugin: String,
    servers: Servers,
    /// Knows the values of the credentials: also one that came with a new configuration, while
    /// sessions go on with what was secret when they were opened.
    redactor: Redactor,
    clients: Clients,
}

/// One request on its way.
struct Hop {
    method: Method,
    target: Target,
    headers: HeaderMap,
    body: Option<Bytes>,
    /// By its name in the plugin's table; none any more once it went to another host.
    credential: Option<String>,
}

impl Fetch {
    /// A way out for `plugin` to these servers. Connects to nothing yet.
    pub fn new(plugin: &str, servers: Servers) -> Fetch {
        let values = servers.credentials.values().map(|credential| credential.value.clone());
        let redactor = Redactor::new(values);
        Fetch { plugin: plugin.to_owned(), servers, redactor, clients: Clients::default() }
    }

    /// Sends the request, follows its redirects and reads the answer, all of it before `deadline`
    /// and the request's own time-out. The values of credentials are taken out of what comes back.
    /// Dropping the future drops the connection.
    ///
    /// # Errors
    ///
    /// `invalid-input` and `too-large` for what cannot be sent, `denied` for where it may not go,
    /// `unavailable` when nobody answers, or not in time. None of them shows a secret.
    pub async fn send(&self, request: Request, deadline: Deadline) -> Result<Response, Fault> {
        let limit = request.timeout_ms.map(|limit| Duration::from_millis(u64::from(limit)));
        let until = limit.map_or(deadline, |limit| deadline.at_most(limit));
        // A redirect may carry a secret into what is said of it.
        self.send_by(request, until).await.map_err(|fault| Fault {
            kind: fault.kind,
            message: self.redactor.redact_owned(fault.message),
            hint: fault.hint.map(|hint| self.redactor.redact_owned(hint)),
        })
    }

    async fn send_by(&self, request: Request, until: Deadline) -> Result<Response, Fault> {
        let hop = self.first(request)?;
        let mut asked = hop.target.place.host.to_string();
        let following = self.follow(hop, &mut asked);
        match timeout_at(Instant::from_std(until.instant()), following).await {
            Ok(answered) => answered,
            Err(_) => Err(fault::unavailable(format!("`{asked}` did not answer in time"))),
        }
    }

    /// The request as the guest wrote it, judged.
    fn first(&self, request: Request) -> Result<Hop, Fault> {
        let target = self.judge(&judge::parse(&request.url)?)?;
        let body = request.body.map(Bytes::from);
        if let Some(body) = body.as_ref().filter(|body| body.len() > REQUEST_BYTES) {
            let size = body.len();
            return Err(fault::too_large(format!(
                "the body is {size} bytes, over the limit of {REQUEST_BYTES}"
            )));
        }
        let method = match request.method {
            Verb::Get if body.is_some() => {
                return Err(fault::invalid("a `get` has no body"));
            }
            Verb::Get => Method::GET,
            Verb::Post => Method::POST,
        };
        let headers = headers::read(&request.headers)?;
        if let Some(name) = &request.credential {
            self.check_credential(name, &target)?;
        }
        Ok(Hop { method, target, headers, body, credential: request.credential })
    }

    async fn follow(&self, mut hop: Hop, asked: &mut String) -> Result<Response, Fault> {
        for _ in 0..=REDIRECTS {
            *asked = hop.target.place.host.to_string();
            let response = self.ask(&hop).await?;
            let Some(next) =
                redirect::next(response.status(), response.headers(), &hop.target.url)?
            else {
                return answer::read(response, &hop.target, &self.redactor).await;
            };
            hop = self.onward(hop, response.status(), &next)?;
        }
        Err(fault::failed(format!("redirected more than {REDIRECTS} times, at last by `{asked}`")))
    }

    async fn ask(&self, hop: &Hop) -> Result<reqwest::Response, Fault> {
        let Target { url, place, side } = &hop.target;
        let client = self.clients.of(*side, place.scheme)?;
        let mut headers = hop.headers.clone();
        let credential = hop.credential.as_ref().and_then(|it| self.servers.credentials.get(it));
        if let Some(credential) = credential {
            headers::set_credential(&mut headers, credential)?;
        }
        let mut request = client.request(hop.method.clone(), url.clone()).headers(headers);
        if let Some(body) = &hop.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(|err| self.unreached(&hop.target, &err))
    }

    /// The request that a redirect makes of another.
    fn onward(&self, hop: Hop, status: http::StatusCode, next: &Url) -> Result<Hop, Fault> {
        let target = self.judge(next)?;
        let Hop { mut method, target: from, mut headers, mut body, mut credential } = hop;
        if redirect::forgets_body(status, &method) {
            method = Method::GET;
            body = None;
            headers::without_body(&mut headers);
        }
        if target.place != from.place {
            headers::for_another_host(&mut headers);
            credential = None;
        }
        Ok(Hop { method, target, headers, body, credential })
    }

    fn check_credential(&self, name: &str, target: &Target) -> Result<(), Fault> {
        let Some(credential) = self.servers.credentials.get(name) else {
            let message = format!("there is no credential `{name}`");
            let names: Vec<&str> = self.servers.credentials.keys().map(String::as_str).collect();
            return Err(fault::invalid(match names.as_slice() {
                [] => message,
                names => format!("{message}; there are `{}`", names.join("`, `")),
            }));
        };
        if credential.suits(&target.place, target.side) {
            return Ok(());
        }
        Err(fault::denied(format!(
            "credential `{name}` is for `{}` alone, and this request goes to `{}`",
            credential.entry, target.place
        )))
    }
}
