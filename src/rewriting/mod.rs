//! What is rewritten in a server's response on its way to the client: the resource URIs a client would use.
//!
//! Bytes in at any chunk border, bytes out at once, in constant memory. What comes out is what came in, with the
//! gateway's prefix put into the URIs at the places of the closed table, as
//! [`prefixed_uri`](crate::routing::prefixed_uri) does it: white space, escapes, the spelling of numbers, the order of
//! members and everything unknown stay. It knows JSON, the framing of event streams and the shapes of the protocol's
//! results. It must never refuse, lose or reorder a byte, hold a URI whole, or panic, whatever the bytes are: what is
//! no JSON passes unchanged from where it stopped being it.
//!
//! ```text
//! Rewriter ──► events (which bytes are data) ──► message (what goes out) ──► walk (the grammar) ──► text (strings)
//!                                                                              └──► nest, table (where it is)
//! ```

mod events;
mod message;
mod nest;
mod table;
mod text;
mod walk;

use std::sync::Arc;

use crate::protocol::Method;
use events::{Events, Part};
use message::Message;

/// How a response is written, as its `Content-Type` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One response (`application/json`).
    Json,
    /// Server-sent events, each of them a message (`text/event-stream`).
    Events,
}

/// Why URIs may have been left as they were from some point of a message on. The bytes have passed all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GaveUp {
    #[error("a message of the response is no JSON; its URIs from there on lack the server's prefix")]
    NotJson,
    #[error("a message of the response nests deeper than 128 levels; its URIs from there on lack the server's prefix")]
    TooDeep,
    #[error("the response ended in the midst of a message")]
    Truncated,
}

/// Rewrites one response.
#[derive(Debug)]
pub struct Rewriter {
    message: Message,
    /// The framing, if the response is a stream.
    events: Option<Events>,
    gave_up: Option<GaveUp>,
}

impl Rewriter {
    /// A rewriter for the response of the server with this prefix to a request with this method, from its first byte.
    ///
    /// The prefix is written as it is: it must need no escape in JSON, as those of the configuration. An empty one
    /// changes nothing.
    pub fn new(prefix: Arc<str>, method: Method, form: Form) -> Self {
        let (root, events) = match form {
            Form::Json => (&table::RESPONSE, None),
            Form::Events => (&table::ANY_MESSAGE, Some(Events::new())),
        };
        Self { message: Message::new(prefix, root, table::result_of(method)), events, gave_up: None }
    }

    /// Whether results of requests with this method have URIs that are rewritten.
    pub fn concerns(method: Method) -> bool {
        table::has_uris(method)
    }

    /// Takes in the next bytes and appends what may leave to `out`: all but 29 bytes at most.
    pub fn feed(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        out.reserve(chunk.len());
        match self.events {
            None => self.message.feed(chunk, out),
            Some(_) => self.feed_events(chunk, out),
        }
    }

    /// The response has ended, or broken off: appends what was held.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_message(out);
    }

    /// What was wrong with the first message that could not be read to its end. After [`finish`](Self::finish) this
    /// is so for the whole response.
    pub fn gave_up(&self) -> Option<GaveUp> {
        self.gave_up
    }

    fn feed_events(&mut self, chunk: &[u8], out: &mut Vec<u8>) {
        let mut rest = chunk;
        while let Some(events) = self.events.as_mut().filter(|_| !rest.is_empty()) {
            let (len, part) = events.part(rest);
            let (bytes, after) = rest.split_at_checked(len).unwrap_or((rest, &[]));
            rest = after;
            match part {
                Part::Data => {
                    self.message.feed(bytes, out);
                    continue;
                }
                Part::DataLineEnd => self.message.line_feed(out),
                Part::EventEnd => self.end_message(out),
                Part::Framing => {}
            }
            out.extend_from_slice(bytes);
        }
    }

    fn end_message(&mut self, out: &mut Vec<u8>) {
        let gave_up = self.message.end(out);
        self.gave_up = self.gave_up.or(gave_up);
    }
}

#[cfg(test)]
mod tests;
