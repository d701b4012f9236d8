//! One entry of a list of hosts: `host`, `host:port`, `*.domain`, or an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Host, Place};

/// Bytes of a name, and of one part of it, as the DNS has them.
const NAME_BYTES: usize = 253;
const LABEL_BYTES: usize = 63;

/// What an entry may look like, as it is told to whoever wrote another.
const EXPECTED: &str = "expected `host`, `host:port` or `*.domain`";

/// A host, or every host beneath a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    who: Who,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Who {
    Host(Host),
    /// Every name that ends in a dot and this one.
    Beneath(String),
}

impl Entry {
    /// Reads an entry.
    ///
    /// # Errors
    ///
    /// For whoever wrote it: what was expected, and what came.
    pub fn parse(text: &str) -> Result<Entry, String> {
        let wrong = |why: &str| format!("{EXPECTED}, got `{text}`: {why}");
        if text.contains("://") {
            return Err(wrong("the scheme is not part of it"));
        }
        if text.contains(['/', '?', '#']) {
            return Err(wrong("a whole host is granted, not a path of it"));
        }
        if text.contains('@') {
            return Err(wrong("a user is not part of it"));
        }
        // Bare, it has colons of its own.
        if let Ok(address) = text.parse::<Ipv6Addr>() {
            return Ok(Entry { who: Who::Host(Host::Address(address.into())), port: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (text, None),
        };
        let port = match port.map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(wrong("the port is no number from 1 to 65535")),
        };
        let who = read_who(host).map_err(|why| wrong(&why))?;
        Ok(Entry { who, port })
    }

    /// Whether it names that place.
    pub fn covers(&self, place: &Place) -> bool {
        if place.port != self.port.unwrap_or(place.scheme.port()) {
            return false;
        }
        match (&self.who, &place.host) {
            (Who::Host(host), other) => host == other,
            (Who::Beneath(domain), Host::Name(name)) => {
                let above = name.strip_suffix(domain.as_str());
                above.and_then(|above| above.strip_suffix('.')).is_some_and(|it| !it.is_empty())
            }
            (Who::Beneath(_), Host::Address(_)) => false,
        }
    }

    /// The one host it names; none where it names all beneath a domain.
    pub fn host(&self) -> Option<&Host> {
        match &self.who {
            Who::Host(host) => Some(host),
            Who::Beneath(_) => None,
        }
    }

    /// The port it names.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.who {
            Who::Host(host) => write!(f, "{host}")?,
            Who::Beneath(domain) => write!(f, "*.{domain}")?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn read_who(host: &str) -> Result<Who, String> {
    if let Some(inside) = host.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|it| it.parse::<Ipv6Addr>().ok());
        let address = address.ok_or("what is in the brackets is no IPv6 address")?;
        return Ok(Who::Host(Host::Address(address.into())));
    }
    let (is_domain, name) = match host.strip_prefix("*.") {
        Some(domain) => (true, domain.to_ascii_lowercase()),
        None => (false, host.to_ascii_lowercase()),
    };
    if is_number(name.rsplit('.').next().unwrap_or_default()) {
        let address = name.parse::<Ipv4Addr>().ok().filter(|_| !is_domain);
        let address = address.ok_or("it ends in a number, and is no IPv4 address in full")?;
        return Ok(Who::Host(Host::Address(IpAddr::V4(address))));
    }
    check_name(&name)?;
    Ok(if is_domain { Who::Beneath(name) } else { Who::Host(Host::Name(name)) })
}

/// The rule by which a URL's host is read as an IPv4 address in one of its odd forms.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x");
    !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the host is missing".to_owned());
    }
    if !name.is_ascii() {
        return Err("write it in its ASCII form, with `xn--`".to_owned());
    }
    if name.contains('*') {
        return Err("`*` stands for a beginning, as in `*.domain`".to_owned());
    }
    if name.len() > NAME_BYTES {
        return Err(format!("it is {} bytes long, over the limit of {NAME_BYTES}", name.len()));
    }
    let is_label = |label: &str| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=LABEL_BYTES).contains(&label.len())
            && label.bytes().all(letters)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    match name.split('.').find(|label| !is_label(label)) {
        None => Ok(()),
        Some("") => Err("there is a dot too many".to_owned()),
        Some(label) => Err(format!("`{label}` is no part of a name")),
    }
}
