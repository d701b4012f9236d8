//! OpenAI's chat completions, as a client sends them and reads them.
//!
//! Words on floor 0: JSON in, a checked [`chat::ChatRequest`] out, and the shapes of every answer
//! in `response`. Nothing here runs, waits or knows what a run is; the server door maps both ways.
//! What a client asks for is applied, forwarded, noted or refused, never dropped in silence.

pub mod chat;
mod field;
mod history;
pub mod list;
pub mod response;
pub mod session;
