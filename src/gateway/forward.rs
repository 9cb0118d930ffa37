//! What goes to the server: the head as it must be sent, the body as it was judged.

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_LENGTH, COOKIE, EXPECT, FORWARDED, HOST, ORIGIN, PROXY_AUTHORIZATION,
};
use http::{HeaderName, HeaderValue};
use pingora::http::RequestHeader;
use pingora::protocols::Digest;
use pingora::proxy::Session;
use pingora_error::{Error, ErrorType, Result};

use super::admit::inet;
use super::body::{Body, Stop};
use super::exchange::Exchange;
use super::server::Server;
use crate::answers::Rewriter;
use crate::policy::declared_length;
use crate::protocol::{header, sentinel};
use crate::refusal::{Limit, Refusal};
use crate::sockets::answer::Sending;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);

/// Never forwarded, unless the server's `credential_headers` name them and its `authorization` is `forward`.
const WITHHELD: [HeaderName; 4] = [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION, SESSION_ID];

/// How many times as long as a small body a large one may take in all.
const LARGE_BODY: u32 = 10;

/// Why pingora is told to stop: the refusal itself is in the exchange.
pub const REFUSED: ErrorType = ErrorType::Custom("refused");

/// The head that the server gets. Runs after pingora took the hop-by-hop headers off.
pub fn request_head(session: &Session, upstream: &mut RequestHeader, exchange: &mut Exchange) -> Result<()> {
    let target = exchange.target.as_ref().ok_or_else(|| Error::new(ErrorType::InternalError))?;
    let endpoint = target.server.pool(target.pool).zip(target.endpoint).and_then(|(pool, index)| pool.endpoint(index));
    let endpoint = endpoint.ok_or_else(|| Error::new(ErrorType::InternalError))?;
    drop_underscored(upstream, &target.server);
    set_target(upstream, endpoint.path())?;
    set_credentials(session, upstream, &target.server)?;
    set_forwarded(session, upstream, exchange)?;
    upstream.insert_header(HOST, endpoint.authority().clone())?;
    // The body was asked for here if it was asked for at all.
    upstream.remove_header(&EXPECT);
    // Judged here; a server that guards itself would not know our clients' origins.
    upstream.remove_header(&ORIGIN);
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

/// Servers behind CGI or WSGI take `Content_Type` for `Content-Type`, `X_Real_IP` for `X-Real-IP`: what would so get past
/// us is dropped, as nginx does. Parameters keep their spelling; they were proven under it.
fn drop_underscored(upstream: &mut RequestHeader, server: &Server) {
    let is_dropped = |name: &HeaderName| {
        let text = name.as_str();
        text.contains('_') && !text.starts_with(header::PARAM_PREFIX) && !server.credential_headers.contains(name)
    };
    let dropped: Vec<HeaderName> = upstream.headers.keys().filter(|name| is_dropped(name)).cloned().collect();
    for name in dropped {
        upstream.remove_header(&name);
    }
}

/// The endpoint's own path; what the client asked for after `?` was for us.
fn set_target(upstream: &mut RequestHeader, path: &str) -> Result<()> {
    let uri = path.parse().map_err(|_| Error::new(ErrorType::InternalError))?;
    upstream.set_uri(uri);
    Ok(())
}

fn set_credentials(session: &Session, upstream: &mut RequestHeader, server: &Server) -> Result<()> {
    let is_forwarded = |name: &HeaderName| server.forwards_credentials && server.credential_headers.contains(name);
    for name in WITHHELD.iter().chain(&server.credential_headers) {
        if !is_forwarded(name) {
            upstream.remove_header(name);
        }
    }
    // One that is hop-by-hop was taken off before us; it is named, so it is meant for the server.
    for name in server.credential_headers.iter().filter(|name| is_forwarded(name)) {
        if !upstream.headers.contains_key(name) {
            for value in session.req_header().headers.get_all(name) {
                upstream.append_header(name.clone(), value.clone())?;
            }
        }
    }
    for (name, value) in &server.own_headers {
        upstream.insert_header(name.clone(), value.clone())?;
    }
    Ok(())
}

/// `X-Forwarded-*` says what this gateway saw; what a peer says of others is kept only if the peer is trusted.
fn set_forwarded(session: &Session, upstream: &mut RequestHeader, exchange: &Exchange) -> Result<()> {
    let peer = inet(session.client_addr());
    let is_trusted = exchange.snapshot.is_trusted(peer);
    if !is_trusted {
        let is_hearsay =
            |name: &HeaderName| name.as_str().starts_with("x-forwarded-") || *name == X_REAL_IP || *name == FORWARDED;
        let hearsay: Vec<HeaderName> = upstream.headers.keys().filter(|name| is_hearsay(name)).cloned().collect();
        for name in hearsay {
            upstream.remove_header(&name);
        }
    }
    if let Some(peer) = peer {
        let before = upstream.headers.get_all(X_FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<String> = before.map(str::to_owned).chain([peer.ip().to_string()]).collect();
        upstream.insert_header(X_FORWARDED_FOR, hops.join(", "))?;
    }
    if !upstream.headers.contains_key(X_FORWARDED_PROTO) {
        let is_tls = session.digest().is_some_and(|digest| digest.ssl_digest.is_some());
        upstream.insert_header(X_FORWARDED_PROTO, if is_tls { "https" } else { "http" })?;
    }
    if !upstream.headers.contains_key(X_FORWARDED_HOST) {
        let head = session.req_header();
        let authority = head.uri.authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
        if let Some(host) = authority.or_else(|| head.headers.get(HOST).cloned()) {
            upstream.insert_header(X_FORWARDED_HOST, host)?;
        }
    }
    Ok(())
}

/// The signal of a connection on which a request begins to be sent.
pub fn sending_on(digest: &Digest) -> Option<Sending> {
    let data = digest.proxy_digest.as_ref()?.user_data.as_ref()?;
    let sending = data.downcast_ref::<Sending>()?.clone();
    sending.begin();
    Some(sending)
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
        Stop::Overloaded => Refusal::Overloaded(Limit::BufferedBytes),
        Stop::TooLarge => Refusal::BodyTooLarge { limit: exchange.snapshot.limits.max_body_bytes },
    });
}
