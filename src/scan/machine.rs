//! The grammar of JSON (RFC 8259 sections 2 to 5) as a state machine over bytes that may end anywhere.
//! Gets whole UTF-8 characters. Knows where in the watched tree it is; must never recurse.

mod tokens;

use std::sync::Arc;

use super::error::{ScanError, ScanErrorKind};
use super::found::{Finds, Kind};
use super::key::Key;
use super::nest::{Bracket, Nest};
use super::number::Number;
use super::scanner::Limits;
use super::string::Inside;
use super::watch::{EntryId, NodeId, ROOT, Watch};

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
            key: Key::new(watch.longest_key()),
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
            self.value_ends(&[], 0);
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
            (State::Next, b',') => Ok(self.comma(at)),
            (State::Colon, b':') => {
                self.state = State::Value;
                Ok(at + 1)
            }
            (State::FirstKey | State::Key, b'"') => self.key_begins(bytes, at),
            (State::FirstKey, b'}') | (State::FirstElement, b']') => Ok(self.close(bytes, at)),
            (State::Next, b'}') if self.nest.top() == Some(Bracket::Object) => Ok(self.close(bytes, at)),
            (State::Next, b']') if self.nest.top() == Some(Bracket::Array) => Ok(self.close(bytes, at)),
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

    #[inline]
    fn value_begins(&mut self, kind: Kind) -> Option<EntryId> {
        if self.nest.depth() == 0 {
            self.root = Some(kind);
        }
        self.entry.take()
    }

    /// A value has ended before this index. Takes the comma as well that mostly follows; the index after that.
    #[inline]
    fn value_ends(&mut self, bytes: &[u8], end: usize) -> usize {
        if self.finds.is_open() {
            self.finds.complete(self.offset(end));
        }
        if self.nest.depth() == 0 {
            self.last = Some(self.offset(end).saturating_sub(1));
            self.state = State::After;
            return end;
        }
        if bytes.get(end) != Some(&b',') {
            self.state = State::Next;
            return end;
        }
        self.comma(end)
    }

    #[inline]
    fn comma(&mut self, at: usize) -> usize {
        self.state = if self.nest.top() == Some(Bracket::Object) { State::Key } else { State::Value };
        at + 1
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

    fn close(&mut self, bytes: &[u8], at: usize) -> usize {
        if let Some(node) = self.node
            && self.nest.depth() == self.node_depth
        {
            self.node = self.watch.parent(node);
            self.node_depth = self.node_depth.saturating_sub(1);
        }
        self.nest.close();
        self.value_ends(bytes, at + 1)
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
