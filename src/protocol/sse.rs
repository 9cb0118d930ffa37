//! Server-sent events, as far as the protocol uses them: bytes in at any border, the data of whole events out.
//!
//! Knows the framing (WHATWG HTML, "Server-sent events", 9.2.6) and which message answers a request ("Receiving
//! Messages"). Must never do I/O, and never hold more than one event of bounded size. `id`, `event` and `retry` mean
//! nothing here: streams are not resumable and messages say themselves what they are.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a stream into events.
#[derive(Debug)]
pub struct Parser {
    max_bytes: usize,
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    /// The data lines of the event that is being read, each with a line feed behind it.
    data: Vec<u8>,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    at_start: bool,
}

/// One event, or one line of it, is larger than the parser's bound, in bytes. What follows on the stream cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {0} bytes")]
pub struct TooLarge(pub usize);

impl Parser {
    /// A parser for one stream, from its first byte. `max_bytes` bounds what is held of one event.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, line: Vec::new(), data: Vec::new(), after_return: false, at_start: true }
    }

    /// Takes in the next bytes and gives the data of each event that they complete.
    ///
    /// Events without data, or with empty data (servers open streams with such), are left out. An event that the stream
    /// ends in the midst of never comes out.
    pub fn feed(&mut self, mut chunk: &[u8]) -> Result<Vec<Vec<u8>>, TooLarge> {
        let mut events = Vec::new();
        while let Some(first) = chunk.first() {
            if std::mem::take(&mut self.after_return) && *first == b'\n' {
                chunk = chunk.get(1..).unwrap_or_default();
                continue;
            }
            let Some((part, end, rest)) = line_end(chunk) else {
                self.hold(chunk)?;
                break;
            };
            self.after_return = end == b'\r';
            chunk = rest;
            events.extend(self.end_line(part)?);
        }
        Ok(events)
    }

    fn hold(&mut self, part: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + part.len() > self.max_bytes {
            return Err(TooLarge(self.max_bytes));
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// A line has ended with `part`; an empty one ends the event.
    fn end_line(&mut self, part: &[u8]) -> Result<Option<Vec<u8>>, TooLarge> {
        self.hold(part)?;
        let line = std::mem::take(&mut self.line);
        let mut text = line.as_slice();
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        }
        if text.is_empty() {
            return Ok(self.end_event());
        }
        if let Some(value) = data_field(text) {
            self.data.extend_from_slice(value);
            self.data.push(b'\n');
        }
        self.reuse(line);
        Ok(None)
    }

    fn end_event(&mut self) -> Option<Vec<u8>> {
        let mut data = std::mem::take(&mut self.data);
        data.pop();
        (!data.is_empty()).then_some(data)
    }

    /// Keeps a line's memory for the next one.
    fn reuse(&mut self, mut line: Vec<u8>) {
        line.clear();
        self.line = line;
    }
}

/// What stands before the first line end, that end's first byte, and what follows it.
fn line_end(chunk: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (part, rest) = chunk.split_at_checked(memchr::memchr2(b'\r', b'\n', chunk)?)?;
    let (end, rest) = rest.split_first()?;
    Some((part, *end, rest))
}

/// The value of a `data` line; one space after the colon is not part of it.
fn data_field(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

/// Reads a stream for the response that ends it; the notifications before it are dropped.
#[derive(Debug)]
pub struct LastResponse {
    parser: Parser,
    response: Option<Vec<u8>>,
}

/// Why a stream has no response.
#[derive(Debug, thiserror::Error)]
pub enum NoResponse {
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    #[error("an event of the stream is no JSON")]
    NotJson(#[source] serde_json::Error),
    #[error("the stream ended without a response")]
    Ended,
}

impl LastResponse {
    /// `max_bytes` bounds one event. How long the whole stream may be is the caller's to bound.
    pub fn new(max_bytes: usize) -> Self {
        Self { parser: Parser::new(max_bytes), response: None }
    }

    /// Takes in the next bytes; says whether a response has come, so that the rest need not be waited for.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<bool, NoResponse> {
        for data in self.parser.feed(chunk)? {
            if is_response(&data).map_err(NoResponse::NotJson)? {
                self.response = Some(data);
            }
        }
        Ok(self.response.is_some())
    }

    /// The last response that came, as it was written.
    pub fn finish(self) -> Result<Vec<u8>, NoResponse> {
        self.response.ok_or(NoResponse::Ended)
    }
}

/// Which members a message has; what stands in them is passed over.
#[derive(Debug, Deserialize)]
struct Members {
    #[serde(default, deserialize_with = "present")]
    method: Option<Present>,
    #[serde(default, deserialize_with = "present")]
    id: Option<Present>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Present>,
    #[serde(default, deserialize_with = "present")]
    error: Option<Present>,
}

/// A member is there, be it `null`.
#[derive(Debug)]
struct Present;

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Present>, D::Error> {
    IgnoredAny::deserialize(value).map(|_| Some(Present))
}

/// Whether a message is a JSON-RPC response. One that says an error may lack the `id` (schema, `JSONRPCErrorResponse`).
fn is_response(message: &[u8]) -> Result<bool, serde_json::Error> {
    match serde_json::from_slice::<Members>(message) {
        Ok(has) => {
            let is_result = has.result.is_some() && has.id.is_some();
            Ok(has.method.is_none() && (has.error.is_some() || is_result))
        }
        // JSON, but no object with each of these once.
        Err(error) if error.is_data() => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// The response in a stream that is at hand as a whole.
    fn last_response(stream: &[u8]) -> Result<Value, NoResponse> {
        let mut reader = LastResponse::new(stream.len());
        reader.feed(stream)?;
        Ok(serde_json::from_slice(&reader.finish()?).unwrap())
    }

    fn whole(stream: &[u8]) -> Vec<String> {
        let events = Parser::new(1 << 20).feed(stream).unwrap();
        events.into_iter().map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn a_table_of_streams() {
        let cases: &[(&[u8], &[&str])] = &[
            (b"data: a\n\n", &["a"]),
            (b"data:a\n\n", &["a"]),
            (b"data:  a\n\n", &[" a"]),
            (b"data: a\r\n\r\n", &["a"]),
            (b"data: a\r\r", &["a"]),
            (b"data: a\r\rdata: b\r\n\ndata: c\n\r\n", &["a", "b", "c"]),
            (b"data: a\ndata: b\n\n", &["a\nb"]),
            (b"data: a\ndata\ndata:\ndata: b\n\n", &["a\n\n\nb"]),
            (b"\xef\xbb\xbfdata: a\n\n", &["a"]),
            (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", &["b"]),
            (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", &["a"]),
            (b": keep-alive\n\n:\r\n\r\ndata: a\n: between\nid: 7\nevent: message\nretry: 3000\n\n", &["a"]),
            (b"id: 0\nretry: 3000\ndata:\n\ndata: a\n\n", &["a"]),
            (b"event: x\n\ndata: a\n\n", &["a"]),
            (b"\n\n\r\n\r\rdata: a\n\n\n\n", &["a"]),
            (b"dat: a\ndatax: a\nData: a\n data: a\n\ndata: b\n\n", &["b"]),
            (b"data: a: b\n\n", &["a: b"]),
            (b"data: a\n\ndata: cut off", &["a"]),
            (b"data: a\n\ndata: cut off\n", &["a"]),
            (b"", &[]),
        ];
        for (stream, expected) in cases {
            assert_eq!(whole(stream), *expected, "{}", stream.escape_ascii());
        }
    }

    #[test]
    fn an_event_is_bounded_and_a_stream_is_not() {
        let mut parser = Parser::new(8);
        for _ in 0..100 {
            assert_eq!(parser.feed(b"data: ab\n\n: abcdef\n\n").unwrap(), [b"ab"]);
        }
        for stream in [&b"data: abc"[..], b": abcdefg", b"data:a\ndata:b\ndata:c\n"] {
            assert_eq!(Parser::new(8).feed(stream), Err(TooLarge(8)), "{}", stream.escape_ascii());
            let mut bytewise = Parser::new(8);
            let result = stream.iter().try_for_each(|byte| bytewise.feed(&[*byte]).map(drop));
            assert_eq!(result, Err(TooLarge(8)), "{}", stream.escape_ascii());
        }
    }

    #[test]
    fn the_response_is_found_behind_notifications() {
        let stream =
            b"data:\nid: 0\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n\
            :\n\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":\"a\",\"result\":{\"tools\":[]}}\n\n";
        let expected = json!({"jsonrpc": "2.0", "id": "a", "result": {"tools": []}});
        assert_eq!(last_response(stream).unwrap(), expected);
        let mut reader = LastResponse::new(1000);
        let come: Vec<bool> = stream.chunks(60).map(|chunk| reader.feed(chunk).unwrap()).collect();
        assert_eq!((come.first(), come.last()), (Some(&false), Some(&true)));
        assert_eq!(serde_json::from_slice::<Value>(&reader.finish().unwrap()).unwrap(), expected);
    }

    #[test]
    fn what_is_a_response() {
        let cases = [
            (json!({"id": 1, "result": {}}), true),
            (json!({"id": 1, "error": {"code": 1, "message": ""}}), true),
            (json!({"error": {"code": 1, "message": ""}}), true),
            (json!({"result": {}}), false),
            (json!({"id": 1, "method": "ping"}), false),
            (json!({"id": 1, "method": "ping", "result": {}}), false),
            (json!({"method": "notifications/message", "params": {"error": 1}}), false),
            (json!([{"id": 1, "result": {}}]), false),
            (json!("result"), false),
        ];
        for (message, expected) in cases {
            assert_eq!(is_response(message.to_string().as_bytes()).unwrap(), expected, "{message}");
        }
    }

    #[test]
    fn streams_without_a_response() {
        assert!(matches!(last_response(b""), Err(NoResponse::Ended)));
        assert!(matches!(last_response(b"data: {\"id\":1,\"result\":{}}\n"), Err(NoResponse::Ended)));
        assert!(matches!(last_response(b"data: {\"id\":1,\n\n"), Err(NoResponse::NotJson(_))));
        assert!(matches!(LastResponse::new(4).feed(b"data: {}"), Err(NoResponse::TooLarge(TooLarge(4)))));
    }

    /// The framing done the slow way: all line ends made one, split into lines.
    fn oracle(stream: &str) -> Vec<String> {
        let text = stream.strip_prefix('\u{feff}').unwrap_or(stream).replace("\r\n", "\n").replace('\r', "\n");
        let mut events = Vec::new();
        let mut data: Vec<&str> = Vec::new();
        let mut lines: Vec<&str> = text.split('\n').collect();
        lines.pop();
        for line in lines {
            match line.split_once(':').unwrap_or((line, "")) {
                ("", _) if line.is_empty() => {
                    let joined = std::mem::take(&mut data).join("\n");
                    events.extend((!joined.is_empty()).then_some(joined));
                }
                ("data", value) => data.push(value.strip_prefix(' ').unwrap_or(value)),
                _ => {}
            }
        }
        events
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn any_split_gives_the_same_events(
            parts in prop::collection::vec("\u{feff}|\r|\n|\r\n|\n\n|data|data: |data:|:|: x|id: 1|a|é| |\\PC{0,4}", 0..40),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let stream = parts.concat();
            let expected = oracle(&stream);
            prop_assert_eq!(&whole(stream.as_bytes()), &expected);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let mut parser = Parser::new(1 << 20);
            let mut events = Vec::new();
            for cut in cuts.windows(2) {
                events.extend(parser.feed(&stream.as_bytes()[cut[0]..cut[1]]).unwrap());
            }
            let events: Vec<String> = events.into_iter().map(|data| String::from_utf8(data).unwrap()).collect();
            prop_assert_eq!(&events, &expected);
        }

        #[test]
        fn any_bytes_bytewise(stream in prop::collection::vec(any::<u8>(), 0..200), max_bytes in 0_usize..64) {
            let mut parser = Parser::new(max_bytes);
            for byte in stream {
                let Ok(events) = parser.feed(&[byte]) else { break };
                prop_assert!(events.iter().all(|data| !data.is_empty() && data.len() <= max_bytes));
            }
        }
    }
}
