//! Between the generated exports and the traits an author implements.
//!
//! Each export sets the panic hook first, so that a trap never goes without its message: the
//! component aborts on panic, and the log is the only way out.

use core::cell::RefCell;
use core::marker::PhantomData;
use std::sync::Once;

use crate::contract::guard::exports::harness::plugin::guard;
use crate::contract::profile::exports::harness::plugin::provider_profile as profile;
use crate::contract::tool::exports::harness::plugin::tool;
use crate::{
    Call, Decode, Delta, Denial, Description, Failure, Fault, Frame, Guard, Outcome, Profile,
    Proposal, Rescued, Spec, StreamEvent, Tool, log,
};

/// From here on a panic's message and place reach the log before the trap.
fn report_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            log::write(log::Level::Error, &panic.to_string());
        }));
    });
}

/// The tool's export.
pub struct ExportedTool<T>(PhantomData<T>);

impl<T: Tool> tool::Guest for ExportedTool<T> {
    fn specs() -> Vec<Spec> {
        report_panics();
        T::specs()
    }

    fn run(call: Call) -> Result<Outcome, Fault> {
        report_panics();
        T::run(call)
    }
}

/// The guard's export.
pub struct ExportedGuard<G>(PhantomData<G>);

impl<G: Guard> guard::Guest for ExportedGuard<G> {
    fn earlier() -> u32 {
        report_panics();
        G::EARLIER
    }

    fn check(proposal: Proposal) -> Option<Denial> {
        report_panics();
        G::check(proposal)
    }
}

/// The profile's export.
pub struct ExportedProfile<P>(PhantomData<P>);

impl<P: Profile> profile::Guest for ExportedProfile<P> {
    type Decoder = ExportedDecoder<P>;

    fn describe() -> Vec<Description> {
        report_panics();
        P::describe()
    }

    fn frame_request(name: String, request: String) -> Result<Frame, Fault> {
        report_panics();
        P::frame_request(&name, &request)
    }

    fn encode_message(name: String, message: String) -> Result<Vec<u8>, Fault> {
        report_panics();
        P::encode_message(&name, &message)
    }

    fn classify(
        name: String,
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    ) -> Option<Failure> {
        report_panics();
        P::classify(&name, status, &headers, &body)
    }

    fn rescue(name: String, text: String, tools: Vec<String>) -> Option<Rescued> {
        report_panics();
        P::rescue(&name, &text, &tools)
    }
}

/// The contract's decoder resource: shared access outside, an author's `&mut self` inside.
pub struct ExportedDecoder<P> {
    decoder: RefCell<Box<dyn Decode>>,
    profile: PhantomData<P>,
}

impl<P: Profile> profile::GuestDecoder for ExportedDecoder<P> {
    fn new(name: String, streaming: bool) -> Self {
        report_panics();
        let decoder = RefCell::new(P::decoder(&name, streaming));
        ExportedDecoder { decoder, profile: PhantomData }
    }

    fn push(&self, event: StreamEvent) -> Vec<Delta> {
        self.decoder.borrow_mut().push(event)
    }

    fn finish(&self) -> Vec<Delta> {
        self.decoder.borrow_mut().finish()
    }
}
