//! `fetch`: servers, by the plugin's own way out.
//!
//! A request gets at most the time its call has left, and is dropped with the call.

use super::CallState;
use crate::wit::{Effects, Fault, fetch};

impl fetch::Host for CallState {
    async fn send(
        &mut self,
        request: fetch::Request,
    ) -> wasmtime::Result<Result<fetch::Response, Fault>> {
        Ok(self.ask_server(request).await)
    }
}

impl CallState {
    async fn ask_server(&self, request: fetch::Request) -> Result<fetch::Response, Fault> {
        self.require(Effects::NETWORK, "ask servers")?;
        self.until()?;
        self.fetch.send(request, self.deadline).await
    }
}
