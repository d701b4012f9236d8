//! The scripted upstream over real sockets: against our own client, and against its own rules.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::deadline::Deadline;
use crate::message::{CallOutcome, Message, Reply};
use crate::upstream::{
    Ask, Conversation, Offers, Passthrough, Timers, ToolChoice, ToolOffer, Upstream, UpstreamError,
    UpstreamSettings,
};

mod client;
mod rules;
mod waits;

const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

/// Never runs out in a test that goes right.
const LONG: Duration = Duration::from_secs(60);

fn timers() -> Timers {
    Timers {
        connect: LONG,
        first_event: LONG,
        idle: LONG,
        attempts: 3,
        backoff: Duration::from_millis(1),
    }
}

/// A client without a key, for whatever listens there.
fn upstream_at(address: SocketAddr, timers: Timers) -> Upstream {
    let base_url = format!("http://{address}/v1");
    let settings = UpstreamSettings { base_url, api_key: None, timers, window: None };
    Upstream::new(settings).expect("a client")
}

struct Bench {
    running: Running,
    upstream: Upstream,
    conversation: Conversation,
    offers: Offers,
    retried: Vec<(String, Duration)>,
}

impl Bench {
    async fn with_timers(script: &str, timers: Timers) -> Bench {
        let script = Script::parse(script).expect("a script");
        let running = start(script, LOOPBACK).await.expect("a listener");
        let settings = UpstreamSettings {
            base_url: running.base_url(),
            api_key: Some("sk-very-secret".to_owned()),
            timers,
            window: None,
        };
        let tool = ToolOffer {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            schema: "{}".to_owned(),
        };
        let mut conversation = Conversation::new(Arc::default());
        conversation.push(Message::System { text: "Be brief.".to_owned() });
        conversation.push(Message::User { text: "Look.".to_owned() });
        Bench {
            running,
            upstream: Upstream::new(settings).expect("a client"),
            conversation,
            offers: Offers::new(&[tool], &crate::quirks::Quirks::default()).expect("offers"),
            retried: Vec::new(),
        }
    }

    async fn new(script: &str) -> Bench {
        Bench::with_timers(script, timers()).await
    }

    async fn ask(&mut self) -> Result<Reply, UpstreamError> {
        self.ask_within(LONG).await
    }

    async fn ask_within(&mut self, time: Duration) -> Result<Reply, UpstreamError> {
        let extra = Passthrough::default();
        let ask = Ask {
            model: "m",
            conversation: &self.conversation,
            offers: &self.offers,
            choice: ToolChoice::Auto,
            extra: &extra,
            output_limit: None,
            deadline: Deadline::after(time),
        };
        let retried = &mut self.retried;
        self.upstream.ask(ask, &mut |reason, wait| retried.push((reason.to_owned(), wait))).await
    }

    /// Takes a reply into the conversation, with `text` as every outcome.
    fn go_on(&mut self, reply: Reply, text: &str) {
        let outcomes: Vec<CallOutcome> = reply
            .calls
            .iter()
            .map(|call| CallOutcome {
                call_id: call.id.clone(),
                text: text.to_owned(),
                images: Vec::new(),
            })
            .collect();
        self.conversation.push(Message::Assistant { text: reply.text, calls: reply.calls });
        if !outcomes.is_empty() {
            self.conversation.push(Message::Outcomes { outcomes });
        }
    }

    fn reasons(&self) -> Vec<&str> {
        self.retried.iter().map(|(reason, _)| reason.as_str()).collect()
    }
}
