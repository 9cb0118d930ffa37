//! The framing of server-sent events (WHATWG HTML, "Server-sent events", 9.2.6), a part of the stream at a time.
//! Knows which bytes are data and where a message ends; holds nothing.

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const DATA: &[u8] = b"data";

/// What a part of the stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// Nothing of a message.
    Framing,
    Data,
    /// The end of a line of data: a line feed of the message, should more of it follow.
    DataLineEnd,
    EventEnd,
}

/// Where in a line the stream is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    /// At the stream's start, after so many bytes of a byte order mark.
    Mark(usize),
    /// After so many bytes of the field name `data`.
    Name(usize),
    /// After the colon: one space is not part of the data.
    Colon,
    Data,
    /// In a line that does not matter.
    Dull,
}

#[derive(Debug)]
pub(super) struct Events {
    line: Line,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
}

impl Events {
    pub(super) fn new() -> Self {
        Self { line: Line::Mark(0), after_return: false }
    }

    /// The length of the part at the front, at least 1, and what it is. `stream` must not be empty.
    pub(super) fn part(&mut self, stream: &[u8]) -> (usize, Part) {
        let after_return = std::mem::take(&mut self.after_return);
        match stream.first() {
            Some(b'\n') if after_return => (1, Part::Framing),
            Some(byte @ (b'\r' | b'\n')) => (1, self.line_end(*byte)),
            Some(byte) => self.inside(*byte, stream),
            None => (1, Part::Framing),
        }
    }

    fn line_end(&mut self, byte: u8) -> Part {
        self.after_return = byte == b'\r';
        // A byte order mark alone makes no line either.
        let empty = matches!(self.line, Line::Name(0) | Line::Mark(0));
        let data = matches!(self.line, Line::Colon | Line::Data) || self.line == Line::Name(DATA.len());
        self.line = Line::Name(0);
        match (empty, data) {
            (true, _) => Part::EventEnd,
            (_, true) => Part::DataLineEnd,
            _ => Part::Framing,
        }
    }

    fn inside(&mut self, byte: u8, stream: &[u8]) -> (usize, Part) {
        self.line = match self.line {
            Line::Mark(at) if BYTE_ORDER_MARK.get(at) == Some(&byte) => after_mark(at + 1),
            Line::Mark(0) if byte == b'd' => Line::Name(1),
            Line::Name(at) if DATA.get(at) == Some(&byte) => Line::Name(at + 1),
            Line::Name(at) if at == DATA.len() && byte == b':' => Line::Colon,
            Line::Colon if byte == b' ' => Line::Data,
            Line::Colon | Line::Data => {
                self.line = Line::Data;
                return (to_line_end(stream), Part::Data);
            }
            Line::Mark(_) | Line::Name(_) | Line::Dull => {
                self.line = Line::Dull;
                return (to_line_end(stream), Part::Framing);
            }
        };
        (1, Part::Framing)
    }
}

fn after_mark(seen: usize) -> Line {
    if seen == BYTE_ORDER_MARK.len() { Line::Name(0) } else { Line::Mark(seen) }
}

fn to_line_end(stream: &[u8]) -> usize {
    memchr::memchr2(b'\r', b'\n', stream).unwrap_or(stream.len())
}
