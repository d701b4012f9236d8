//! The door over real sockets, in raw bytes: what is refused, what replies look like, what becomes
//! of a run whose client goes away; and that the description of it all is true to the router.

mod disconnect;
mod follow;
mod openapi;
mod refusals;
mod replies;
mod stage;
mod upstream;
