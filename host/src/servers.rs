//! Which servers one plugin may ask, and with what: the words of `fetch`, `fetch_private` and
//! `credentials` in `[plugin.NAME]`.
//!
//! Parsed once, when the configuration is read; judges by comparing, and never resolves a name or
//! connects. What addresses a granted name may lead to is in `address`; `fetch` holds to both.

mod address;
mod credential;
mod entry;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use address::{is_metadata, is_public};
pub use credential::{Credential, is_about_connection};
pub use entry::Entry;

/// What one plugin was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Hosts that must lie at public addresses.
    pub hosts: Vec<Entry>,
    /// Hosts that may lie anywhere but at a cloud's metadata, and be asked without TLS.
    pub private_hosts: Vec<Entry>,
    /// By the name that the plugin uses.
    pub credentials: BTreeMap<String, Credential>,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With it.
    Https,
}

/// Where a name may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To public addresses alone.
    Public,
    /// Anywhere but to a cloud's metadata.
    Private,
}

/// The host of an address on the web: a name in lower case, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// In its ASCII form, without a dot at its end.
    Name(String),
    /// As it stands in the URL; an IPv4 address inside an IPv6 one stays there.
    Address(IpAddr),
}

/// One place on the web, as a URL names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// How it is spoken to.
    pub scheme: Scheme,
    /// Who.
    pub host: Host,
    /// Never left out: the scheme's own where the URL names none.
    pub port: u16,
}

/// Why a place is out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No entry names it.
    NotGranted,
    /// Granted, but with TLS alone.
    Plain,
    /// An address that is not public, and no entry of `fetch_private` names it.
    NotPublic,
}

impl Servers {
    /// True where it grants no host at all.
    pub fn is_empty(&self) -> bool {
        self.hosts.is_empty() && self.private_hosts.is_empty()
    }

    /// On which side a place lies that is granted.
    ///
    /// # Errors
    ///
    /// Why it is not.
    pub fn side(&self, place: &Place) -> Result<Side, Refusal> {
        if self.private_hosts.iter().any(|entry| entry.covers(place)) {
            return Ok(Side::Private);
        }
        if let Host::Address(address) = place.host
            && !is_public(address)
        {
            return Err(Refusal::NotPublic);
        }
        let covers = |place: &Place| self.hosts.iter().any(|entry| entry.covers(place));
        match place.scheme {
            Scheme::Https if covers(place) => Ok(Side::Public),
            Scheme::Https => Err(Refusal::NotGranted),
            Scheme::Http => {
                // The port that everybody speaks plainly at, where an entry says so in so many words.
                let plainly = |entry: &Entry| entry.port() == Some(80) && entry.covers(place);
                let port = if place.port == 80 { 443 } else { place.port };
                let with_tls = Place { scheme: Scheme::Https, port, ..place.clone() };
                match self.hosts.iter().any(plainly) {
                    true => Ok(Side::Public),
                    false if covers(&with_tls) => Err(Refusal::Plain),
                    false => Err(Refusal::NotGranted),
                }
            }
        }
    }
}

impl Scheme {
    /// Where it is spoken when nothing else is said.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http => 80,
            Scheme::Https => 443,
        }
    }
}

impl Host {
    /// Reads the host of a parsed URL: in lower case, IPv6 in brackets.
    pub fn read(text: &str) -> Host {
        let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
        match bare.parse() {
            Ok(address) => Host::Address(address),
            Err(_) => Host::Name(text.strip_suffix('.').unwrap_or(text).to_owned()),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

impl std::fmt::Display for Place {
    /// As an entry that would grant it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            443 if self.scheme == Scheme::Https => write!(f, "{}", self.host),
            port => write!(f, "{}:{port}", self.host),
        }
    }
}
