//! One address of a server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::HeaderValue;
use pingora::protocols::ALPN;
use pingora::upstreams::peer::{H1UpgradePolicy, HttpPeer, HttpUpstreamRequestPolicy};
use tokio::time::Instant;

use super::connector;
use super::reach::Reach;
use crate::config;
use crate::sockets::answer::Patience;

/// An idle connection is given up before a server would close it under our request: Node closes after 5 s.
const IDLE_IN_POOL: Duration = Duration::from_secs(4);
/// How long a resolved name is used before it is looked up again.
const RESOLVED_FOR: Duration = Duration::from_secs(30);
const LOOKUP: Duration = Duration::from_secs(5);

/// How long a server may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    pub patience: Patience,
}

/// Where requests for a server can be sent. A host name is looked up again as it ages.
#[derive(Debug)]
pub struct Endpoint {
    host: String,
    port: u16,
    template: HttpPeer,
    authority: HeaderValue,
    path: String,
    resolved: ArcSwapOption<Resolved>,
    pub(super) reach: Reach,
}

#[derive(Debug)]
struct Resolved {
    address: SocketAddr,
    at: Instant,
}

impl Endpoint {
    /// `group` keeps the connections of one server apart from those of any other.
    pub fn new(url: &config::Endpoint, timeouts: Timeouts, group: u64) -> Option<Self> {
        let unresolved = SocketAddr::from(([0, 0, 0, 0], url.port));
        let mut template = HttpPeer::new(unresolved, url.scheme == config::Scheme::Https, url.host.clone());
        template.group_key = group;
        set_options(&mut template, timeouts);
        let fixed = url.host.parse().ok();
        let resolved =
            fixed.map(|ip| Arc::new(Resolved { address: SocketAddr::new(ip, url.port), at: Instant::now() }));
        Some(Self {
            authority: HeaderValue::from_str(&url.authority()).ok()?,
            host: url.host.clone(),
            port: url.port,
            template,
            path: url.path.clone(),
            resolved: ArcSwapOption::new(resolved),
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

    /// The peer to connect to. Errors only where the name was never resolved.
    pub async fn peer(&self) -> std::io::Result<Box<HttpPeer>> {
        let mut peer = Box::new(self.template.clone());
        peer._address = pingora::protocols::l4::socket::SocketAddr::Inet(self.address().await?);
        Ok(peer)
    }

    async fn address(&self) -> std::io::Result<SocketAddr> {
        let known = self.resolved.load_full();
        if let Some(known) = &known {
            let is_name = self.host.parse::<std::net::IpAddr>().is_err();
            if !is_name || known.at.elapsed() < RESOLVED_FOR {
                return Ok(known.address);
            }
        }
        match self.look_up().await {
            Ok(address) => {
                self.resolved.store(Some(Arc::new(Resolved { address, at: Instant::now() })));
                Ok(address)
            }
            // A resolver that fails must not take down what still answers at the old address.
            Err(error) => known.map(|known| known.address).ok_or(error),
        }
    }

    async fn look_up(&self) -> std::io::Result<SocketAddr> {
        let lookup = tokio::net::lookup_host((self.host.as_str(), self.port));
        let mut found = tokio::time::timeout(LOOKUP, lookup).await??;
        found.next().ok_or_else(|| std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address"))
    }
}

fn set_options(peer: &mut HttpPeer, timeouts: Timeouts) {
    let options = &mut peer.options;
    options.connection_timeout = Some(timeouts.connect);
    options.total_connection_timeout = Some(timeouts.connect);
    options.write_timeout = Some(timeouts.patience.response);
    options.idle_timeout = Some(IDLE_IN_POOL);
    options.alpn = connector::guarded(timeouts.patience);
    options.http_upstream_request_policy =
        HttpUpstreamRequestPolicy { h1_upgrade: H1UpgradePolicy::Deny, ..HttpUpstreamRequestPolicy::standard() };
    debug_assert!(matches!(options.alpn, ALPN::Custom(_)));
}
