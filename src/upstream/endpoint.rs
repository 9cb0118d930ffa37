//! One address of a server.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use pingora::upstreams::peer::HttpPeer;

use super::reach::Reach;
use crate::config;
use crate::wire::dial::Dial;
use crate::wire::patience::Patience;
use crate::wire::tls::Tls;
use crate::wire::{Dials, Registered};

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub patience: Patience,
}

/// What connections of this process are made with.
#[derive(Clone, Debug)]
pub struct Wiring {
    pub dials: Arc<Dials>,
    /// `None` where no endpoint encrypts.
    pub tls: Option<Tls>,
}

/// Where requests for a server can be sent.
#[derive(Debug)]
pub struct Endpoint {
    template: HttpPeer,
    authority: HeaderValue,
    path: String,
    _registered: Registered,
    pub(super) reach: Reach,
}

impl Endpoint {
    /// `None` if its host cannot be sent, or if it encrypts and nothing can.
    pub fn new(url: &config::Endpoint, timeouts: Timeouts, wiring: &Wiring) -> Option<Self> {
        let tls = match url.scheme {
            config::Scheme::Http => None,
            config::Scheme::Https => Some(wiring.tls.clone()?),
        };
        let dial = Dial::new(&url.host, url.port, tls, timeouts.connect, timeouts.patience);
        let registered = wiring.dials.register(dial);
        Some(Self {
            authority: HeaderValue::from_str(&url.authority()).ok()?,
            template: registered.peer(),
            path: url.path.clone(),
            _registered: registered,
            reach: Reach::default(),
        })
    }

    /// What the endpoint is called in logs: host and port as configured.
    pub fn label(&self) -> &str {
        self.authority.to_str().unwrap_or_default()
    }

    pub fn authority(&self) -> &HeaderValue {
        &self.authority
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// The peer to connect to.
    pub fn peer(&self) -> Box<HttpPeer> {
        Box::new(self.template.clone())
    }
}
