//! A client's connection: its protocol, and one request after another, each within its times.
//!
//! pingora hands raw streams to this module, because its own loop sets no deadline for a head, keeps idle connections for
//! ever and says nothing to a client that is too slow.

use std::sync::Arc;
use std::time::Duration;

use pingora::apps::HttpServerApp;
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Accept, H2Options, HttpSession as H2Session, handshake};
use pingora::protocols::{Digest, Stream};
use pingora::server::ShutdownWatch;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;

use super::Guarded;
use super::begin::{Begins, begins};
use super::head::{HeadGuard, HeadLimits, HeadSignal, OnRefusal, words};
use crate::refusal::Refusal;

/// Requests at once on one HTTP/2 connection.
const H2_STREAMS: u32 = 256;
/// Bytes of a body that a client may send on one stream before they are read.
const H2_STREAM_WINDOW: u32 = 256 * 1024;
const H2_CONNECTION_WINDOW: u32 = 1024 * 1024;
/// How long an idle HTTP/2 client may take to say goodbye when the process drains.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much larger than its limit a head may be before it is not even parsed.
const HEAD_SLACK: usize = 2;

/// What a client is held to.
#[derive(Clone)]
pub struct Terms {
    /// For a whole head, from its first byte; on a new connection from the beginning.
    pub head_time: Duration,
    /// Between two reads of a body.
    pub body_time: Duration,
    /// How long a connection may be idle.
    pub keepalive: Duration,
    pub max_head_bytes: usize,
    /// Told of what is refused before a request is there.
    pub on_refusal: OnRefusal,
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("keepalive", &self.keepalive).finish_non_exhaustive()
    }
}

/// Serves a connection to its end.
pub async fn serve<A>(app: &Arc<A>, mut stream: Stream, mut shutdown: ShutdownWatch, terms: &Terms)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    // A connection on which nothing has begun does not hold up a drain.
    let begins = tokio::select! {
        begins = begins(&mut stream, terms.head_time) => begins,
        _ = shutdown.changed() => Begins::Not,
    };
    match begins {
        Begins::Http1 => http1(app, stream, shutdown, terms).await,
        Begins::Http2 => http2(app, stream, shutdown, terms).await,
        Begins::Late => refuse(&mut stream, &Refusal::HeadTooSlow, terms).await,
        Begins::Not => {}
    }
}

/// Says why a connection is not served, if the client can be told within a moment.
pub async fn refuse(stream: &mut Stream, refusal: &Refusal, terms: &Terms) {
    (terms.on_refusal)(refusal);
    let saying = async {
        let _ = stream.write_all(&words(refusal)).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), saying).await;
}

async fn http1<A>(app: &Arc<A>, stream: Stream, shutdown: ShutdownWatch, terms: &Terms)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let signal = HeadSignal::default();
    let limits = HeadLimits { time: terms.head_time, bytes: terms.max_head_bytes * HEAD_SLACK };
    let guard = HeadGuard::new(signal.clone(), limits, Arc::clone(&terms.on_refusal));
    let mut session = ServerSession::new_http1(Box::new(Guarded::new(stream, guard)));
    loop {
        signal.expect_head();
        let is_draining = *shutdown.borrow();
        session.set_keepalive((!is_draining).then_some(terms.keepalive.as_secs().max(1)));
        session.set_read_timeout(Some(terms.body_time));
        let Some(reused) = app.process_new_http(session, &shutdown).await else { return };
        let (stream, settings) = reused.consume();
        session = ServerSession::new_http1(stream);
        if let Some(settings) = settings {
            settings.apply_to_session(&mut session);
        }
    }
}

async fn http2<A>(app: &Arc<A>, stream: Stream, mut shutdown: ShutdownWatch, terms: &Terms)
where
    A: HttpServerApp + Send + Sync + 'static,
{
    let digest = digest(&stream);
    let shaken = tokio::time::timeout(terms.head_time, handshake(stream, Some(h2_options(terms)))).await;
    let Ok(Ok(mut connection)) = shaken else { return };
    let mut requests = JoinSet::new();
    let mut is_draining = *shutdown.borrow();
    if is_draining {
        connection.graceful_shutdown();
    }
    loop {
        tokio::select! {
            _ = shutdown.changed(), if !is_draining => {
                connection.graceful_shutdown();
                is_draining = true;
            }
            accepted = H2Session::from_h2_conn(&mut connection, Arc::clone(&digest)) => match accepted {
                Ok(Some(H2Accept::Session(session))) => {
                    let (app, shutdown) = (Arc::clone(app), shutdown.clone());
                    requests.spawn(async move {
                        app.process_new_http(ServerSession::new_http2(session), &shutdown).await;
                    });
                }
                Ok(Some(H2Accept::Rejected)) => {}
                Ok(None) | Err(_) => break,
            },
            Some(_) = requests.join_next(), if !requests.is_empty() => {}
            () = tokio::time::sleep(if is_draining { FAREWELL } else { terms.keepalive }), if requests.is_empty() => break,
        }
    }
    // The connection is gone or goes: what still runs learns it from its own stream.
    requests.detach_all();
}

fn digest(stream: &Stream) -> Arc<Digest> {
    Arc::new(Digest {
        ssl_digest: stream.get_ssl_digest(),
        timing_digest: stream.get_timing_digest(),
        proxy_digest: stream.get_proxy_digest(),
        socket_digest: stream.get_socket_digest(),
    })
}

fn h2_options(terms: &Terms) -> H2Options {
    let mut options = H2Options::default();
    options
        .max_concurrent_streams(H2_STREAMS)
        .max_header_list_size(u32::try_from(terms.max_head_bytes * HEAD_SLACK).unwrap_or(u32::MAX))
        .initial_window_size(H2_STREAM_WINDOW)
        .initial_connection_window_size(H2_CONNECTION_WINDOW);
    options
}
