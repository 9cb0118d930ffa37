//! Connections to servers, each with an [`AnswerGuard`] on it.
//!
//! pingora has one read timeout for a whole exchange; a gateway needs two, one for a server that does not begin to
//! answer and one between the bytes of a stream. A peer whose ALPN is `Custom` is connected by its connector; one that
//! hands back a stream gets pingora's HTTP/1 session on it, pooled as always.

use std::time::Duration;

use async_trait::async_trait;
use pingora::connectors::http::custom::{Connection, Connector};
use pingora::connectors::{ConnectorOptions, TransportConnector};
use pingora::protocols::ALPN;
use pingora::protocols::tls::CustomALPN;
use pingora::upstreams::peer::Peer;
use pingora_error::Result;

use crate::sockets::Guarded;
use crate::sockets::answer::{AnswerGuard, Patience};

/// The ALPN of a guarded peer. It never appears on a wire, so it can carry what the guard needs to know.
pub(super) fn guarded(patience: Patience) -> ALPN {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX).to_be_bytes();
    ALPN::Custom(CustomALPN::new([patience.response, patience.idle, patience.body].map(millis).concat()))
}

fn guard_of(alpn: &ALPN) -> Option<AnswerGuard> {
    let ALPN::Custom(custom) = alpn else { return None };
    let mut times = custom.protocol().chunks_exact(8).map(|bytes| bytes.try_into().ok().map(u64::from_be_bytes));
    let mut time = || times.next()?.map(Duration::from_millis);
    Some(AnswerGuard::new(Patience { response: time()?, idle: time()?, body: time()? }))
}

/// Connects guarded peers.
pub struct Upstreams {
    transport: TransportConnector,
}

impl std::fmt::Debug for Upstreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstreams").finish_non_exhaustive()
    }
}

impl Upstreams {
    /// Pooled connections are kept by pingora's HTTP/1 pool; this one only makes new ones.
    pub fn new(options: ConnectorOptions) -> Self {
        Self { transport: TransportConnector::new(Some(options)) }
    }
}

#[async_trait]
impl Connector for Upstreams {
    type Session = ();

    async fn get_http_session<P: Peer + Send + Sync + 'static>(&self, peer: &P) -> Result<(Connection<()>, bool)> {
        let guard = peer.get_alpn().and_then(guard_of);
        let mut plain = peer.clone();
        if let Some(options) = plain.get_mut_peer_options() {
            options.alpn = ALPN::H1;
        }
        let stream = self.transport.new_stream(&plain).await?;
        let stream = match guard {
            Some(guard) => Box::new(Guarded::new(stream, guard)),
            None => stream,
        };
        Ok((Connection::Stream(stream), false))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_peer_carries_its_timeouts() {
        let patience = Patience {
            response: Duration::from_millis(1500),
            idle: Duration::from_secs(300),
            body: Duration::from_secs(60),
        };
        let guard = format!("{:?}", guard_of(&guarded(patience)).unwrap());
        assert!(guard.contains(&format!("{patience:?}")), "{guard}");
        assert!(guard_of(&ALPN::H1).is_none());
    }
}
