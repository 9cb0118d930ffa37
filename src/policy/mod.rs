//! Who may send what, and which headers go where: the rules that need nothing but a head.
//!
//! Pure, over `http` types. Must never look at a body, and must never let through what two HTTP parsers could frame
//! differently.
//!
//! | file | rule |
//! | --- | --- |
//! | `framing`, `media`, `origin` | what is refused by its head alone |
//! | [`credentials`] | the gateway's token, a server's credentials, who a caller is |
//! | [`to_server`] | what of a request goes to its server |
//! | [`to_client`] | what of an answer goes to its client |

pub mod credentials;
mod fields;
mod framing;
mod media;
mod origin;
pub mod to_client;
pub mod to_server;

use std::net::{IpAddr, SocketAddr};

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::request::Parts;

pub use credentials::{Bearer, Callers, Credentials};
pub use fields::Fields;
pub use framing::check as check_framing;
use ipnet::IpNet;
pub use origin::Cors;

use crate::refusal::Refusal;

/// Header fields of one request; pingora's own parser stops at 256.
pub const MAX_FIELDS: usize = 200;

/// The guards of one configuration.
#[derive(Debug)]
pub struct Policy {
    pub max_body_bytes: u64,
    pub max_head_bytes: usize,
    /// The listeners that only this machine can reach; there browsers are held to loopback names (DNS rebinding).
    pub loopback_listeners: Vec<SocketAddr>,
    pub allowed_origins: Vec<String>,
    pub allowed_hosts: Vec<String>,
    /// Peers whose word on others is kept.
    pub trusted_proxies: Vec<IpNet>,
    /// What clients must send, if anything.
    pub bearer: Option<Bearer>,
}

impl Policy {
    /// Whether a connection that was accepted at `local` came in by a loopback listener.
    pub fn is_loopback(&self, local: Option<SocketAddr>) -> bool {
        local.is_some_and(|local| {
            self.loopback_listeners.iter().any(|listener| {
                listener.ip() == local.ip() && (listener.port() == local.port() || listener.port() == 0)
            })
        })
    }

    pub fn is_trusted(&self, peer: Option<IpAddr>) -> bool {
        peer.is_some_and(|peer| self.trusted_proxies.iter().any(|net| net.contains(&peer)))
    }

    /// The gateway's own token, where one is configured.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        match &self.bearer {
            Some(bearer) if !bearer.admits(headers) => Err(Refusal::Unauthenticated),
            _ => Ok(()),
        }
    }

    /// Origin ("Security & Endpoint", 1) and, on a loopback listener, Host.
    pub fn check_caller(&self, head: &Parts, loopback: bool) -> Result<Option<Cors>, Refusal> {
        if loopback && !self.serves_host(head) {
            return Err(Refusal::Host);
        }
        origin::check(&head.headers, &self.allowed_origins, loopback)
    }

    /// What kind of body is sent, what kind of answer is wanted, and how large the request is.
    pub fn check_request(&self, head: &Parts) -> Result<(), Refusal> {
        let headers = &head.headers;
        if !media::is_json(headers.get(CONTENT_TYPE)) {
            return Err(Refusal::ContentType);
        }
        if headers.get_all(CONTENT_ENCODING).iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            return Err(Refusal::ContentEncoding);
        }
        if !media::accepts_an_answer(&headers.get_all(ACCEPT)) {
            return Err(Refusal::Accept);
        }
        self.check_sizes(head)
    }

    fn check_sizes(&self, head: &Parts) -> Result<(), Refusal> {
        if head.headers.len() > MAX_FIELDS {
            return Err(Refusal::TooManyFields { limit: MAX_FIELDS });
        }
        if head_bytes(head) > self.max_head_bytes {
            return Err(Refusal::HeadTooLarge { limit: self.max_head_bytes });
        }
        if declared_length(&head.headers).is_some_and(|length| length > self.max_body_bytes) {
            return Err(Refusal::BodyTooLarge { limit: self.max_body_bytes });
        }
        Ok(())
    }

    fn serves_host(&self, head: &Parts) -> bool {
        let host = head.headers.get(HOST).and_then(|host| host.to_str().ok());
        let authority = head.uri.authority().map(http::uri::Authority::as_str);
        let Some(name) = authority.or(host).map(origin::without_port) else {
            // HTTP/1.0 may come without; no browser speaks it.
            return true;
        };
        origin::is_loopback_name(name) || self.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    }
}

/// The length that the head declares, in bytes. Framing was checked before.
pub fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

fn head_bytes(head: &Parts) -> usize {
    let fields: usize = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    fields + head.uri.path_and_query().map_or(0, |target| target.as_str().len())
}

#[cfg(test)]
mod tests;
