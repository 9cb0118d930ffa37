//! The tokens inside the machine: keys, strings, numbers and literals, each of which may be cut off and go on.

use super::super::error::{ScanError, ScanErrorKind};
use super::super::found::Kind;
use super::super::nest::Bracket;
use super::super::number::Number;
use super::super::string::{Fault, Inside, Skip, plain_len};
use super::super::watch::Match;
use super::{Broken, Machine, State, Step};

impl Machine {
    /// A value begins with this byte.
    #[inline]
    pub(super) fn value(&mut self, byte: u8, bytes: &[u8], at: usize) -> Step {
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
            return Ok(self.value_ends(bytes, end + 1));
        }
        self.string(bytes, end)
    }

    /// In a string value, after its opening quote.
    pub(super) fn string(&mut self, bytes: &[u8], at: usize) -> Step {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = match self.finds.open_raw() {
            Some(false) => self.inside.advance(rest, &mut self.finds),
            _ => self.inside.advance(rest, &mut Skip),
        };
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let stop = end.map_or(bytes.len(), |taken| at + taken);
        self.keep_raw(bytes, at, stop);
        if end.is_some() {
            return Ok(self.value_ends(bytes, stop));
        }
        self.finds.reach(self.offset(stop));
        Ok(stop)
    }

    pub(super) fn number(&mut self, mut number: Number, bytes: &[u8], at: usize) -> Step {
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
        Ok(self.value_ends(bytes, end))
    }

    pub(super) fn literal(&mut self, left: &'static [u8], bytes: &[u8], at: usize) -> Step {
        let rest = bytes.get(at..).unwrap_or_default();
        let same = left.iter().zip(rest).take_while(|(wanted, byte)| wanted == byte).count();
        let end = at + same;
        self.keep_raw(bytes, at, end);
        let left = left.get(same..).unwrap_or_default();
        if left.is_empty() {
            return Ok(self.value_ends(bytes, end));
        }
        if same < rest.len() {
            return Err(self.fail(ScanErrorKind::Syntax("true, false or null"), end));
        }
        self.state = State::InLiteral(left);
        self.finds.reach(self.offset(end));
        Ok(end)
    }

    /// Keeps these bytes if the open token is kept as it is on the wire.
    fn keep_raw(&mut self, bytes: &[u8], from: usize, to: usize) {
        if self.finds.open_raw() == Some(true) {
            self.finds.keep(bytes.get(from..to).unwrap_or_default());
        }
    }

    /// A key's opening quote.
    #[inline]
    pub(super) fn key_begins(&mut self, bytes: &[u8], at: usize) -> Step {
        self.inside = Inside::Plain;
        let after = bytes.get(at + 1..).unwrap_or_default();
        let plain = plain_len(after);
        let end = at + 1 + plain;
        let whole = bytes.get(end) == Some(&b'"');
        match self.node.filter(|_| self.nest.depth() == self.node_depth) {
            None if whole => {}
            None => {
                self.state = State::InDullKey;
                return Ok(end);
            }
            Some(node) if whole => {
                let found = self.watch.look_up(node, after.get(..plain).unwrap_or_default());
                self.key_found(found, self.offset(at))?;
            }
            Some(_) => {
                self.key.begin(self.offset(at));
                self.state = State::InKey;
                return Ok(at + 1);
            }
        }
        // A colon follows most keys at once.
        let colon = bytes.get(end + 1) == Some(&b':');
        self.state = if colon { State::Value } else { State::Colon };
        Ok(end + 1 + usize::from(colon))
    }

    pub(super) fn dull_key(&mut self, bytes: &[u8], at: usize) -> Step {
        let end = self.inside.advance(bytes.get(at..).unwrap_or_default(), &mut Skip);
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let Some(taken) = end else { return Ok(bytes.len()) };
        self.state = State::Colon;
        Ok(at + taken)
    }

    pub(super) fn key(&mut self, bytes: &[u8], at: usize) -> Step {
        let end = self.inside.advance(bytes.get(at..).unwrap_or_default(), &mut self.key);
        let end = end.map_err(|(fault, index)| self.fail(string_fault(fault), at + index))?;
        let Some(taken) = end else { return Ok(bytes.len()) };
        let found = self.node.map_or(Match::Nothing, |node| self.watch.look_up(node, self.key.text()));
        self.key_found(found, self.key.start())?;
        self.state = State::Colon;
        Ok(at + taken)
    }

    fn key_found(&mut self, found: Match, start: u64) -> Result<(), Broken> {
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
}

fn string_fault(fault: Fault) -> ScanErrorKind {
    match fault {
        Fault::Control => ScanErrorKind::Syntax("an escape instead of a control character"),
        Fault::Escape => ScanErrorKind::Syntax("one of \" \\ / b f n r t u after a backslash"),
        Fault::Hex => ScanErrorKind::Syntax("four hexadecimal digits after \\u"),
        Fault::LoneSurrogate => ScanErrorKind::LoneSurrogate,
    }
}
