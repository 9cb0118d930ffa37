//! The grammar of JSON (RFC 8259 sections 2 to 5) as a state machine over bytes that may end anywhere.
//! Gets whole UTF-8 characters. Knows where in the watched tree it is; must never recurse.

use std::sync::Arc;

use super::error::{ScanError, ScanErrorKind};
use super::found::{Finds, Kind};
use super::nest::{Bracket, Nest};
use super::number::Number;
use super::scanner::Limits;
use super::string::{self, Inside, Sink, Skip, plain_len};
use super::watch::{EntryId, Match, NodeId, ROOT, Watch};

/// What may come next.
#[derive(Clone, Copy, Debug)]
enum State {
    Value,
    /// A value or the end of the array that has just begun.
    FirstElement,
    Key,
    /// A key or the end of the object that has just begun.
    FirstKey,
    Colon,
    /// A comma or the end of the container.
    Next,
    InString,
    InKey,
    /// In a key that cannot match.
    InDullKey,
    InNumber(Number),
    /// In `true`, `false` or `null`: what is left of it.
    InLiteral(&'static [u8]),
    /// After the root value.
    After,
}

/// The scan has failed; the error lies in the machine. Keeps results as small as an index.
#[derive(Debug)]
pub(super) struct Broken;

type Step = Result<usize, Broken>;

/// A key that is being unescaped.
#[derive(Debug)]
struct Key {
    text: Vec<u8>,
    longest: usize,
    /// Where its opening quote is.
    start: u64,
}

#[derive(Debug)]
pub(super) struct Machine {
    watch: Arc<Watch>,
    pub(super) finds: Finds,
    pub(super) error: Option<ScanError>,
    state: State,
    nest: Nest,
    /// The innermost open object that is watched, and its depth. Watched objects stand in one another without gaps.
    node: Option<NodeId>,
    node_depth: u8,
    /// What the value to come is, if it is watched.
    entry: Option<EntryId>,
    inside: Inside,
    key: Key,
    root: Option<Kind>,
    /// Where the complete root value's last byte is.
    last: Option<u64>,
    spaces_left: u32,
    max_spaces: u32,
    /// Absolute offset of the first byte of what is scanned now.
    base: u64,
}

impl Machine {
    pub(super) fn new(watch: Arc<Watch>, limits: Limits) -> Self {
        Self {
            finds: Finds::new(&watch),
            error: None,
            state: State::Value,
            nest: Nest::new(limits.max_depth),
            node: None,
            node_depth: 0,
            entry: Some(ROOT),
            inside: Inside::Plain,
            key: Key { text: Vec::new(), longest: watch.longest_key(), start: 0 },
            root: None,
            last: None,
            spaces_left: limits.max_trailing_space,
            max_spaces: limits.max_trailing_space,
            base: 0,
            watch,
        }
    }

    pub(super) fn root(&self) -> Option<Kind> {
        self.root
    }

    /// How many bytes have been scanned.
    pub(super) fn scanned(&self) -> u64 {
        self.base
    }

    /// Bytes before this offset neither complete the root value nor belong to a held token that is incomplete.
    pub(super) fn safe(&self) -> u64 {
        let last = match self.state {
            // The number's last byte so far may be its last.
            State::InNumber(_) if self.nest.depth() == 0 => Some(self.base.saturating_sub(1)),
            _ => self.last,
        };
        let bounds = [last, self.finds.held()];
        bounds.into_iter().flatten().fold(self.base, u64::min)
    }

    pub(super) fn scan(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let mut at = 0;
        while at < bytes.len() {
            at = match self.state {
                State::InString => self.string(bytes, at)?,
                State::InKey => self.key(bytes, at)?,
                State::InDullKey => self.dull_key(bytes, at)?,
                State::InNumber(number) => self.number(number, bytes, at)?,
                State::InLiteral(left) => self.literal(left, bytes, at)?,
                _ => self.between(bytes, at)?,
            };
        }
        self.base = self.offset(bytes.len());
        Ok(())
    }

    /// The body has ended.
    pub(super) fn end(&mut self) -> Result<(), Broken> {
        if let State::InNumber(number) = self.state
            && self.nest.depth() == 0
            && number.complete()
        {
            self.value_ends(0);
        }
        match self.state {
            State::After => Ok(()),
            _ => Err(self.fail(ScanErrorKind::Truncated, 0)),
        }
    }

    /// Between tokens.
    #[inline]
    fn between(&mut self, bytes: &[u8], at: usize) -> Step {
        let rest = bytes.get(at..).unwrap_or_default();
        let spaces = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        if matches!(self.state, State::After) {
            return self.after(rest.len(), spaces, at);
        }
        let at = at + spaces;
        let Some(&byte) = bytes.get(at) else { return Ok(at) };
        match (self.state, byte) {
            (State::Next, b',') => {
                self.state = if self.nest.top() == Some(Bracket::Object) { State::Key } else { State::Value };
                Ok(at + 1)
            }
            (State::Colon, b':') => {
                self.state = State::Value;
                Ok(at + 1)
            }
            (State::FirstKey | State::Key, b'"') => self.key_begins(bytes, at),
            (State::FirstKey, b'}') | (State::FirstElement, b']') => Ok(self.close(at)),
            (State::Next, b'}') if self.nest.top() == Some(Bracket::Object) => Ok(self.close(at)),
            (State::Next, b']') if self.nest.top() == Some(Bracket::Array) => Ok(self.close(at)),
            (State::Value | State::FirstElement, _) => self.value(byte, bytes, at),
            _ => Err(self.unexpected(at)),
        }
    }

    /// After the root value: nothing but white space, and not much of it.
    fn after(&mut self, rest: usize, spaces: usize, at: usize) -> Step {
        let left = usize::try_from(self.spaces_left).unwrap_or(usize::MAX);
        if spaces > left {
            return Err(self.fail(ScanErrorKind::TrailingSpace { limit: self.max_spaces }, at + left));
        }
        if spaces < rest {
            return Err(self.fail(ScanErrorKind::TrailingData, at + spaces));
        }
        self.spaces_left -= u32::try_from(spaces).unwrap_or(self.spaces_left);
        Ok(at + spaces)
    }

    /// A value begins with this byte.
    #[inline]
    fn value(&mut self, byte: u8, bytes: &[u8], at: usize) -> Step {
        match byte {
            b'"' => self.string_begins(bytes, at),
            b'{' => self.open(Bracket::Object, at),
            b'[' => self.open(Bracket::Array, at),
            b't' => self.literal_begins(Kind::True, b"true", bytes, at),
            b'f' => self.literal_begins(Kind::False, b"false", bytes, at),
            b'n' => self.literal_begins(Kind::Null, b"null", bytes, at),
            _ => {
                let Some(number) = Number::begin(byte) else {
                    return Err(self.unexpected(at));
                };
                self.scalar_begins(Kind::Number, bytes, at);
                self.number(number, bytes, at + 1)
            }
        }
    }

    /// A scalar's first byte.
    #[inline]
    fn scalar_begins(&mut self, kind: Kind, bytes: &[u8], at: usize) {
        if let Some(entry) = self.value_begins(kind)
            && let Some(capture) = self.watch.entry(entry).and_then(|entry| entry.capture)
        {
            self.finds.begin(entry, capture, kind, self.offset(at));
            if !matches!(kind, Kind::True | Kind::False | Kind::Null) {
                self.keep_raw(bytes, at, at + 1);
            }
        }
    }

    fn literal_begins(&mut self, kind: Kind, word: &'static [u8], bytes: &[u8], at: usize) -> Step {
        self.scalar_begins(kind, bytes, at);
        self.literal(word, bytes, at)
    }

    #[inline]
    fn string_begins(&mut self, bytes: &[u8], at: usize) -> Step {
        self.scalar_begins(Kind::String, bytes, at);
        self.inside = Inside::Plain;
        self.state = State::InString;
        if self.finds.is_open() {
            return self.string(bytes, at + 1);
        }
        // Most strings nobody asked for are plain and end in their chunk.
        let end = at + 1 + plain_len(bytes.get(at + 1..).unwrap_or_default());
        if bytes.get(end) == Some(&b'"') {
            self.value_ends(end + 1);
            return Ok(end + 1);
        }
        self.string(bytes, end)
    }

    #[inline]
    fn value_begins(&mut self, kind: Kind) -> Option<EntryId> {
        if self.nest.depth() == 0 {
            self.root = Some(kind);
        }
        self.entry.take()
    }

    /// A value has ended before this index.
    #[inline]
    fn value_ends(&mut self, end: usize) {
        if self.finds.is_open() {
            self.finds.complete(self.offset(end));
        }
        if self.nest.depth() == 0 {
            self.last = Some(self.offset(end).saturating_sub(1));
            self.state = State::After;
        } else {
            self.state = State::Next;
        }
    }

    fn open(&mut self, bracket: Bracket, at: usize) -> Step {
        let (kind, state) = match bracket {
            Bracket::Object => (Kind::Object, State::FirstKey),
            Bracket::Array => (Kind::Array, State::FirstElement),
        };
        let entry = self.value_begins(kind);
        if !self.nest.open(bracket) {
            return Err(self.fail(ScanErrorKind::TooDeep { limit: self.nest.max() }, at));
        }
        self.state = state;
        if let Some(id) = entry
            && let Some(entry) = self.watch.entry(id)
        {
            if bracket == Bracket::Object && entry.node.is_some() {
                self.node = entry.node;
                self.node_depth = self.nest.depth();
            }
            self.finds.container(id, kind, self.offset(at));
        }
        Ok(at + 1)
    }

    fn close(&mut self, at: usize) -> usize {
        if let Some(node) = self.node
            && self.nest.depth() == self.node_depth
        {
            self.node = self.watch.parent(node);
            self.node_depth = self.node_depth.saturating_sub(1);
        }
        self.nest.close();
        self.value_ends(at + 1);
        at + 1
    }

    /// In a string value, after its opening quote.
    fn string(&mut self, bytes: &[u8], at: usize) -> Step {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = match self.finds.open_raw() {
            Some(false) => self.inside.advance(rest, &mut self.finds),
            _ => self.inside.advance(rest, &mut Skip),
        };
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let stop = end.map_or(bytes.len(), |taken| at + taken);
        self.keep_raw(bytes, at, stop);
        match end {
            Some(_) => self.value_ends(stop),
            None => self.finds.reach(self.offset(stop)),
        }
        Ok(stop)
    }

    /// A key's opening quote.
    #[inline]
    fn key_begins(&mut self, bytes: &[u8], at: usize) -> Step {
        self.inside = Inside::Plain;
        let after = bytes.get(at + 1..).unwrap_or_default();
        let plain = plain_len(after);
        let end = at + 1 + plain;
        let whole = bytes.get(end) == Some(&b'"');
        match self.node.filter(|_| self.nest.depth() == self.node_depth) {
            None if whole => self.state = State::Colon,
            None => {
                self.state = State::InDullKey;
                return Ok(end);
            }
            Some(node) if whole => {
                let found = self.watch.look_up(node, after.get(..plain).unwrap_or_default());
                self.key_found(found, self.offset(at))?;
            }
            Some(_) => {
                self.key.text.clear();
                self.key.start = self.offset(at);
                self.state = State::InKey;
                return Ok(at + 1);
            }
        }
        Ok(end + 1)
    }

    fn dull_key(&mut self, bytes: &[u8], at: usize) -> Step {
        let end = self.inside.advance(bytes.get(at..).unwrap_or_default(), &mut Skip);
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let Some(taken) = end else { return Ok(bytes.len()) };
        self.state = State::Colon;
        Ok(at + taken)
    }

    fn key(&mut self, bytes: &[u8], at: usize) -> Step {
        let end = self.inside.advance(bytes.get(at..).unwrap_or_default(), &mut self.key);
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let Some(taken) = end else { return Ok(bytes.len()) };
        let found = self.node.map_or(Match::Nothing, |node| self.watch.look_up(node, &self.key.text));
        self.key_found(found, self.key.start)?;
        Ok(at + taken)
    }

    fn key_found(&mut self, found: Match, start: u64) -> Result<(), Broken> {
        self.state = State::Colon;
        let (id, kind): (_, fn(Box<str>) -> ScanErrorKind) = match found {
            Match::Nothing => return Ok(()),
            Match::Exact(id) if self.finds.first_key(id) => {
                self.entry = Some(id);
                return Ok(());
            }
            Match::Exact(id) => (id, ScanErrorKind::DuplicateKey),
            Match::Folded(id) => (id, ScanErrorKind::FoldedKey),
        };
        let path = self.watch.entry(id).map(|entry| entry.path.clone()).unwrap_or_default();
        self.error = Some(ScanError { kind: kind(path), at: start });
        Err(Broken)
    }

    fn number(&mut self, mut number: Number, bytes: &[u8], at: usize) -> Step {
        let end = at + number.advance(bytes.get(at..).unwrap_or_default());
        self.keep_raw(bytes, at, end);
        if end == bytes.len() {
            self.state = State::InNumber(number);
            self.finds.reach(self.offset(end));
            return Ok(end);
        }
        if !number.complete() {
            return Err(self.fail(ScanErrorKind::Syntax("a digit"), end));
        }
        self.value_ends(end);
        Ok(end)
    }

    fn literal(&mut self, left: &'static [u8], bytes: &[u8], at: usize) -> Step {
        let rest = bytes.get(at..).unwrap_or_default();
        let same = left.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count();
        let end = at + same;
        self.keep_raw(bytes, at, end);
        let left = left.get(same..).unwrap_or_default();
        if left.is_empty() {
            self.value_ends(end);
        } else if same < rest.len() {
            return Err(self.fail(ScanErrorKind::Syntax("true, false or null"), end));
        } else {
            self.state = State::InLiteral(left);
            self.finds.reach(self.offset(end));
        }
        Ok(end)
    }

    /// Keeps these bytes if the open token is kept as it is on the wire.
    fn keep_raw(&mut self, bytes: &[u8], from: usize, to: usize) {
        if self.finds.open_raw() == Some(true) {
            self.finds.keep(bytes.get(from..to).unwrap_or_default());
        }
    }

    #[inline]
    fn offset(&self, index: usize) -> u64 {
        self.base.saturating_add(index as u64)
    }

    #[cold]
    fn fail(&mut self, kind: ScanErrorKind, at: usize) -> Broken {
        self.error = Some(ScanError { kind, at: self.offset(at) });
        Broken
    }

    #[cold]
    fn unexpected(&mut self, at: usize) -> Broken {
        let wanted = match (self.state, self.nest.top()) {
            (State::Value, _) => "a value",
            (State::FirstElement, _) => "a value or a closing bracket",
            (State::Key, _) => "a key in quotes",
            (State::FirstKey, _) => "a key in quotes or a closing brace",
            (State::Colon, _) => "a colon",
            (_, Some(Bracket::Array)) => "a comma or a closing bracket",
            _ => "a comma or a closing brace",
        };
        self.fail(ScanErrorKind::Syntax(wanted), at)
    }
}

fn string_fault(fault: string::Fault) -> ScanErrorKind {
    match fault {
        string::Fault::Control => ScanErrorKind::Syntax("control characters in strings to be escaped"),
        string::Fault::Escape => ScanErrorKind::Syntax("one of \" \\ / b f n r t u after a backslash"),
        string::Fault::Hex => ScanErrorKind::Syntax("four hexadecimal digits after \\u"),
        string::Fault::LoneSurrogate => ScanErrorKind::LoneSurrogate,
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

/// Keeps one byte more than could match, so that a key too long is none.
impl Sink for Key {
    fn plain(&mut self, text: &[u8]) {
        let room = (self.longest + 1).saturating_sub(self.text.len());
        self.text.extend_from_slice(text.get(..text.len().min(room)).unwrap_or_default());
    }

    fn escaped(&mut self, character: char) {
        self.plain(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
}
