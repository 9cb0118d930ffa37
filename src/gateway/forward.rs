//! What goes to the server: the head as it must be sent, the body as it was judged.

use bytes::Bytes;
use http::HeaderValue;
use http::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST};
use pingora::http::RequestHeader;
use pingora::proxy::Session;
use pingora_error::{Error, ErrorType, Result};

use super::admit::inet;
use super::body::{Body, Stop};
use super::exchange::Exchange;
use crate::policy::{declared_length, to_server};
use crate::protocol::{header, sentinel};
use crate::refusal::{Exhausted, Refusal};
use crate::rewriting::Rewriter;
use crate::wire;

/// How many times as long as a small body a large one may take in all.
const LARGE_BODY: u32 = 10;

/// Why pingora is told to stop: the refusal itself is in the exchange.
pub const REFUSED: ErrorType = ErrorType::Custom("refused");

/// The head that the server gets. Runs after pingora took the hop-by-hop headers off.
pub fn request_head(session: &Session, upstream: &mut RequestHeader, exchange: &mut Exchange) -> Result<()> {
    let target = exchange.target.as_ref().ok_or_else(|| Error::new(ErrorType::InternalError))?;
    let endpoint = target.endpoint().ok_or_else(|| Error::new(ErrorType::InternalError))?;
    set_target(upstream, endpoint.path())?;
    to_server::strip(upstream, &target.server.credentials);
    target.server.credentials.apply(upstream, &session.req_header().headers);
    to_server::introduce(upstream, &client(session, exchange));
    upstream.insert_header(HOST, endpoint.authority().clone())?;
    if let Some(name) = &target.new_name {
        let value = HeaderValue::from_str(&sentinel::encode(name)).map_err(|_| Error::new(ErrorType::InternalError))?;
        upstream.insert_header(header::NAME, value)?;
    }
    if target.uri_prefix.is_some() && Rewriter::concerns(exchange.method()) {
        // What comes back must be read here.
        upstream.insert_header(ACCEPT_ENCODING, "identity")?;
    }
    lengthen(upstream, target.growth)?;
    exchange.snapshot.metrics.overhead.observe(exchange.started.elapsed().as_secs_f64());
    Ok(())
}

/// The body becomes longer on its way (architecture, idea 3).
fn lengthen(upstream: &mut RequestHeader, growth: usize) -> Result<()> {
    if growth > 0
        && let Some(length) = declared_length(&upstream.headers)
    {
        upstream.insert_header(CONTENT_LENGTH, length + growth as u64)?;
    }
    Ok(())
}

/// The endpoint's own path; what the client asked for after `?` was for us.
fn set_target(upstream: &mut RequestHeader, path: &str) -> Result<()> {
    let uri = path.parse().map_err(|_| Error::new(ErrorType::InternalError))?;
    upstream.set_uri(uri);
    Ok(())
}

/// What was seen of the client.
fn client(session: &Session, exchange: &Exchange) -> to_server::Client {
    let ip = inet(session.client_addr()).map(|address| address.ip());
    let head = session.req_header();
    let authority = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    to_server::Client {
        ip,
        is_trusted: exchange.snapshot.policy.is_trusted(ip),
        is_tls: wire::is_encrypted(session),
        host: authority.or_else(|| head.headers.get(HOST).cloned()),
    }
}

/// The next bytes of the body: those that may leave.
pub fn request_body(body: &mut Option<Bytes>, is_end: bool, exchange: &mut Exchange) -> Result<()> {
    if let Some(sending) = exchange.sending.as_ref().filter(|_| is_end) {
        sending.end();
    }
    let Exchange { body: state, head, started, .. } = &mut *exchange;
    match state {
        Body::Judged { .. } => {
            if let Body::Judged { bytes, share: _ } = state.take() {
                *body = Some(bytes);
            }
            return Ok(());
        }
        Body::Passing(passing) => {
            let Some(head) = head.as_ref() else { return Err(Error::new(ErrorType::InternalError)) };
            match passing.pass(head, body.as_ref(), is_end) {
                Ok(bytes) => {
                    // An empty chunk at the end would be written as a second terminator (pingora issue 935).
                    *body = (!(is_end && bytes.is_empty())).then_some(bytes);
                }
                Err(stop) => {
                    note(exchange, stop);
                    return Err(Error::new(REFUSED));
                }
            }
        }
        Body::Unread | Body::Sent => {}
    }
    if !is_end && started.elapsed() > exchange.snapshot.limits.body_time * LARGE_BODY {
        exchange.refusal = Some(Refusal::BodyTooSlow);
        return Err(Error::new(REFUSED));
    }
    Ok(())
}

/// Notes why a passing body is stopped, for its answer.
fn note(exchange: &mut Exchange, stop: Stop) {
    if let Body::Passing(passing) = &exchange.body {
        exchange.id = passing.id().map(Into::into);
    }
    exchange.refusal = Some(match stop {
        Stop::Fault(fault) => Refusal::Body(fault),
        Stop::Overloaded => Refusal::Overloaded(Exhausted::BufferedBytes),
        Stop::TooLarge => Refusal::BodyTooLarge { limit: exchange.snapshot.limits.max_body_bytes },
    });
}
