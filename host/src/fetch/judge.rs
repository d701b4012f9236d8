//! A URL to a place that may be asked, or to the words for why not.
//!
//! The URL that is judged is the URL that is sent: both are the parsed one, so that no two readers
//! can disagree about what its host is.

use reqwest::Url;

use super::{Fetch, fault};
use crate::servers::{Host, Place, Refusal, Scheme, Side};
use crate::wit::Fault;

/// Bytes of a URL.
const URL_BYTES: usize = 8 << 10;

/// Where a request may go.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) place: Place,
    pub(super) side: Side,
}

/// Reads a URL as the guest wrote it.
pub(super) fn parse(text: &str) -> Result<Url, Fault> {
    if text.len() > URL_BYTES {
        let size = text.len();
        return Err(fault::invalid(format!(
            "the URL is {size} bytes, over the limit of {URL_BYTES}"
        )));
    }
    Url::parse(text).map_err(|err| fault::invalid(format!("the URL cannot be read: {err}")))
}

impl Fetch {
    /// Where a URL leads, if that is within reach.
    pub(super) fn judge(&self, url: &Url) -> Result<Target, Fault> {
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            other => {
                return Err(fault::invalid(format!(
                    "the URL's scheme is `{other}`, expected `https` or `http`"
                )));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(fault::invalid("the URL holds a user or a password"));
        }
        let mut url = url.clone();
        let Some(text) = url.host_str() else { return Err(fault::invalid("the URL has no host")) };
        let host = Host::read(text);
        if let Host::Name(name) = &host {
            // Without the dot at its end: that is what is granted, resolved and shown to TLS.
            let name = name.clone();
            url.set_host(Some(&name)).map_err(|_| fault::invalid("the URL has no host"))?;
            if url.host_str() != Some(&name) {
                return Err(fault::invalid("the URL's host is no name"));
            }
        }
        let place = Place { scheme, host, port: url.port().unwrap_or(scheme.port()) };
        match self.servers.side(&place) {
            Ok(side) => Ok(Target { url, place, side }),
            Err(refusal) => Err(self.refused(&place, refusal)),
        }
    }

    /// Why a place is out of reach, and what would be to do.
    fn refused(&self, place: &Place, refusal: Refusal) -> Fault {
        match refusal {
            Refusal::NotGranted => {
                let fault = fault::denied(format!("host `{place}` was not granted"));
                fault::with_hint(fault, self.line("fetch", place))
            }
            Refusal::Plain => {
                let host = &place.host;
                let fault = fault::denied(format!(
                    "host `{host}` was granted with `https`, not with `http`"
                ));
                fault::with_hint(fault, "ask it with `https`")
            }
            Refusal::NotPublic => self.not_public(place),
        }
    }

    /// A granted host that leads to an address which is not public.
    pub(super) fn not_public(&self, place: &Place) -> Fault {
        let fault = fault::denied(format!("host `{place}` leads to an address that is not public"));
        fault::with_hint(fault, self.line("fetch_private", place))
    }

    /// What a person would have to add, and where.
    fn line(&self, list: &str, place: &Place) -> String {
        format!("a person must add \"{place}\" to `{list}` in `[plugin.{}]`", self.plugin)
    }
}
