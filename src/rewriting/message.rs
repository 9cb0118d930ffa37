//! One message on its way out: what goes out of it, and what is put in.
//!
//! A URI is only ever inserted into: after its opening quote, or after `ui://`. So nothing is held but the few bytes
//! that may be the beginning of `ui://`.

use std::sync::Arc;

use super::GaveUp;
use super::table::Place;
use super::walk::{Uri, Walk};

/// `ui://` with every character written as an escape of six bytes; the last byte decides.
const MOST_HELD: usize = 5 * 6 - 1;

#[derive(Debug)]
pub(super) struct Message {
    prefix: Arc<str>,
    walk: Walk,
    /// In a URI of which it is not known yet how it begins.
    deciding: bool,
    /// What has come of that URI.
    held: Vec<u8>,
}

impl Message {
    pub(super) fn new(prefix: Arc<str>, root: &'static Place, result: &'static Place) -> Self {
        Self { prefix, walk: Walk::new(root, result), deciding: false, held: Vec::with_capacity(MOST_HELD) }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut rest = bytes;
        while let (taken, Some(uri)) = self.walk.advance(rest) {
            let (part, after) = rest.split_at_checked(taken).unwrap_or((rest, &[]));
            self.take(uri, part, out);
            rest = after;
        }
        if self.deciding && !self.walk.has_stopped() {
            self.held.extend_from_slice(rest);
        } else {
            self.release(out);
            out.extend_from_slice(rest);
        }
    }

    /// `part` ends with the byte that told it.
    fn take(&mut self, uri: Uri, part: &[u8], out: &mut Vec<u8>) {
        match uri {
            Uri::Begins => {
                out.extend_from_slice(part);
                self.deciding = true;
            }
            Uri::IsOrdinary => {
                self.insert(b'+', out);
                self.release(out);
                out.extend_from_slice(part);
            }
            Uri::IsUi => {
                self.release(out);
                out.extend_from_slice(part);
                self.insert(b'/', out);
            }
        }
    }

    fn insert(&self, after: u8, out: &mut Vec<u8>) {
        if !self.prefix.is_empty() {
            out.extend_from_slice(self.prefix.as_bytes());
            out.push(after);
        }
    }

    fn release(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
        self.deciding = false;
    }

    /// A line feed that belongs to the message, but which the caller sends itself.
    pub(super) fn line_feed(&mut self, out: &mut Vec<u8>) {
        // No URI goes on over a line's end: there is nothing to insert.
        self.walk.advance(b"\n");
        self.release(out);
    }

    /// The message has ended: what was wrong with it, if anything. What comes is the next one.
    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> Option<GaveUp> {
        self.release(out);
        self.walk.end()
    }
}
