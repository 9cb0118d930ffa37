//! One request's way, from accept to log line, on pingora.
//!
//! ```text
//! accept       accept → a place among the connections → HTTP/1.1 or h2c → one request after another
//! admit        head → guards (policy) → typed head (protocol) → server, pool, plan (route)
//! intake       the body, read ahead while it is small → judged (agreement) before a server is touched
//! relay        upstream_peer → upstream_request_filter (forward) → request_body_filter (body) → response filters (answer)
//! failure      what pingora reports → one refusal
//! record       one metric, one log line
//! ```
//!
//! The shell of the house: it does the I/O and holds no rules. Must never send a server what was not judged, and never
//! answer without saying why.

mod accept;
mod admit;
mod answer;
mod arguments;
mod body;
mod exchange;
mod failure;
mod forward;
mod intake;
mod lists;
mod record;
mod results;
mod route;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use bytes::Bytes;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::modules::http::HttpModules;
use pingora::proxy::{FailToProxy, ProxyHttp, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora_error::{Error, ErrorType, Result};

use crate::fleet::Snapshot;
use crate::telemetry::AccessLog;
use crate::wire::Carried;
use crate::wire::dial::DialError;
use crate::wire::patience::Sending;
pub use accept::{Connections, service};
pub use exchange::Exchange;

use body::Body;

/// The proxy: the current configuration and where lines are written.
#[derive(Debug)]
pub struct Gateway {
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    pub log: Arc<AccessLog>,
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = Exchange;

    fn new_ctx(&self) -> Exchange {
        Exchange::new(self.snapshot.load_full(), Arc::clone(&self.log))
    }

    /// No compression module: it would hold back events.
    fn init_downstream_modules(&self, _modules: &mut HttpModules) {}

    async fn request_filter(&self, session: &mut Session, exchange: &mut Exchange) -> Result<bool> {
        exchange.trace = record::trace(&session.req_header().headers);
        match admit::admit(session, exchange).await {
            Ok(admit::Admitted::Relay) => {
                exchange.times.decided = Some(Instant::now());
                Ok(false)
            }
            Ok(admit::Admitted::Answer(own)) => answer::own(session, exchange, own).await.map(|()| true),
            Err(refusal) => answer::refuse(session, exchange, refusal).await.map(|()| true),
        }
    }

    async fn upstream_peer(&self, _session: &mut Session, exchange: &mut Exchange) -> Result<Box<HttpPeer>> {
        let target = exchange.target.as_mut().ok_or_else(|| Error::new(ErrorType::InternalError))?;
        target.peer()
    }

    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        exchange: &mut Exchange,
        mut error: Box<Error>,
    ) -> Box<Error> {
        if let Some(target) = exchange.target.as_mut() {
            // Nothing was sent: another endpoint may take the request.
            let may_retry = target.could_not_connect(&DialError::of(&error));
            error.set_retry(may_retry);
        }
        error
    }

    async fn connected_to_upstream(
        &self,
        _session: &mut Session,
        _reused: bool,
        _peer: &HttpPeer,
        _fd: std::os::unix::io::RawFd,
        carried: Option<&Carried>,
        exchange: &mut Exchange,
    ) -> Result<()> {
        exchange.times.connected = Some(Instant::now());
        if let Some(target) = &exchange.target {
            target.connected();
        }
        exchange.sending = carried.and_then(Sending::on);
        Ok(())
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        upstream: &mut RequestHeader,
        exchange: &mut Exchange,
    ) -> Result<()> {
        forward::request_head(session, upstream, exchange)
    }

    async fn request_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        is_end: bool,
        exchange: &mut Exchange,
    ) -> Result<()> {
        forward::request_body(body, is_end, exchange)
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        head: &mut ResponseHeader,
        exchange: &mut Exchange,
    ) -> Result<()> {
        answer::relayed_head(session, head, exchange)
    }

    fn response_body_filter(
        &self,
        _session: &mut Session,
        body: &mut Option<Bytes>,
        is_end: bool,
        exchange: &mut Exchange,
    ) -> Result<Option<Duration>> {
        answer::relayed_body(body, is_end, exchange);
        Ok(None)
    }

    fn error_while_proxy(
        &self,
        _peer: &HttpPeer,
        _session: &mut Session,
        mut error: Box<Error>,
        _exchange: &mut Exchange,
        _reused: bool,
    ) -> Box<Error> {
        // Part of the request was sent; whether a server acted on it is not known here.
        error.set_retry(false);
        error
    }

    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, exchange: &mut Exchange) -> FailToProxy {
        failure::answer(session, error, exchange).await
    }

    fn suppress_error_log(&self, _session: &Session, _exchange: &Exchange, _error: &Error) -> bool {
        // The access log says it, without addresses.
        true
    }

    async fn logging(&self, session: &mut Session, error: Option<&Error>, exchange: &mut Exchange) {
        record::finish(session, error, exchange);
    }
}

impl Body {
    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::Sent)
    }
}
