//! The door over real sockets, in raw bytes: what is refused, what replies look like, and what
//! becomes of a run whose client goes away.

mod disconnect;
mod follow;
mod refusals;
mod replies;
mod stage;
mod upstream;
