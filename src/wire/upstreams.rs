//! What pingora calls to connect a server.
//!
//! A peer whose ALPN is `Custom` is connected by its connector; one that hands back a stream gets pingora's HTTP/1 session
//! on it, pooled as always. All that pingora hands over is the peer, so the ALPN, which never appears on a wire, carries
//! the number under which the endpoint's [`Dial`] is registered. What cannot be read, or is not registered, is an error:
//! never a connection without deadlines.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use pingora::connectors::http::custom::{Connection, Connector};
use pingora::protocols::ALPN;
use pingora::protocols::tls::CustomALPN;
use pingora::upstreams::peer::{H1UpgradePolicy, HttpPeer, HttpUpstreamRequestPolicy, Peer};
use pingora_error::{Error, ErrorType, Result};

use super::dial::{Dial, DialError};

/// An idle connection is given up before a server would close it under our request: Node closes after 5 s.
const IDLE_IN_POOL: Duration = Duration::from_secs(4);

/// The endpoints of one process that can be connected.
#[derive(Debug, Default)]
pub struct Dials {
    by_number: RwLock<HashMap<u64, Weak<Dial>>>,
    next: AtomicU64,
}

/// An endpoint that can be connected as long as this is held.
#[derive(Debug)]
pub struct Registered {
    dials: Arc<Dials>,
    number: u64,
    dial: Arc<Dial>,
}

impl Dials {
    pub fn register(self: &Arc<Self>, dial: Dial) -> Registered {
        let (number, dial) = (self.next.fetch_add(1, Ordering::Relaxed), Arc::new(dial));
        let mut by_number = self.by_number.write().unwrap_or_else(PoisonError::into_inner);
        by_number.insert(number, Arc::downgrade(&dial));
        drop(by_number);
        Registered { dials: Arc::clone(self), number, dial }
    }

    fn find(&self, alpn: Option<&ALPN>) -> Option<Arc<Dial>> {
        let Some(ALPN::Custom(custom)) = alpn else { return None };
        let number = u64::from_be_bytes(custom.protocol().try_into().ok()?);
        self.by_number.read().unwrap_or_else(PoisonError::into_inner).get(&number)?.upgrade()
    }
}

impl Registered {
    /// What pingora is given to connect it. pingora connects by the ALPN and keeps connections by the group; the address
    /// is nobody's.
    pub fn peer(&self) -> HttpPeer {
        let mut peer = HttpPeer::new((std::net::Ipv4Addr::UNSPECIFIED, 0), false, String::new());
        peer.group_key = self.number;
        let options = &mut peer.options;
        options.alpn = self.alpn();
        options.write_timeout = Some(self.dial.patience().response);
        options.idle_timeout = Some(IDLE_IN_POOL);
        options.http_upstream_request_policy =
            HttpUpstreamRequestPolicy { h1_upgrade: H1UpgradePolicy::Deny, ..HttpUpstreamRequestPolicy::standard() };
        peer
    }

    fn alpn(&self) -> ALPN {
        ALPN::Custom(CustomALPN::new(self.number.to_be_bytes().to_vec()))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.dials.by_number.write().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}

/// Connects registered endpoints. Pooled connections are kept by pingora's HTTP/1 pool; this only makes new ones.
#[derive(Debug)]
pub struct Upstreams(Arc<Dials>);

impl Upstreams {
    pub fn new(dials: Arc<Dials>) -> Self {
        Self(dials)
    }
}

#[async_trait]
impl Connector for Upstreams {
    type Session = ();

    async fn get_http_session<P: Peer + Send + Sync + 'static>(&self, peer: &P) -> Result<(Connection<()>, bool)> {
        let dial = self.0.find(peer.get_alpn());
        let dial =
            dial.ok_or_else(|| Error::explain(ErrorType::InternalError, "the peer is no registered endpoint"))?;
        match dial.connect().await {
            Ok(stream) => Ok((Connection::Stream(stream), false)),
            Err(error) => Err(Error::because(kind(&error), "connecting the endpoint", error).into_up()),
        }
    }

    async fn reused_http_session<P: Peer + Send + Sync + 'static>(&self, _peer: &P) -> Option<()> {
        None
    }

    async fn release_http_session<P: Peer + Send + Sync + 'static>(
        &self,
        _session: (),
        _peer: &P,
        _idle_timeout: Option<Duration>,
    ) {
    }
}

fn kind(error: &DialError) -> ErrorType {
    match error {
        DialError::Refused { .. } => ErrorType::ConnectRefused,
        DialError::TimedOut(_) => ErrorType::ConnectTimedout,
        DialError::Unreachable { .. } | DialError::NotFound { .. } | DialError::Other(_) => ErrorType::ConnectError,
        DialError::Tls(_) => ErrorType::TLSHandshakeFailure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::patience::Patience;

    fn dial(port: u16) -> Dial {
        let time = Duration::from_secs(1);
        Dial::new("127.0.0.1", port, None, time, Patience { response: time, idle: time, body: time })
    }

    fn peer(alpn: ALPN) -> HttpPeer {
        let mut peer = HttpPeer::new(("127.0.0.1", 1), false, String::new());
        peer.options.alpn = alpn;
        peer
    }

    #[tokio::test]
    async fn what_is_no_registered_endpoint_is_an_error_and_never_an_unguarded_stream() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let dials = Arc::new(Dials::default());
        let registered = dials.register(dial(listener.local_addr().unwrap().port()));
        let upstreams = Upstreams::new(Arc::clone(&dials));
        let (connection, _) = upstreams.get_http_session(&peer(registered.alpn())).await.unwrap();
        let Connection::Stream(stream) = connection else { panic!("no stream") };
        assert!(format!("{stream:?}").starts_with("Guarded"), "{stream:?}");
        let gone = registered.alpn();
        drop(registered);
        let custom = |bytes: &[u8]| ALPN::Custom(CustomALPN::new(bytes.to_vec()));
        for alpn in [gone, custom(b"short"), custom(&[0; 9]), custom(&[0xff; 8]), ALPN::H1, ALPN::H2] {
            let error = upstreams.get_http_session(&peer(alpn.clone())).await.err().unwrap();
            assert_eq!(*error.etype(), ErrorType::InternalError, "{alpn:?}");
        }
        assert!(dials.by_number.read().unwrap().is_empty());
    }

    #[tokio::test]
    async fn the_reason_comes_with_the_error() {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let dials = Arc::new(Dials::default());
        let registered = dials.register(dial(unused));
        let error = Upstreams::new(dials).get_http_session(&peer(registered.alpn())).await.err().unwrap();
        assert_eq!(*error.etype(), ErrorType::ConnectRefused);
        let cause = error.root_cause().downcast_ref::<DialError>().unwrap();
        assert_eq!(
            (cause.label(), cause.to_string()),
            ("refused", format!("127.0.0.1:{unused} refused the connection"))
        );
    }
}
