//! Towards a server: how long it may be silent, and how long a client may keep it waiting.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use pingora::http::ResponseHeader;
use pingora::protocols::Digest;
use pingora::protocols::raw_connect::ProxyDigest;

use super::deadline::Deadline;
use super::guard::{Guard, Objection};

/// How long each side may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the server, from the last byte of a request to the first of its answer, and to take what is written.
    pub response: Duration,
    /// For the server, between two reads of an answer.
    pub idle: Duration,
    /// For the client, between two pieces of a request that is still being sent.
    pub body: Duration,
}

/// Who kept the other waiting for too long; the inner error of an [`io::ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Late {
    #[error("the server is silent")]
    Server,
    #[error("the client does not go on with its body")]
    Client,
}

/// Says whether the request on a connection is still being sent. It travels with the connection, as the user data of its
/// proxy digest: that is the one place where pingora shows what a stream carries.
#[derive(Clone, Debug, Default)]
pub struct Sending(Arc<AtomicBool>);

impl Late {
    /// Who was late, if a connection was given up for that.
    pub fn of(error: &pingora_error::Error) -> Option<Self> {
        let cause = error.root_cause().downcast_ref::<io::Error>()?;
        cause.get_ref()?.downcast_ref::<Self>().copied()
    }
}

impl Sending {
    /// The signal of the connection that carries this, on which a request begins to be sent.
    pub fn on(carried: &Digest) -> Option<Self> {
        let data = carried.proxy_digest.as_ref()?.user_data.as_ref()?;
        let sending = data.downcast_ref::<Self>()?.clone();
        sending.begin();
        Some(sending)
    }

    fn begin(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub fn end(&self) {
        self.0.store(false, Ordering::Release);
    }

    fn goes_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Ends a connection on which one side keeps the other waiting for too long.
#[derive(Debug)]
pub struct PatienceGuard {
    patience: Patience,
    sending: Sending,
    digest: Option<Arc<ProxyDigest>>,
    /// Whether the server does not take what is written to it.
    is_blocked: bool,
    deadline: Deadline,
}

impl PatienceGuard {
    pub fn new(patience: Patience) -> Self {
        let sending = Sending::default();
        let head = ResponseHeader::build(200, Some(0)).ok();
        let digest = head.map(|head| Arc::new(ProxyDigest::new(Box::new(head), Some(Box::new(sending.clone())))));
        Self { patience, sending, digest, is_blocked: false, deadline: Deadline::default() }
    }

    fn waits_for_client(&self) -> bool {
        self.sending.goes_on() && !self.is_blocked
    }
}

impl Guard for PatienceGuard {
    fn arrived(&mut self, _bytes: &[u8]) -> Result<(), Objection> {
        self.deadline.set(self.patience.idle);
        Ok(())
    }

    fn written(&mut self, _bytes: usize) {
        self.is_blocked = false;
        self.deadline.set(if self.sending.goes_on() { self.patience.body } else { self.patience.response });
    }

    fn blocked(&mut self) {
        if !self.is_blocked {
            self.is_blocked = true;
            self.deadline.set(self.patience.response);
        }
    }

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Objection> {
        self.deadline.poll(cx).map(|()| {
            let late = if self.waits_for_client() { Late::Client } else { Late::Server };
            Objection { error: io::Error::new(io::ErrorKind::TimedOut, late), last_words: None }
        })
    }

    fn digest(&self) -> Option<Arc<ProxyDigest>> {
        self.digest.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::Instant;

    const PATIENCE: Patience =
        Patience { response: Duration::from_secs(5), idle: Duration::from_secs(300), body: Duration::from_secs(60) };

    async fn late(guard: &mut PatienceGuard) -> (u64, Late) {
        let started = Instant::now();
        let objection = poll_fn(|cx| guard.poll_late(cx)).await;
        let late = objection.error.get_ref().and_then(|inner| inner.downcast_ref::<Late>()).copied();
        (started.elapsed().as_secs(), late.unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_late_once_the_request_is_sent_and_between_its_bytes() {
        let mut guard = PatienceGuard::new(PATIENCE);
        guard.written(1);
        assert_eq!(late(&mut guard).await, (5, Late::Server));
        guard.written(1);
        guard.arrived(b"x").unwrap();
        assert_eq!(late(&mut guard).await, (300, Late::Server));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_late_while_it_sends_unless_the_server_takes_nothing() {
        let mut guard = PatienceGuard::new(PATIENCE);
        guard.sending.begin();
        guard.written(1);
        assert_eq!(late(&mut guard).await, (60, Late::Client));
        guard.blocked();
        assert_eq!(late(&mut guard).await, (5, Late::Server));
        guard.sending.end();
        guard.written(1);
        assert_eq!(late(&mut guard).await, (5, Late::Server));
    }

    #[test]
    fn the_signal_travels_in_the_digest() {
        let guard = PatienceGuard::new(PATIENCE);
        let carried =
            Digest { ssl_digest: None, timing_digest: vec![], proxy_digest: guard.digest(), socket_digest: None };
        assert!(!guard.waits_for_client());
        let sending = Sending::on(&carried).unwrap();
        assert!(guard.waits_for_client());
        sending.end();
        assert!(!guard.waits_for_client());
    }
}
