//! Towards a client over HTTP/1: the head of each request arrives in time, ends its lines with CRLF, and has a size.
//!
//! pingora sets no deadline for a whole head, takes bare line feeds, reads a megabyte of head, and drops a Content-Length
//! beside a Transfer-Encoding before anyone can see that both were sent.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use super::deadline::Deadline;
use super::guard::{Guard, Objection};
use super::lines::{Lines, Progress};
use crate::policy::MAX_FIELDS;
use crate::refusal::Refusal;

/// Told by the connection's loop that the next bytes are a request's head.
#[derive(Clone, Debug, Default)]
pub struct HeadSignal(Arc<AtomicBool>);

impl HeadSignal {
    pub fn expect_head(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What is done about each refusal, besides answering it.
pub type OnRefusal = Arc<dyn Fn(&Refusal) + Send + Sync>;

/// Watches the heads of one connection's requests.
pub struct HeadGuard {
    signal: HeadSignal,
    limits: HeadLimits,
    on_refusal: OnRefusal,
    lines: Lines,
    deadline: Deadline,
}

#[derive(Clone, Copy, Debug)]
pub struct HeadLimits {
    pub time: Duration,
    /// Bytes of a head that are read at all; the exact limit is judged once the head is parsed.
    pub bytes: usize,
}

impl std::fmt::Debug for HeadGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadGuard").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl HeadGuard {
    pub fn new(signal: HeadSignal, limits: HeadLimits, on_refusal: OnRefusal) -> Self {
        let mut deadline = Deadline::default();
        // A connection that never says anything is given up as well.
        deadline.set(limits.time);
        Self { signal, limits, on_refusal, lines: Lines::default(), deadline }
    }

    fn refuse(&self, refusal: &Refusal) -> Objection {
        (self.on_refusal)(refusal);
        Objection {
            error: io::Error::new(io::ErrorKind::InvalidData, refusal.reason().label()),
            last_words: Some(words(refusal)),
        }
    }
}

impl Guard for HeadGuard {
    fn arrived(&mut self, bytes: &[u8]) -> Result<(), Objection> {
        if bytes.is_empty() || !self.signal.0.load(Ordering::Acquire) {
            return Ok(());
        }
        if !self.deadline.is_set() {
            self.deadline.set(self.limits.time);
        }
        match self.lines.read(bytes) {
            Progress::BareLineFeed => Err(self.refuse(&Refusal::Framing("end each line of the head with CR LF"))),
            Progress::TwoLengths => {
                Err(self.refuse(&Refusal::Framing("send either Content-Length or Transfer-Encoding")))
            }
            _ if self.lines.count() > MAX_FIELDS + 1 => Err(self.refuse(&Refusal::TooManyFields { limit: MAX_FIELDS })),
            Progress::Inside if self.lines.bytes() > self.limits.bytes => {
                Err(self.refuse(&Refusal::HeadTooLarge { limit: self.limits.bytes }))
            }
            Progress::Inside => Ok(()),
            Progress::Ended => {
                self.signal.0.store(false, Ordering::Release);
                self.lines = Lines::default();
                self.deadline.clear();
                Ok(())
            }
        }
    }

    fn written(&mut self, _bytes: usize) {}

    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<Objection> {
        self.deadline.poll(cx).map(|()| {
            if self.lines.bytes() > 0 {
                return self.refuse(&Refusal::HeadTooSlow);
            }
            Objection { error: io::Error::new(io::ErrorKind::TimedOut, "nothing was sent"), last_words: None }
        })
    }
}

/// The answer to a request whose head is not going to be parsed.
pub fn words(refusal: &Refusal) -> Vec<u8> {
    let answer = refusal.answer();
    let body = answer.body(None);
    let reason =
        http::StatusCode::from_u16(answer.status).ok().and_then(|status| status.canonical_reason()).unwrap_or("");
    let mut words = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        answer.status,
        body.len()
    );
    if let Some((name, value)) = &answer.header {
        let _ = write!(words, "{name}: {value}\r\n");
    }
    words.push_str("\r\n");
    let mut words = words.into_bytes();
    words.extend_from_slice(&body);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_an_answer() {
        let text = String::from_utf8(words(&Refusal::HeadTooSlow)).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{text}");
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["error"]["code"], 1007);
    }
}
