//! A TLS stream as pingora takes streams: everything but the bytes is the connection's below.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pingora::protocols::l4::stream::Stream as Plain;
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest, UniqueID,
    UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::client::TlsStream;

#[derive(Debug)]
pub struct Encrypted(TlsStream<Plain>);

impl Encrypted {
    pub fn new(stream: TlsStream<Plain>) -> Self {
        Self(stream)
    }

    fn below(&self) -> &Plain {
        self.0.get_ref().0
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(cx)
    }
}

#[async_trait]
impl Shutdown for Encrypted {
    async fn shutdown(&mut self) {
        // The other side may be gone.
        let _ = AsyncWriteExt::shutdown(&mut self.0).await;
    }
}

impl UniqueID for Encrypted {
    fn id(&self) -> UniqueIDType {
        self.below().id()
    }
}

impl Ssl for Encrypted {}

#[async_trait]
impl Peek for Encrypted {}

impl GetTimingDigest for Encrypted {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.below().get_timing_digest()
    }
}

impl GetProxyDigest for Encrypted {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.below().get_proxy_digest()
    }
}

impl GetSocketDigest for Encrypted {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.below().get_socket_digest()
    }
}
