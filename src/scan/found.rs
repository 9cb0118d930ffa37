//! What has been found at the watched paths, and the one arena its text lies in.
//! Never grows past what the watch and the request's limits allow, however long a token is.

use std::ops::Range;

use super::string::Sink;
use super::watch::{Capture, EntryId, Text, Watch};

/// Kept of a cut token at least, so that a message can quote it.
const QUOTABLE: usize = 128;

/// The kind of a JSON value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
}

/// A value at a watched path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found<'a> {
    pub kind: Kind,
    /// UTF-8: a string as [`Text`] asks, a number or literal as written, nothing for a container. Of a cut token its
    /// first bytes, at least 128 of them if it has and has shown so many.
    pub text: &'a [u8],
    /// Absolute offsets of the raw token; of a container, its opening bracket; of an unfinished token, what was seen.
    pub range: Range<u64>,
    /// The raw token is longer than the slot's `max_bytes`.
    pub cut: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    Unseen,
    /// Reported only if it is cut.
    Open,
    Complete,
}

/// What is known of one entry of the watch.
#[derive(Clone, Debug)]
struct Record {
    max_bytes: u32,
    key_seen: bool,
    progress: Progress,
    cut: bool,
    kind: Kind,
    range: Range<u64>,
    text: Range<usize>,
}

/// The token that is being captured.
#[derive(Clone, Copy, Debug)]
struct Open {
    entry: EntryId,
    start: u64,
    held: bool,
    raw: bool,
    /// Bytes of text that may still be kept.
    room: usize,
}

/// All records of one body.
#[derive(Debug)]
pub(super) struct Finds {
    records: Vec<Record>,
    arena: Vec<u8>,
    open: Option<Open>,
    /// Where the first held token begins that was cut: nothing from there on may ever leave.
    barred: Option<u64>,
}

impl Finds {
    pub(super) fn new(watch: &Watch) -> Self {
        let record = |max_bytes| Record {
            max_bytes,
            key_seen: false,
            progress: Progress::Unseen,
            cut: false,
            kind: Kind::Null,
            range: 0..0,
            text: 0..0,
        };
        let bounds = watch.entries().iter().map(|entry| entry.capture.map_or(0, |capture| capture.max_bytes));
        Self { records: bounds.map(record).collect(), arena: Vec::with_capacity(256), open: None, barred: None }
    }

    pub(super) fn set_max_bytes(&mut self, entry: EntryId, max: u32) {
        if let Some(record) = self.records.get_mut(entry) {
            record.max_bytes = max;
        }
    }

    /// Notes that the key of an entry was read; false if it was before.
    pub(super) fn first_key(&mut self, entry: EntryId) -> bool {
        self.records.get_mut(entry).is_none_or(|record| !std::mem::replace(&mut record.key_seen, true))
    }

    pub(super) fn get(&self, entry: EntryId, broken: bool) -> Option<Found<'_>> {
        let record = self.records.get(entry)?;
        let known = match record.progress {
            Progress::Unseen => false,
            // What an error ended is no value, whether or not a chunk's end let it be seen before.
            Progress::Open => record.cut && !broken,
            Progress::Complete => true,
        };
        known.then(|| Found {
            kind: record.kind,
            text: self.arena.get(record.text.clone()).unwrap_or_default(),
            range: record.range.clone(),
            cut: record.cut,
        })
    }

    /// A container has opened.
    pub(super) fn container(&mut self, entry: EntryId, kind: Kind, at: u64) {
        if let Some(record) = self.records.get_mut(entry) {
            record.kind = kind;
            record.range = at..at.saturating_add(1);
            record.progress = Progress::Complete;
        }
    }

    /// A scalar begins at this offset.
    pub(super) fn begin(&mut self, entry: EntryId, capture: Capture, kind: Kind, start: u64) {
        let Some(record) = self.records.get_mut(entry) else {
            return;
        };
        record.kind = kind;
        record.progress = Progress::Open;
        record.range = start..start;
        record.text = self.arena.len()..self.arena.len();
        self.open = Some(Open {
            entry,
            start,
            held: capture.held,
            raw: kind != Kind::String || capture.text == Text::Raw,
            room: usize::try_from(record.max_bytes).unwrap_or(usize::MAX).max(QUOTABLE),
        });
    }

    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether the open token, if there is one, is kept as it is on the wire.
    pub(super) fn open_raw(&self) -> Option<bool> {
        self.open.map(|open| open.raw)
    }

    /// Keeps more text of the open token: whole characters only.
    pub(super) fn keep(&mut self, text: &[u8]) {
        let Some(open) = &mut self.open else { return };
        let mut kept = text.len().min(open.room);
        // Used up even by a character that is left out: nothing may follow it.
        open.room -= kept;
        while text.get(kept).is_some_and(|byte| byte & 0xc0 == 0x80) {
            kept -= 1;
        }
        self.arena.extend_from_slice(text.get(..kept).unwrap_or_default());
        if let Some(record) = self.records.get_mut(open.entry) {
            record.text.end = self.arena.len();
        }
    }

    /// The open token reaches up to `end` and goes on.
    pub(super) fn reach(&mut self, end: u64) {
        let Some(open) = &self.open else { return };
        let Some(record) = self.records.get_mut(open.entry) else {
            return;
        };
        record.range.end = end;
        record.cut = end.saturating_sub(open.start) > u64::from(record.max_bytes);
        if record.cut && open.held {
            self.barred.get_or_insert(open.start);
        }
    }

    /// The open token is complete and ends before `end`.
    pub(super) fn complete(&mut self, end: u64) {
        self.reach(end);
        let Some(open) = self.open.take() else { return };
        if let Some(record) = self.records.get_mut(open.entry) {
            record.progress = Progress::Complete;
        }
    }

    /// The offset that nothing at or after may pass yet, or ever.
    pub(super) fn held(&self) -> Option<u64> {
        let open = self.open.filter(|open| open.held).map(|open| open.start);
        self.barred.or(open)
    }
}

impl Sink for Finds {
    fn plain(&mut self, text: &[u8]) {
        self.keep(text);
    }

    fn escaped(&mut self, character: char) {
        self.keep(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
