//! Profiles of providers that speak OpenAI's wire: data only.

use harness_sdk::{Description, Profile, export_profile};

/// The component.
pub struct Profiles;

export_profile!(Profiles);

impl Profile for Profiles {
    fn describe() -> Vec<Description> {
        Vec::new()
    }
}
