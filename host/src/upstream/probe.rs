//! Asking the upstream how many tokens a model holds.
//!
//! A few small requests beside everything else: nobody waits for them, nothing fails because of
//! them, and what does not answer in time is not asked again. What an answer means, `window`
//! says.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::{Upstream, Url, under, window};

/// For all requests together.
const PATIENCE: Duration = Duration::from_secs(5);

/// Largest answer that is read. Lists of hundreds of models are some hundred kilobytes.
const MAX_BYTES: usize = 8 << 20;

/// Asks for the window of `model` and keeps the answer.
pub(super) async fn probe(upstream: Upstream, model: String) {
    match timeout(PATIENCE, ask(&upstream, &model)).await {
        Ok(Some(tokens)) => {
            upstream.inner.windows.probed(&model, tokens);
            tracing::info!(model, tokens, "the upstream told the context window");
        }
        Ok(None) => tracing::debug!(model, "the upstream does not tell the context window"),
        Err(_) => tracing::debug!(model, "the upstream did not tell the context window in time"),
    }
}

/// OpenAI's list first; then the servers of local models, each at its own place beside it.
async fn ask(upstream: &Upstream, model: &str) -> Option<u64> {
    let base = &upstream.inner.base;
    let list = get(upstream, base, &["models"]).await;
    if let Some(tokens) = list.and_then(|list| window::in_list(&list, model)) {
        return Some(tokens);
    }
    let mut root = base.clone();
    if base.path_segments().and_then(|mut path| path.next_back()) == Some("v1") {
        root.path_segments_mut().ok()?.pop();
    }
    let props = get(upstream, &root, &["props"]).await;
    if let Some(tokens) = props.as_ref().and_then(window::in_props) {
        return Some(tokens);
    }
    let running = get(upstream, &root, &["api", "ps"]).await;
    if let Some(tokens) = running.and_then(|running| window::in_running(&running, model)) {
        return Some(tokens);
    }
    let list = get(upstream, &root, &["api", "v0", "models"]).await;
    list.and_then(|list| window::in_list(&list, model))
}

async fn get(upstream: &Upstream, base: &Url, path: &[&str]) -> Option<Value> {
    let mut response = upstream.inner.client.get(under(base, path)?).send().await.ok()?;
    if !response.status().is_success() {
        return None;
    }
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.ok()? {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_BYTES {
            return None;
        }
    }
    serde_json::from_slice(&body).ok()
}
