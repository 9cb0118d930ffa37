//! One item of a list: its bytes as the server wrote them, and where in them its name stands.
//!
//! Must never change a byte but those of the name and URIs by which clients ask for it.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::Value;

use super::kind::Kind;
use super::omission::{LeftOut, Omission};
use crate::routing::prefixed_uri;
use crate::scan::{self, Capture, Found, Limits, Scanner, Slot, Text, Watch};

const LIMITS: Limits = Limits { max_depth: 127, max_trailing_space: 0 };
/// Raw bytes of a name or URI; longer ones could not be sent in a header.
const MAX_KEY: u32 = 16 * 1024;

/// What is looked for in an item of one kind.
struct Places {
    watch: Arc<Watch>,
    key: Slot,
    /// Where hosts look for a tool's user interface: today's place and the one before it (MCP Apps).
    interfaces: Vec<Slot>,
}

static PLACES: LazyLock<[Places; 4]> = LazyLock::new(|| Kind::ALL.map(Places::of));

impl Places {
    fn of(kind: Kind) -> Self {
        let mut watch = Watch::builder();
        watch.protect(&[], &[kind.key()]);
        let captured = Capture { max_bytes: MAX_KEY, held: false, text: Text::Decoded };
        let key = watch.capture(&[kind.key()], captured);
        let paths: &[&[&str]] = match kind {
            Kind::Tools => &[&["_meta", "ui", "resourceUri"], &["_meta", "ui/resourceUri"]],
            _ => &[],
        };
        let interfaces = paths.iter().map(|path| watch.capture(path, captured)).collect();
        Self { watch: Arc::new(watch.build()), key, interfaces }
    }
}

/// An item.
#[derive(Debug)]
pub struct Item {
    key: String,
    raw: Bytes,
    key_token: Range<usize>,
    /// Tokens of further URIs, in their order in the item, and what they say.
    uris: Vec<(Range<usize>, String)>,
}

impl Item {
    /// Reads an item, or says why it is left out.
    pub fn read(kind: Kind, raw: Bytes) -> Result<Self, LeftOut> {
        let places = &PLACES[kind as usize];
        let mut scanner = Scanner::new(Arc::clone(&places.watch), LIMITS);
        let read = scanner.feed(&raw).and_then(|()| scanner.finish());
        let (key, key_token) = scanner.found(places.key).and_then(|found| read_string(&found)).unwrap_or_default();
        if let Err(error) = read {
            return Err(LeftOut::new(&key, Omission::Malformed(error.to_string())));
        }
        if key_token.is_empty() {
            return Err(LeftOut::new("", Omission::NoKey(kind.key())));
        }
        if key.is_empty() {
            return Err(LeftOut::new("", Omission::EmptyKey(kind.key())));
        }
        let found = places.interfaces.iter().filter_map(|slot| read_string(&scanner.found(*slot)?));
        let mut uris: Vec<_> = found.map(|(uri, token)| (token, uri)).collect();
        uris.sort_by_key(|(token, _)| token.start);
        Ok(Self { key, raw, key_token, uris })
    }

    /// As its server calls it.
    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    pub fn bytes(&self) -> usize {
        self.raw.len() + self.key.len() + std::mem::size_of::<Self>()
    }

    /// The item as a value. What serde cannot read is nested too deep for it, or no JSON.
    pub fn value(&self) -> Result<Value, Omission> {
        serde_json::from_slice(&self.raw).map_err(|error| Omission::Malformed(error.to_string()))
    }

    /// Writes the item under the key by which it is asked for; with `uri_prefix` its further URIs lead there too.
    pub fn write(&self, out: &mut Vec<u8>, public: &str, uri_prefix: Option<&str>) {
        let further =
            uri_prefix.map(|prefix| self.uris.iter().map(move |(token, uri)| (token, prefixed_uri(prefix, uri))));
        let mut edits: Vec<(&Range<usize>, String)> = further.into_iter().flatten().collect();
        if public != self.key {
            edits.push((&self.key_token, public.to_owned()));
            edits.sort_by_key(|(token, _)| token.start);
        }
        let mut at = 0;
        for (token, value) in edits {
            out.extend_from_slice(self.raw.get(at..token.start).unwrap_or_default());
            scan::push_string(out, &value);
            at = token.end;
        }
        out.extend_from_slice(self.raw.get(at..).unwrap_or_default());
    }
}

/// A complete string and where its token stands.
fn read_string(found: &Found<'_>) -> Option<(String, Range<usize>)> {
    let is_whole = found.kind == scan::Kind::String && !found.cut;
    let text = is_whole.then(|| std::str::from_utf8(found.text).ok()).flatten()?;
    let token = usize::try_from(found.range.start).ok()?..usize::try_from(found.range.end).ok()?;
    Some((text.to_owned(), token))
}
