//! Clients, and the names they resolve: no address is connected to that was not judged.
//!
//! One client for each side and scheme, because a resolver is told a name and not what it is
//! for. Made when first needed: where nothing is asked with TLS, the system needs no certificates.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, redirect};

use super::judge::Target;
use super::{Fetch, fault};
use crate::servers::{Scheme, Side, is_metadata, is_public};
use crate::wit::Fault;

/// To make a connection, TLS included; a call may have less.
const CONNECTING: Duration = Duration::from_secs(10);

/// Connections that wait for another request to the same server, and for how long.
const KEPT: usize = 2;
const KEPT_FOR: Duration = Duration::from_secs(30);

/// One client for each way of asking.
#[derive(Debug, Default)]
pub(super) struct Clients {
    public: OnceLock<Client>,
    public_plain: OnceLock<Client>,
    private: OnceLock<Client>,
    private_plain: OnceLock<Client>,
}

/// Resolves names by the system, and judges where they lead.
struct Resolver(Side);

/// What a resolver refuses.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("the name leads to an address that is not public")]
    NotPublic,
    #[error("the name leads to a cloud's metadata")]
    Metadata,
}

impl Clients {
    pub(super) fn of(&self, side: Side, scheme: Scheme) -> Result<&Client, Fault> {
        let place = match (side, scheme) {
            (Side::Public, Scheme::Https) => &self.public,
            (Side::Public, Scheme::Http) => &self.public_plain,
            (Side::Private, Scheme::Https) => &self.private,
            (Side::Private, Scheme::Http) => &self.private_plain,
        };
        if let Some(client) = place.get() {
            return Ok(client);
        }
        let made = client(side, scheme).map_err(|err| {
            tracing::error!("no client for requests of plugins: {}", err.without_url());
            fault::unavailable("this server can make no connections")
        })?;
        // Whoever was first; both are the same.
        Ok(place.get_or_init(|| made))
    }
}

fn client(side: Side, scheme: Scheme) -> reqwest::Result<Client> {
    // An error says that one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder()
        .user_agent(concat!("harness/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .dns_resolver(Resolver(side))
        .connect_timeout(CONNECTING)
        .pool_max_idle_per_host(KEPT)
        .pool_idle_timeout(KEPT_FOR);
    match scheme {
        Scheme::Http => builder.tls_certs_only([]).build(),
        Scheme::Https => builder.https_only(true).build(),
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let side = self.0;
        Box::pin(async move {
            // Port 0 becomes the URL's.
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let found: Vec<SocketAddr> = found.collect();
            judge(side, &found)?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// What somebody said beneath the client, out of what the client made of it.
fn cause<E: Error + 'static>(err: &reqwest::Error) -> Option<&E> {
    let mut cause = err.source();
    while let Some(inner) = cause {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        cause = match inner.downcast_ref::<std::io::Error>() {
            // Its source is that of the error it holds, which would be left out.
            Some(error) => error.get_ref().map(|held| held as &(dyn Error + 'static)),
            None => inner.source(),
        };
    }
    None
}

/// One wrong address is enough: which one is connected to is not ours to choose.
fn judge(side: Side, found: &[SocketAddr]) -> Result<(), Refused> {
    match side {
        Side::Public if !found.iter().all(|address| is_public(address.ip())) => {
            Err(Refused::NotPublic)
        }
        Side::Private if found.iter().any(|address| is_metadata(address.ip())) => {
            Err(Refused::Metadata)
        }
        Side::Public | Side::Private => Ok(()),
    }
}

impl Fetch {
    /// Why no answer came, without an address: where a private name leads is not the guest's.
    pub(super) fn unreached(&self, target: &Target, err: &reqwest::Error) -> Fault {
        let place = &target.place;
        match cause::<Refused>(err) {
            Some(Refused::NotPublic) => return self.not_public(place),
            Some(Refused::Metadata) => {
                return fault::denied(format!(
                    "host `{place}` leads to where a cloud keeps the secrets of this server"
                ));
            }
            None => {}
        }
        if let Some(tls) = cause::<rustls::Error>(err) {
            return fault::unavailable(format!(
                "`{place}` did not answer: no TLS connection: {tls}"
            ));
        }
        let what = if err.is_timeout() {
            "no connection in time"
        } else if err.is_dns() {
            "the name was not found"
        } else if err.is_connect() {
            "no connection"
        } else {
            "the connection broke, or what came is no HTTP"
        };
        fault::unavailable(format!("`{place}` did not answer: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_address_is_enough() {
        let check = |side: Side, addresses: &[&str], expected: Option<&str>| {
            let found: Vec<SocketAddr> =
                addresses.iter().map(|it| SocketAddr::new(it.parse().unwrap(), 0)).collect();
            let refused = judge(side, &found).err().map(|refused| refused.to_string());
            assert_eq!(refused.as_deref(), expected, "{addresses:?}");
        };
        let not_public = Some("the name leads to an address that is not public");
        let metadata = Some("the name leads to a cloud's metadata");
        check(Side::Public, &["9.9.9.9", "2606:4700::1"], None);
        check(Side::Public, &["9.9.9.9", "127.0.0.1"], not_public);
        check(Side::Public, &["169.254.169.254"], not_public);
        check(Side::Private, &["127.0.0.1", "10.0.0.1", "9.9.9.9"], None);
        check(Side::Private, &["10.0.0.1", "169.254.169.254"], metadata);
    }
}
