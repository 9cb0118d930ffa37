//! A stream with a guard on it, which watches what passes and ends the connection when it is time.

use std::fmt::Debug;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::tls::{SslDigest, TlsRef};
use pingora::protocols::{
    ALPN, GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream, TimingDigest,
    UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Watches one direction of one connection's life.
pub trait Guard: Debug + Send + Sync + Unpin + 'static {
    /// Bytes arrived (none at the end of the stream). An error ends the connection.
    fn arrived(&mut self, bytes: &[u8]) -> Result<(), Objection>;

    /// Bytes were written.
    fn written(&mut self, bytes: usize);

    /// The peer takes nothing of what is to be written.
    fn blocked(&mut self) {}

    /// What the guard has to tell those who only see the stream.
    fn digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }

    /// Nothing is there to read: is it too late? Must arrange to be woken when it will be.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Objection>;
}

/// Why a guard ends a connection, and the last words it is owed.
#[derive(Debug)]
pub struct Objection {
    pub error: io::Error,
    pub last_words: Option<Vec<u8>>,
}

/// A stream with a guard on it.
#[derive(Debug)]
pub struct Guarded<G> {
    stream: Stream,
    guard: G,
}

impl<G: Guard> Guarded<G> {
    pub fn new(stream: Stream, guard: G) -> Self {
        Self { stream, guard }
    }

    fn note(&mut self, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(bytes)) => self.guard.written(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.guard.blocked(),
        }
    }

    /// Says the last words, as far as the socket takes them at once, and gives the error on.
    fn object(&mut self, cx: &mut Context<'_>, objection: Objection) -> io::Error {
        if let Some(words) = objection.last_words {
            // What does not fit into an idle socket's buffer at once is not worth waiting for.
            if let Poll::Ready(Ok(_)) = Pin::new(&mut self.stream).poll_write(cx, &words) {
                let _ = Pin::new(&mut self.stream).poll_flush(cx);
            }
        }
        objection.error
    }
}

impl<G: Guard> AsyncRead for Guarded<G> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.stream).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => match this.guard.arrived(buf.filled().get(before..).unwrap_or_default()) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(objection) => Poll::Ready(Err(this.object(cx, objection))),
            },
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => match this.guard.poll_late(cx) {
                Poll::Ready(objection) => Poll::Ready(Err(this.object(cx, objection))),
                Poll::Pending => Poll::Pending,
            },
        }
    }
}

impl<G: Guard> AsyncWrite for Guarded<G> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.note(&written);
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

#[async_trait]
impl<G: Guard> Shutdown for Guarded<G> {
    async fn shutdown(&mut self) {
        self.stream.shutdown().await;
    }
}

impl<G: Guard> UniqueID for Guarded<G> {
    fn id(&self) -> UniqueIDType {
        self.stream.id()
    }
}

impl<G: Guard> Ssl for Guarded<G> {
    fn get_ssl(&self) -> Option<&TlsRef> {
        self.stream.get_ssl()
    }

    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.stream.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.stream.selected_alpn_proto()
    }
}

#[async_trait]
impl<G: Guard> Peek for Guarded<G> {
    async fn try_peek(&mut self, buf: &mut [u8]) -> io::Result<bool> {
        self.stream.try_peek(buf).await
    }
}

impl<G: Guard> GetTimingDigest for Guarded<G> {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.stream.get_timing_digest()
    }
}

impl<G: Guard> GetProxyDigest for Guarded<G> {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.guard.digest().or_else(|| self.stream.get_proxy_digest())
    }
}

impl<G: Guard> GetSocketDigest for Guarded<G> {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.stream.get_socket_digest()
    }
}
