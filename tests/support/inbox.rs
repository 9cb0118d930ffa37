//! Reading HTTP/1.1 from a socket, byte by byte where it matters, strictly.

use std::io::{self, Read};
use std::net::TcpStream;

/// Header fields in the order and spelling in which they came; values without the white space around them.
pub type Fields = Vec<(String, Vec<u8>)>;

/// A socket and what was read from it but not yet taken.
#[derive(Debug)]
pub struct Inbox {
    pub stream: TcpStream,
    buffer: Vec<u8>,
}

/// The start line and the fields of a message.
#[derive(Clone, Debug, Default)]
pub struct Head {
    pub start: String,
    pub fields: Fields,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

impl Inbox {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    /// Reads more; false at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        let mut block = vec![0; 64 * 1024];
        let read = self.stream.read(&mut block)?;
        self.buffer.extend_from_slice(&block[..read]);
        Ok(read > 0)
    }

    /// The next head; `None` if the stream ends before its first byte.
    pub fn head(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                let text: Vec<u8> = self.buffer.drain(..end + 4).collect();
                return parse_head(&text[..end]).map(Some);
            }
            if !self.fill()? {
                return if self.buffer.is_empty() { Ok(None) } else { Err(bad("the head ended early")) };
            }
        }
    }

    fn line(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = find(&self.buffer, b"\r\n") {
                let line = self.buffer.drain(..end + 2).take(end).collect();
                return Ok(line);
            }
            if !self.fill()? {
                return Err(early());
            }
        }
    }

    /// Hands `length` bytes on as they come.
    fn pass(&mut self, length: usize, see: &mut impl FnMut(&[u8])) -> io::Result<()> {
        let mut left = length;
        while left > 0 {
            if self.buffer.is_empty() && !self.fill()? {
                return Err(early());
            }
            let take = left.min(self.buffer.len());
            see(&self.buffer[..take]);
            self.buffer.drain(..take);
            left -= take;
        }
        Ok(())
    }

    /// Reads a body to its end and shows each piece of it; an error if it ends early or breaks its framing.
    pub fn body(&mut self, framing: Framing, mut see: impl FnMut(&[u8])) -> io::Result<()> {
        match framing {
            Framing::Length(length) => self.pass(length, &mut see),
            Framing::Chunked => self.chunks(&mut see),
            Framing::UntilClose => loop {
                see(&self.buffer);
                self.buffer.clear();
                if !self.fill()? {
                    return Ok(());
                }
            },
        }
    }

    fn chunks(&mut self, see: &mut impl FnMut(&[u8])) -> io::Result<()> {
        loop {
            let line = self.line()?;
            let size = std::str::from_utf8(&line).ok().and_then(|text| usize::from_str_radix(text, 16).ok());
            let size = size.ok_or_else(|| bad("a chunk's size is no number"))?;
            self.pass(size, see)?;
            if !self.line()?.is_empty() {
                return Err(bad("a chunk does not end where it said"));
            }
            if size == 0 {
                return Ok(());
            }
        }
    }
}

impl Head {
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.all(name).first().copied()
    }

    pub fn all(&self, name: &str) -> Vec<&[u8]> {
        values(&self.fields, name)
    }

    /// The framing of a request's body.
    pub fn request_framing(&self) -> io::Result<Framing> {
        match (self.all("transfer-encoding").as_slice(), self.all("content-length").as_slice()) {
            ([], []) => Ok(Framing::Length(0)),
            ([], [length]) => number(length).map(Framing::Length),
            ([coding], []) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
            _ => Err(bad("the request is not framed plainly")),
        }
    }

    /// The framing of a response's body.
    pub fn response_framing(&self, status: u16) -> io::Result<Framing> {
        let coding = self.all("transfer-encoding");
        match (status, coding.as_slice(), self.all("content-length").as_slice()) {
            (100..200 | 204 | 304, _, _) => Ok(Framing::Length(0)),
            (_, [coding], []) if coding.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
            (_, [], [length]) => number(length).map(Framing::Length),
            (_, [], []) => Ok(Framing::UntilClose),
            _ => Err(bad("the response is not framed plainly")),
        }
    }
}

/// All values of one field.
pub fn values<'a>(fields: &'a Fields, name: &str) -> Vec<&'a [u8]> {
    fields.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_slice()).collect()
}

fn parse_head(text: &[u8]) -> io::Result<Head> {
    let mut lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let start = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let fields = lines.map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').ok_or_else(|| bad("a field without a colon"))?;
        let name = String::from_utf8_lossy(&line[..colon]).into_owned();
        Ok((name, line[colon + 1..].trim_ascii().to_vec()))
    });
    Ok(Head { start, fields: fields.collect::<io::Result<_>>()? })
}

fn number(text: &[u8]) -> io::Result<usize> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| bad("a length that is no number"))
}

pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn bad(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn early() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the message ended early")
}
