//! Connecting one endpoint: its name, all of its addresses, TLS, within one deadline.
//!
//! Knows why a connection could not be made, in words for an operator. Must never be told what is sent over it.

use std::fmt::{self, Debug};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use pingora::protocols::Stream;
use pingora::protocols::l4::stream::Stream as Plain;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::guard::Guarded;
use super::patience::{Patience, PatienceGuard};
use super::tls::{Tls, TlsError};

/// How long an attempt may take before the next one is begun beside it (RFC 8305, "Connection Attempt Delay").
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// How long a resolved name is used before it is looked up again.
const RESOLVED_FOR: Duration = Duration::from_secs(30);

/// Where and how to connect.
#[derive(Debug)]
pub struct Dial {
    host: Host,
    port: u16,
    tls: Option<Tls>,
    /// For everything: looking up, connecting, the TLS handshake.
    limit: Duration,
    patience: Patience,
}

#[derive(Debug)]
enum Host {
    Address(IpAddr),
    Name(Arc<Name>),
}

/// A name, and what it was last found to mean.
struct Name {
    text: String,
    resolver: Resolver,
    known: ArcSwapOption<Resolved>,
    is_looked_up: AtomicBool,
}

#[derive(Debug)]
struct Resolved {
    /// At least one, in the order in which they should be tried (RFC 6724).
    addresses: Vec<IpAddr>,
    at: Instant,
}

/// Looks a name up. Handed in, so that tests can say what names mean.
pub type Resolver = fn(&str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>>;

/// Why an endpoint could not be connected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DialError {
    #[error("the name {name} was not found: {why}")]
    NotFound { name: String, why: Arc<io::Error> },
    #[error("{address} refused the connection")]
    Refused { address: SocketAddr },
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
    #[error("{address} cannot be reached: {why}")]
    Unreachable { address: SocketAddr, why: Arc<io::Error> },
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Nothing that this module found.
    #[error("{0}")]
    Other(String),
}

impl DialError {
    /// What a connector's error came from.
    pub fn of(error: &pingora_error::Error) -> Self {
        let cause = error.root_cause();
        cause.downcast_ref::<Self>().cloned().unwrap_or_else(|| Self::Other(cause.to_string()))
    }

    /// Every label.
    pub const LABELS: [&str; 5] = ["name", "refused", "timed_out", "unreachable", "tls"];

    /// The reason as a metric label.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "name",
            Self::Refused { .. } => "refused",
            Self::TimedOut(_) => "timed_out",
            Self::Unreachable { .. } | Self::Other(_) => "unreachable",
            Self::Tls(_) => "tls",
        }
    }
}

impl Dial {
    /// `tls`: what encrypts, where the endpoint does.
    pub fn new(host: &str, port: u16, tls: Option<Tls>, limit: Duration, patience: Patience) -> Self {
        Self { host: Host::new(host, system), port, tls, limit, patience }
    }

    pub(super) fn patience(&self) -> &Patience {
        &self.patience
    }

    /// A connection with a guard on it.
    pub async fn connect(&self) -> Result<Stream, DialError> {
        let is_connected = AtomicBool::new(false);
        let connecting = tokio::time::timeout(self.limit, self.connect_now(&is_connected));
        connecting.await.unwrap_or_else(|_| {
            let is_in_handshake = is_connected.load(Ordering::Relaxed);
            Err(if is_in_handshake { TlsError::Silent(self.limit).into() } else { DialError::TimedOut(self.limit) })
        })
    }

    async fn connect_now(&self, is_connected: &AtomicBool) -> Result<Stream, DialError> {
        let socket = self.socket().await?;
        is_connected.store(true, Ordering::Relaxed);
        // What cannot be set does not keep it from being used.
        let _ = socket.set_nodelay(true);
        let plain = Plain::from(socket);
        let stream: Stream = match &self.tls {
            None => Box::new(plain),
            Some(tls) => Box::new(tls.handshake(&self.host.to_string(), plain).await?),
        };
        Ok(Box::new(Guarded::new(stream, PatienceGuard::new(self.patience))))
    }

    async fn socket(&self) -> Result<TcpStream, DialError> {
        let addresses = self.host.addresses().await?;
        let mut waiting = addresses.into_iter().map(|ip| SocketAddr::new(ip, self.port));
        let mut last = None;
        let attempts = || waiting.next().map(attempt);
        let connected = staggered(attempts, |error| last = Some(error)).await;
        connected.ok_or_else(|| last.unwrap_or(DialError::TimedOut(self.limit)))
    }
}

async fn attempt(address: SocketAddr) -> Result<TcpStream, DialError> {
    TcpStream::connect(address).await.map_err(|why| match why.kind() {
        io::ErrorKind::ConnectionRefused => DialError::Refused { address },
        _ => DialError::Unreachable { address, why: Arc::new(why) },
    })
}

/// Begins attempts one after the other, the next one as soon as one has failed or takes long, until one succeeds.
/// `None`: there is none left.
pub async fn staggered<T, E, F>(mut next: impl FnMut() -> Option<F>, mut failed: impl FnMut(E)) -> Option<T>
where
    F: Future<Output = Result<T, E>>,
{
    let mut attempts = FuturesUnordered::new();
    loop {
        if let Some(attempt) = next() {
            attempts.push(attempt);
        } else if attempts.is_empty() {
            return None;
        }
        match tokio::time::timeout(ATTEMPT_DELAY, attempts.next()).await {
            Ok(Some(Ok(value))) => return Some(value),
            Ok(Some(Err(error))) => failed(error),
            Ok(None) | Err(_) => {}
        }
    }
}

impl Host {
    fn new(text: &str, resolver: Resolver) -> Self {
        let name = || {
            let (known, is_looked_up) = (ArcSwapOption::empty(), AtomicBool::new(false));
            Name { text: text.to_owned(), resolver, known, is_looked_up }
        };
        text.parse().map_or_else(|_| Self::Name(Arc::new(name())), Self::Address)
    }

    async fn addresses(&self) -> Result<Vec<IpAddr>, DialError> {
        let name = match self {
            Self::Address(address) => return Ok(vec![*address]),
            Self::Name(name) => name,
        };
        let Some(known) = name.known.load_full() else { return name.look_up().await };
        if known.at.elapsed() >= RESOLVED_FOR && !name.is_looked_up.swap(true, Ordering::AcqRel) {
            // Nobody waits for it, and a resolver that fails must not take down what still answers at the old addresses.
            let name = Arc::clone(name);
            tokio::spawn(async move {
                let _ = name.look_up().await;
                name.is_looked_up.store(false, Ordering::Release);
            });
        }
        Ok(known.addresses.clone())
    }
}

impl Name {
    async fn look_up(&self) -> Result<Vec<IpAddr>, DialError> {
        let found = (self.resolver)(&self.text).await.and_then(|addresses| {
            let none = || io::Error::new(io::ErrorKind::NotFound, "it has no address");
            if addresses.is_empty() { Err(none()) } else { Ok(addresses) }
        });
        let addresses = found.map_err(|why| DialError::NotFound { name: self.text.clone(), why: Arc::new(why) })?;
        self.known.store(Some(Arc::new(Resolved { addresses: addresses.clone(), at: Instant::now() })));
        Ok(addresses)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => f.write_str(&name.text),
        }
    }
}

impl Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Name").field("text", &self.text).finish_non_exhaustive()
    }
}

/// As this system resolves names, which orders addresses as they should be tried.
fn system(name: &str) -> BoxFuture<'_, io::Result<Vec<IpAddr>>> {
    Box::pin(async move {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in tokio::net::lookup_host((name, 0)).await? {
            if !addresses.contains(&address.ip()) {
                addresses.push(address.ip());
            }
        }
        Ok(addresses)
    })
}

#[cfg(test)]
mod tests;
