//! A credential of a plugin: a value that the host puts into a request, and the plugin never sees.

use super::{Entry, Place, Scheme, Side};

/// The header that a credential goes into when its table names none; the value is a bearer token
/// there, and stands alone in any other.
const AUTHORIZATION: &str = "authorization";

/// Headers about the connection: neither a plugin nor a credential sets one.
const CONNECTION: [&str; 10] = [
    "host",
    "content-length",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "te",
    "trailer",
    "upgrade",
    "expect",
    "http2-settings",
];

/// The same, with anything behind it.
const CONNECTION_PREFIX: &str = "proxy-";

/// Whether that header is the host's to set; its name in lower case.
pub fn is_about_connection(header: &str) -> bool {
    CONNECTION.contains(&header) || header.starts_with(CONNECTION_PREFIX)
}

/// `[plugin.NAME.credentials.CRED]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The environment variable that has the value.
    pub variable: String,
    /// The one host it is for.
    pub entry: Entry,
    /// The header it goes into, in lower case.
    pub header: String,
    /// Empty until the environment was read.
    pub value: String,
}

impl Credential {
    /// One that has no value yet; `header` None is `authorization`.
    pub fn new(variable: &str, entry: Entry, header: Option<&str>) -> Credential {
        let header = header.unwrap_or(AUTHORIZATION).to_ascii_lowercase();
        Credential { variable: variable.to_owned(), entry, header, value: String::new() }
    }

    /// Whether it may be sent there: to its own host, over TLS or to a private one.
    pub fn suits(&self, place: &Place, side: Side) -> bool {
        self.entry.covers(place) && (place.scheme == Scheme::Https || side == Side::Private)
    }

    /// What the header holds.
    pub fn header_value(&self) -> String {
        match self.header.as_str() {
            AUTHORIZATION => format!("Bearer {}", self.value),
            _ => self.value.clone(),
        }
    }
}

impl std::fmt::Debug for Credential {
    /// Without the value, so that no log line can hold it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credential")
            .field("variable", &self.variable)
            .field("entry", &self.entry)
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}
