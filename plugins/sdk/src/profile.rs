//! The role of a profile: it describes providers, and translates where the wire is not OpenAI's.
//!
//! A profile of data alone implements [`Profile::describe`] and nothing else; the host never
//! calls the rest for a description whose `own_wire` is false. The contract's decoder is a
//! resource with shared access; [`Decode`] is what an author writes instead.

use crate::{Delta, Description, Failure, FailureKind, Fault, Frame, Rescued, StreamEvent, fault};

/// Implemented by a plugin that translates; made visible by [`export_profile!`](crate::export_profile).
pub trait Profile: 'static {
    /// The named profiles of this component, as data.
    fn describe() -> Vec<Description>;

    /// Everything of a request but its messages.
    ///
    /// # Errors
    ///
    /// `unsupported`, unless the profile has a wire of its own.
    fn frame_request(name: &str, request: &str) -> Result<Frame, Fault> {
        let _ = request;
        Err(no_wire(name))
    }

    /// One message as the provider wants it.
    ///
    /// # Errors
    ///
    /// `unsupported`, unless the profile has a wire of its own.
    fn encode_message(name: &str, message: &str) -> Result<Vec<u8>, Fault> {
        let _ = message;
        Err(no_wire(name))
    }

    /// What a reply that is not a success means; `None` leaves it to the host.
    fn classify(
        name: &str,
        status: u16,
        headers: &[(String, String)],
        body: &str,
    ) -> Option<Failure> {
        let _ = (name, status, headers, body);
        None
    }

    /// Tool calls that a model wrote as text.
    fn rescue(name: &str, text: &str, tools: &[String]) -> Option<Rescued> {
        let _ = (name, text, tools);
        None
    }

    /// A decoder for one reply.
    fn decoder(name: &str, streaming: bool) -> Box<dyn Decode> {
        let _ = streaming;
        Box::new(NoWire { profile: name.to_owned() })
    }
}

/// Reads one reply, event by event.
pub trait Decode {
    /// What this event adds to the reply.
    fn push(&mut self, event: StreamEvent) -> Vec<Delta>;

    /// What is left when the reply has ended.
    fn finish(&mut self) -> Vec<Delta>;
}

/// The decoder of a profile that has no wire of its own: it fails in words, once.
struct NoWire {
    profile: String,
}

impl Decode for NoWire {
    fn push(&mut self, _event: StreamEvent) -> Vec<Delta> {
        Vec::new()
    }

    fn finish(&mut self) -> Vec<Delta> {
        vec![Delta::Failed(Failure {
            kind: FailureKind::InvalidRequest,
            message: no_wire(&self.profile).message,
            retry_after_ms: None,
            adjustment: None,
        })]
    }
}

fn no_wire(profile: &str) -> Fault {
    fault::unsupported(format!("profile `{profile}` is data only and has no wire of its own"))
}

/// Exports a type that implements [`Profile`]. Once in a crate; nothing happens on native targets.
#[macro_export]
macro_rules! export_profile {
    ($profile:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::ExportedProfile<$profile>;
            $crate::profile_contract::export_profile_world!(
                Exported with_types_in $crate::profile_contract
            );
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct DataOnly;

    impl Profile for DataOnly {
        fn describe() -> Vec<Description> {
            Vec::new()
        }
    }

    #[test]
    fn a_profile_of_data_refuses_to_be_a_wire() {
        let fault = DataOnly::frame_request("plain", "{}").unwrap_err();
        assert_eq!(fault.message, "profile `plain` is data only and has no wire of its own");
        assert!(DataOnly::encode_message("plain", "{}").is_err());
        assert_eq!(DataOnly::classify("plain", 500, &[], ""), None);
        assert_eq!(DataOnly::rescue("plain", "", &[]), None);
        assert_eq!(DataOnly::decoder("plain", true).finish().len(), 1);
    }
}
