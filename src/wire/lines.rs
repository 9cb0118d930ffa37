//! The lines of a request's head, told apart across reads: where it ends, and what no parser after us would show.

/// The two names that must not stand in one head (RFC 9112, 6.3), in lower case with their colon.
const LENGTH: &[u8] = b"content-length:";
const CODING: &[u8] = b"transfer-encoding:";
/// Bytes of a line that are kept to compare them.
const KEPT: usize = CODING.len();

/// One head, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct Lines {
    bytes: usize,
    count: usize,
    line: Line,
    /// Empty lines before the request line are skipped (RFC 9112, 2.2).
    has_begun: bool,
    has_length: bool,
    has_coding: bool,
}

/// The line that is being read.
#[derive(Debug, Default)]
struct Line {
    start: [u8; KEPT],
    kept: usize,
    /// Whether there is anything but the carriage return that ends it.
    has_text: bool,
    after_cr: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Inside,
    Ended,
    BareLineFeed,
    /// Content-Length beside Transfer-Encoding.
    TwoLengths,
}

impl Lines {
    /// Takes in the next bytes; those after the end of the head are not looked at.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Progress {
        let mut start = 0;
        for feed in memchr::memchr_iter(b'\n', bytes) {
            self.line.take(bytes.get(start..feed).unwrap_or_default());
            self.bytes += feed + 1 - start;
            start = feed + 1;
            let line = std::mem::take(&mut self.line);
            match self.end_line(&line) {
                Progress::Inside => {}
                other => return other,
            }
        }
        let rest = bytes.get(start..).unwrap_or_default();
        self.line.take(rest);
        self.bytes += rest.len();
        Progress::Inside
    }

    /// Bytes of this head so far.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lines that have ended, the request line among them.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn end_line(&mut self, line: &Line) -> Progress {
        if !line.after_cr {
            return Progress::BareLineFeed;
        }
        if !line.has_text {
            return if self.has_begun { Progress::Ended } else { Progress::Inside };
        }
        self.has_begun = true;
        self.count += 1;
        self.has_length |= line.begins_with(LENGTH);
        self.has_coding |= line.begins_with(CODING);
        if self.has_length && self.has_coding { Progress::TwoLengths } else { Progress::Inside }
    }
}

impl Line {
    /// The next bytes of the line, without the line feed.
    fn take(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        // A carriage return that was the last byte before turns out to be text.
        self.has_text |= self.after_cr || bytes.len() > 1 || *last != b'\r';
        self.after_cr = *last == b'\r';
        let free = self.start.get_mut(self.kept..).unwrap_or_default();
        let kept = free.len().min(bytes.len());
        for (to, from) in free.iter_mut().zip(bytes) {
            *to = *from;
        }
        self.kept += kept;
    }

    fn begins_with(&self, name: &[u8]) -> bool {
        let start = self.start.get(..name.len().min(self.kept)).unwrap_or_default();
        start.eq_ignore_ascii_case(name)
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
                Progress::BareLineFeed | Progress::TwoLengths => return Err(index * piece),
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
    fn two_ways_to_say_where_a_body_ends_are_found_whatever_the_pieces() {
        let head = b"POST / HTTP/1.1\r\nContent-length: 5\r\nX: content-length: 1\r\nTRANSFER-Encoding:chunked\r\n\r\n";
        for piece in 1..=head.len() {
            let mut lines = Lines::default();
            let found = head.chunks(piece).any(|chunk| lines.read(chunk) == Progress::TwoLengths);
            assert!(found, "{piece}");
        }
        let mut lines = Lines::default();
        assert_eq!(
            lines.read(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX-Content-Length: 1\r\n\r\n"),
            Progress::Ended
        );
        assert_eq!(lines.count(), 3);
    }
}
