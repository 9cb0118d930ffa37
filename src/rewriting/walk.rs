//! The way through one JSON message, as bytes that may end anywhere: where its URIs begin, and how each must grow.
//!
//! Knows the grammar of JSON and follows the table. It never sees the output. It is lenient where some peers write what
//! others read: words and numbers are any run of letters, digits and signs (`NaN`), and the inside of a string that
//! nobody looks at may be any bytes, as long as its escapes are escapes. Anything else that is no JSON stops it.

use super::GaveUp;
use super::nest::{Bracket, Nest};
use super::table::{self, Place};
use super::text::{Inside, Unit};

const UI: &[u8] = b"ui://";

/// What the bytes have come to in a URI.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Uri {
    /// Its opening quote. It is not known yet how it must grow.
    Begins,
    /// The first byte by which it does not begin with `ui://`.
    IsOrdinary,
    /// The last byte of `ui://` at its beginning.
    IsUi,
}

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
    /// In a number or a word.
    Word,
    InString(Reading),
    /// After the root value.
    After,
    /// It was no JSON, or not within the bounds.
    Stopped,
}

/// What a string is read for.
#[derive(Clone, Copy, Debug)]
enum Reading {
    DullKey,
    Dull,
    Key,
    MethodName,
    /// A URI that has begun with so many bytes of `ui://`.
    Uri(usize),
}

#[derive(Debug)]
pub(super) struct Walk {
    root: &'static Place,
    result: &'static Place,
    params: &'static Place,
    state: State,
    nest: Nest,
    /// What the value to come is, if it is in the table.
    next: Option<&'static Place>,
    inside: Inside,
    /// The key or method that is being read, unescaped; one byte more than any in the table.
    name: Vec<u8>,
    gave_up: Option<GaveUp>,
}

impl Walk {
    /// A walk through messages like `root`, results like `result`.
    pub(super) fn new(root: &'static Place, result: &'static Place) -> Self {
        Self {
            root,
            result,
            params: &table::ANY_PARAMS,
            state: State::Value,
            nest: Nest::new(),
            next: Some(root),
            inside: Inside::Plain,
            name: Vec::with_capacity(table::LONGEST_NAME + 1),
            gave_up: None,
        }
    }

    /// Reads up to where something is known of a URI: how many bytes that took. All of them if there is no such place.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> (usize, Option<Uri>) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let (taken, uri) = match self.state {
                State::InString(reading) => self.string(reading, rest),
                State::Word => (self.word(rest), None),
                State::Stopped => (rest.len(), None),
                _ => self.between(rest),
            };
            at += taken;
            if uri.is_some() {
                return (at, uri);
            }
        }
        (at, None)
    }

    /// Whether the rest of the message is not read.
    pub(super) fn has_stopped(&self) -> bool {
        matches!(self.state, State::Stopped)
    }

    /// The message has ended: what was wrong with it, if anything. What comes is the next one.
    ///
    /// Nothing but white space is no message, and nothing is wrong with it.
    pub(super) fn end(&mut self) -> Option<GaveUp> {
        let at_root = self.nest.top().is_none();
        let whole = matches!(self.state, State::After) || at_root && matches!(self.state, State::Value | State::Word);
        let gave_up = self.gave_up.take().or_else(|| (!whole).then_some(GaveUp::Truncated));
        self.state = State::Value;
        self.inside = Inside::Plain;
        self.nest.clear();
        self.next = Some(self.root);
        self.params = &table::ANY_PARAMS;
        gave_up
    }

    /// Between tokens.
    fn between(&mut self, bytes: &[u8]) -> (usize, Option<Uri>) {
        let spaces = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
        let Some(&byte) = bytes.get(spaces) else { return (spaces, None) };
        let mut uri = None;
        match (self.state, byte) {
            (State::Next, b',') => self.comma(),
            (State::Colon, b':') => self.state = State::Value,
            (State::FirstKey | State::Key, b'"') => self.key_begins(),
            (State::FirstKey, b'}') | (State::FirstElement, b']') => self.close(),
            (State::Next, b'}') if self.nest.top() == Some(Bracket::Object) => self.close(),
            (State::Next, b']') if self.nest.top() == Some(Bracket::Array) => self.close(),
            (State::Value | State::FirstElement, _) => uri = self.value_begins(byte),
            _ => self.stop(GaveUp::NotJson),
        }
        (spaces + 1, uri)
    }

    fn value_begins(&mut self, byte: u8) -> Option<Uri> {
        let place = self.next.take();
        match byte {
            b'"' => return self.string_begins(place),
            b'{' => self.open(Bracket::Object, place),
            b'[' => self.open(Bracket::Array, place),
            _ if is_word(byte) => self.state = State::Word,
            _ => self.stop(GaveUp::NotJson),
        }
        None
    }

    fn string_begins(&mut self, place: Option<&'static Place>) -> Option<Uri> {
        let (reading, uri) = match place {
            Some(Place::Uri) => (Reading::Uri(0), Some(Uri::Begins)),
            Some(Place::MethodName) => (Reading::MethodName, None),
            _ => (Reading::Dull, None),
        };
        self.name.clear();
        self.state = State::InString(reading);
        uri
    }

    fn key_begins(&mut self) {
        let reading = if self.nest.place().is_some() { Reading::Key } else { Reading::DullKey };
        self.name.clear();
        self.state = State::InString(reading);
    }

    fn word(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.iter().take_while(|byte| is_word(**byte)).count();
        if taken < bytes.len() {
            self.value_ends();
        }
        taken
    }

    fn string(&mut self, reading: Reading, bytes: &[u8]) -> (usize, Option<Uri>) {
        if let Reading::Dull | Reading::DullKey = reading {
            return (self.dull_string(reading, bytes), None);
        }
        let Some(&byte) = bytes.first() else { return (0, None) };
        let uri = match self.inside.step(byte) {
            // A line end in there, of all things, may be one of the framing.
            Ok(_) if byte < b' ' => self.not_a_string(),
            Ok(Unit::Half) => None,
            Ok(unit) => self.unit(reading, unit),
            Err(_) => self.not_a_string(),
        };
        (1, uri)
    }

    fn dull_string(&mut self, reading: Reading, bytes: &[u8]) -> usize {
        match self.inside.skip(bytes) {
            Ok((taken, false)) => taken,
            Ok((taken, true)) => {
                self.string_ends(reading);
                taken
            }
            Err(_) => {
                self.not_a_string();
                bytes.len()
            }
        }
    }

    fn not_a_string(&mut self) -> Option<Uri> {
        self.stop(GaveUp::NotJson);
        None
    }

    /// The next character of a string that is read for something, or its end.
    fn unit(&mut self, reading: Reading, unit: Unit) -> Option<Uri> {
        let Reading::Uri(begun) = reading else {
            match unit {
                Unit::End => self.string_ends(reading),
                Unit::Byte(byte) => self.keep(byte),
                // A byte that no name has.
                _ => self.keep(u8::MAX),
            }
            return None;
        };
        let wanted = UI.get(begun).copied();
        if let Unit::Byte(byte) = unit
            && wanted == Some(byte)
        {
            let begun = begun + 1;
            let whole = begun == UI.len();
            self.state = State::InString(if whole { Reading::Dull } else { Reading::Uri(begun) });
            return whole.then_some(Uri::IsUi);
        }
        self.state = State::InString(Reading::Dull);
        if unit == Unit::End {
            self.value_ends();
        }
        Some(Uri::IsOrdinary)
    }

    fn keep(&mut self, byte: u8) {
        if self.name.len() <= table::LONGEST_NAME {
            self.name.push(byte);
        }
    }

    fn string_ends(&mut self, reading: Reading) {
        match reading {
            Reading::DullKey => self.state = State::Colon,
            Reading::Key => {
                self.next =
                    self.nest.place().and_then(|place| place.member(&self.name)).map(|place| self.resolved(place));
                self.state = State::Colon;
            }
            Reading::MethodName => {
                self.params = table::params_of(&self.name);
                self.value_ends();
            }
            Reading::Dull | Reading::Uri(_) => self.value_ends(),
        }
    }

    /// What a place of this message is that depends on the message.
    fn resolved(&self, place: &'static Place) -> &'static Place {
        match place {
            Place::Result => self.result,
            Place::Params => self.params,
            _ => place,
        }
    }

    fn open(&mut self, bracket: Bracket, place: Option<&'static Place>) {
        if !self.nest.open(bracket, place) {
            return self.stop(GaveUp::TooDeep);
        }
        self.state = match bracket {
            Bracket::Object => State::FirstKey,
            Bracket::Array => State::FirstElement,
        };
        self.next = self.element();
    }

    fn comma(&mut self) {
        self.state = if self.nest.top() == Some(Bracket::Object) { State::Key } else { State::Value };
        self.next = self.element();
    }

    /// What the elements of the innermost array are.
    fn element(&self) -> Option<&'static Place> {
        self.nest.place().and_then(Place::element)
    }

    fn close(&mut self) {
        self.nest.close();
        self.value_ends();
    }

    fn value_ends(&mut self) {
        self.state = if self.nest.top().is_none() { State::After } else { State::Next };
    }

    fn stop(&mut self, gave_up: GaveUp) {
        self.state = State::Stopped;
        self.gave_up = Some(gave_up);
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}
