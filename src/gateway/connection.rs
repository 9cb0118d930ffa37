//! A client's connection: its place among the others, its protocol, one request after another.
//!
//! pingora hands raw streams to this module (its `force_custom` door), because its own loop sets no deadline for a head,
//! keeps idle connections for ever and does not bound their number.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use pingora::apps::HttpServerApp;
use pingora::protocols::Stream;
use pingora::protocols::http::ServerSession;
use pingora::protocols::http::v2::server::{H2Accept, H2Options, HttpSession as H2Session, handshake};
use pingora::protocols::{ALPN, Digest};
use pingora::proxy::{HttpProxy, ProcessCustomSession};
use pingora::server::ShutdownWatch;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::Gateway;
use super::limits::Budget;
use super::snapshot::{Limits, Snapshot};
use crate::refusal::{Limit, Refusal};
use crate::wire::Guarded;
use crate::wire::Upstreams;
use crate::wire::head::{HeadGuard, HeadLimits, HeadSignal, OnRefusal, words};

/// What only the preface of HTTP/2 begins with (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI";
/// Requests at once on one HTTP/2 connection.
const H2_STREAMS: u32 = 256;
/// Bytes of a body that a client may send on one stream before they are read.
const H2_STREAM_WINDOW: u32 = 256 * 1024;
const H2_CONNECTION_WINDOW: u32 = 1024 * 1024;
/// How long an idle HTTP/2 client may take to say goodbye when the process drains.
const FAREWELL: Duration = Duration::from_secs(1);
/// How much larger than its limit a head may be before it is not even parsed.
const HEAD_SLACK: usize = 2;

type Proxy = HttpProxy<Gateway, Upstreams>;

/// The connections of one process.
#[derive(Clone, Debug)]
pub struct Connections {
    pub budget: Arc<Budget>,
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    cut: watch::Receiver<bool>,
}

impl Connections {
    /// The sender cuts every connection, now and from then on, by sending `true`.
    pub fn new(budget: Arc<Budget>, snapshot: Arc<ArcSwap<Snapshot>>) -> (Self, watch::Sender<bool>) {
        let (sender, cut) = watch::channel(false);
        (Self { budget, snapshot, cut }, sender)
    }

    async fn are_cut(mut self) {
        // Without a sender nobody cuts.
        if self.cut.wait_for(|is_cut| *is_cut).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What pingora calls for each new connection.
pub fn service(connections: Connections) -> ProcessCustomSession<Gateway, Upstreams> {
    Arc::new(move |proxy: Arc<Proxy>, stream: Stream, shutdown: &ShutdownWatch| {
        let (connections, shutdown) = (connections.clone(), shutdown.clone());
        Box::pin(async move {
            // What is dropped here leaves its trace: `Exchange` writes the line of a request that did not end by itself.
            tokio::select! {
                () = serve(&connections, proxy, stream, shutdown) => {}
                () = connections.clone().are_cut() => {}
            }
            None
        })
    })
}

async fn serve(connections: &Connections, proxy: Arc<Proxy>, mut stream: Stream, mut shutdown: ShutdownWatch) {
    let snapshot = connections.snapshot.load_full();
    let Some(share) = connections.budget.take(1) else {
        snapshot.metrics.rejection("connections");
        say(&mut stream, &Refusal::Overloaded(Limit::Connections)).await;
        return;
    };
    // A connection on which nothing has begun does not hold up a drain.
    let begins = tokio::select! {
        begins = protocol(&mut stream, snapshot.limits.head_time) => begins,
        _ = shutdown.changed() => Begins::Not,
    };
    match begins {
        Begins::Http1 => http1(&proxy, stream, shutdown, &snapshot).await,
        Begins::Http2 => http2(proxy, stream, shutdown, snapshot.limits).await,
        Begins::Late => {
            snapshot.metrics.rejection(Refusal::HeadTooSlow.label());
            say(&mut stream, &Refusal::HeadTooSlow).await;
        }
        Begins::Not => {}
    }
    drop(share);
}

/// Says why a connection is not served, if the client can be told within a moment.
async fn say(stream: &mut Stream, refusal: &Refusal) {
    let saying = async {
        let _ = stream.write_all(&words(refusal)).await;
        let _ = stream.shutdown().await;
    };
    let _ = tokio::time::timeout(Duration::from_secs(1), saying).await;
}

/// How a connection begins.
enum Begins {
    Http1,
    Http2,
    /// With too little in too long a time.
    Late,
    /// With nothing, or not at all.
    Not,
}

/// One byte tells HTTP/2 from everything but `POST`, `PUT` and the like, three tell it from those.
async fn protocol(stream: &mut Stream, time: Duration) -> Begins {
    if matches!(stream.selected_alpn_proto(), Some(ALPN::H2)) {
        return Begins::Http2;
    }
    let mut first = [0; 1];
    match tokio::time::timeout(time, stream.try_peek(&mut first)).await {
        Ok(Ok(true)) if first != PREFACE[..1] => return Begins::Http1,
        Ok(Ok(true)) => {}
        Ok(Ok(false)) => return Begins::Http1,
        Ok(Err(_)) | Err(_) => return Begins::Not,
    }
    let mut start = [0; PREFACE.len()];
    match tokio::time::timeout(time, stream.try_peek(&mut start)).await {
        Ok(Ok(_)) if start == PREFACE => Begins::Http2,
        Ok(Ok(_)) => Begins::Http1,
        Ok(Err(_)) => Begins::Not,
        Err(_) => Begins::Late,
    }
}

async fn http1(proxy: &Arc<Proxy>, stream: Stream, shutdown: ShutdownWatch, snapshot: &Arc<Snapshot>) {
    let limits = snapshot.limits;
    let signal = HeadSignal::default();
    let metrics = Arc::clone(&snapshot.metrics);
    let on_refusal: OnRefusal = Arc::new(move |refusal| metrics.rejection(refusal.label()));
    let head_limits = HeadLimits { time: limits.head_time, bytes: limits.max_head_bytes * HEAD_SLACK };
    let guard = HeadGuard::new(signal.clone(), head_limits, on_refusal);
    let mut session = ServerSession::new_http1(Box::new(Guarded::new(stream, guard)));
    loop {
        signal.expect_head();
        let is_draining = *shutdown.borrow();
        session.set_keepalive((!is_draining).then_some(limits.keepalive.as_secs().max(1)));
        session.set_read_timeout(Some(limits.body_time));
        let Some(reused) = proxy.process_new_http(session, &shutdown).await else { return };
        let (stream, settings) = reused.consume();
        session = ServerSession::new_http1(stream);
        if let Some(settings) = settings {
            settings.apply_to_session(&mut session);
        }
    }
}

async fn http2(proxy: Arc<Proxy>, stream: Stream, mut shutdown: ShutdownWatch, limits: Limits) {
    let digest = Arc::new(Digest {
        ssl_digest: stream.get_ssl_digest(),
        timing_digest: stream.get_timing_digest(),
        proxy_digest: stream.get_proxy_digest(),
        socket_digest: stream.get_socket_digest(),
    });
    let shaken = tokio::time::timeout(limits.head_time, handshake(stream, Some(h2_options(&limits)))).await;
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
                    let (proxy, shutdown) = (Arc::clone(&proxy), shutdown.clone());
                    requests.spawn(async move {
                        proxy.process_new_http(ServerSession::new_http2(session), &shutdown).await;
                    });
                }
                Ok(Some(H2Accept::Rejected)) => {}
                Ok(None) | Err(_) => break,
            },
            Some(_) = requests.join_next(), if !requests.is_empty() => {}
            () = tokio::time::sleep(if is_draining { FAREWELL } else { limits.keepalive }), if requests.is_empty() => break,
        }
    }
    // The connection is gone or goes: what still runs learns it from its own stream.
    requests.detach_all();
}

fn h2_options(limits: &Limits) -> H2Options {
    let mut options = H2Options::default();
    options
        .max_concurrent_streams(H2_STREAMS)
        .max_header_list_size(u32::try_from(limits.max_head_bytes * HEAD_SLACK).unwrap_or(u32::MAX))
        .initial_window_size(H2_STREAM_WINDOW)
        .initial_connection_window_size(H2_CONNECTION_WINDOW);
    options
}
