//! One question before any run: does the upstream answer, and does it take the key?
//!
//! Asks for the list of models, which costs nothing, and reads none of it. Sends no conversation
//! and tries nothing twice.

use std::time::Duration;

use tokio::time::timeout;

use super::attempt::{refusal, unreachable};
use super::{Upstream, UpstreamError, Wait, under};

impl Upstream {
    /// Asks the upstream for its models and waits for the answer's head, at most for `limit`.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Credentials`] when it does not take the key; `Unreachable` and `TimedOut`
    /// when there is no answer; otherwise what the answer says.
    pub async fn reach(&self, limit: Duration) -> Result<(), UpstreamError> {
        let no_path = || UpstreamError::Settings { what: "the base URL has no path".to_owned() };
        let url = under(&self.inner.base, &["models"]).ok_or_else(no_path)?;
        let asked = async {
            let sent = self.inner.client.get(url).send().await;
            let response = sent.map_err(|err| unreachable(&err))?;
            match response.status().is_success() {
                true => Ok(()),
                false => Err(refusal(response).await.error.without(&self.inner.secrets)),
            }
        };
        match timeout(limit, asked).await {
            Ok(answered) => answered,
            Err(_) => Err(UpstreamError::TimedOut { waiting: Wait::FirstEvent }),
        }
    }
}
