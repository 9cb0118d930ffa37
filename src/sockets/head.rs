//! Towards a client over HTTP/1: the head of each request arrives in time, ends its lines with CRLF, and has a size.
//!
//! pingora sets no deadline for a whole head, takes bare line feeds, and reads a megabyte of head.

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use super::deadline::Deadline;
use super::{Guard, Objection};
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
            error: io::Error::new(io::ErrorKind::InvalidData, refusal.label()),
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
            Progress::Inside if self.lines.bytes > self.limits.bytes => {
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
            if self.lines.bytes > 0 {
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

/// Finds the end of a head, across reads.
#[derive(Debug, Default)]
struct Lines {
    bytes: usize,
    /// Whether the line so far is empty, and whether its last byte was a carriage return.
    line_has_text: bool,
    after_cr: bool,
    /// Empty lines before the request line are skipped (RFC 9112, 2.2).
    seen_text: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Inside,
    Ended,
    BareLineFeed,
}

impl Lines {
    fn read(&mut self, bytes: &[u8]) -> Progress {
        let mut start = 0;
        for feed in memchr::memchr_iter(b'\n', bytes) {
            let line = bytes.get(start..feed).unwrap_or_default();
            let after_cr = line.last().map_or(self.after_cr, |last| *last == b'\r');
            if !after_cr {
                return Progress::BareLineFeed;
            }
            // Text is anything but the carriage return that ends the line.
            let has_text = self.line_has_text || line.len() > 1 || (self.after_cr && !line.is_empty());
            self.seen_text |= has_text;
            self.bytes += feed + 1 - start;
            if !has_text && self.seen_text {
                return Progress::Ended;
            }
            start = feed + 1;
            self.line_has_text = false;
            self.after_cr = false;
        }
        self.keep(bytes.get(start..).unwrap_or_default());
        Progress::Inside
    }

    /// The beginning of a line that ends in a later read.
    fn keep(&mut self, rest: &[u8]) {
        let Some(last) = rest.last() else { return };
        self.bytes += rest.len();
        // A carriage return that was the last byte before turns out to be text.
        self.line_has_text |= self.after_cr || rest.len() > 1 || *last != b'\r';
        self.after_cr = *last == b'\r';
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"\r\nPOST /mcp HTTP/1.1\r\nHost: a\r\nX: \ry\r\n\r\n";

    /// Feeds in pieces; the number of bytes taken when the head ended.
    fn end(head: &[u8], piece: usize) -> Result<Option<usize>, usize> {
        let mut lines = Lines::default();
        for (index, chunk) in head.chunks(piece).enumerate() {
            match lines.read(chunk) {
                Progress::Inside => {}
                Progress::Ended => return Ok(Some(index * piece + chunk.len())),
                Progress::BareLineFeed => return Err(index * piece),
            }
        }
        Ok(None)
    }

    #[test]
    fn a_head_ends_at_its_empty_line_whatever_the_pieces() {
        for piece in 1..=HEAD.len() {
            assert_eq!(end(HEAD, piece).map(|end| end.is_some()), Ok(true), "{piece}");
            let without_end = &HEAD[..HEAD.len() - 1];
            assert_eq!(end(without_end, piece), Ok(None), "{piece}");
        }
        assert_eq!(end(HEAD, 1), Ok(Some(HEAD.len())));
    }

    #[test]
    fn a_bare_line_feed_is_found_whatever_the_pieces() {
        for head in [
            &b"POST / HTTP/1.1\nHost: a\r\n\r\n"[..],
            b"POST / HTTP/1.1\r\nHost: a\n\r\n",
            b"\nPOST",
            b"POST / HTTP/1.1\r\nHost: a\r\n\n",
        ] {
            for piece in 1..=head.len() {
                assert!(end(head, piece).is_err(), "{:?} {piece}", String::from_utf8_lossy(head));
            }
        }
    }

    #[test]
    fn last_words_are_an_answer() {
        let text = String::from_utf8(words(&Refusal::HeadTooSlow)).unwrap();
        assert!(text.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{text}");
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["error"]["code"], 1007);
    }
}
