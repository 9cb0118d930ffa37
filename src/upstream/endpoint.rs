//! One address of a server.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use pingora::upstreams::peer::{H1UpgradePolicy, HttpPeer, HttpUpstreamRequestPolicy};

use super::reach::Reach;
use crate::config;
use crate::wire::answer::Patience;
use crate::wire::dial::Dial;
use crate::wire::tls::Tls;
use crate::wire::{Dials, Registered};

/// An idle connection is given up before a server would close it under our request: Node closes after 5 s.
const IDLE_IN_POOL: Duration = Duration::from_secs(4);

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
            template: template(&registered, timeouts),
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

/// pingora connects by the ALPN and keeps connections by the group; the address is nobody's.
fn template(registered: &Registered, timeouts: Timeouts) -> HttpPeer {
    let mut peer = HttpPeer::new((std::net::Ipv4Addr::UNSPECIFIED, 0), false, String::new());
    peer.group_key = registered.number();
    let options = &mut peer.options;
    options.write_timeout = Some(timeouts.patience.response);
    options.idle_timeout = Some(IDLE_IN_POOL);
    options.alpn = registered.alpn();
    options.http_upstream_request_policy =
        HttpUpstreamRequestPolicy { h1_upgrade: H1UpgradePolicy::Deny, ..HttpUpstreamRequestPolicy::standard() };
    peer
}
