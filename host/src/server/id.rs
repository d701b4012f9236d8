//! The id in a request's address.
//!
//! Here so that one that is not even text is refused in the same shape as everything else.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;

use super::refuse::shown;
use crate::error::Refusal;

/// The `{id}` of a route, decoded.
pub(super) struct Id(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Refusal> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Id(id)),
            Err(_) => {
                let path = shown(parts.uri.path());
                Err(Refusal::not_found(format!("there is nothing at `{path}`")))
            }
        }
    }
}
