//! Which brackets are open, one bit each, and which places of the table the outermost of them are.

use super::table::{self, Place};

/// How many brackets may be open; past that a message is passed on unread.
const MOST: u8 = 128;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Bracket {
    Object,
    Array,
}

#[derive(Debug)]
pub(super) struct Nest {
    /// The innermost bracket is the lowest bit; 1 is an object.
    objects: u128,
    depth: u8,
    /// The places of the outermost brackets: they stand in one another without gaps.
    places: Vec<&'static Place>,
}

impl Nest {
    pub(super) fn new() -> Self {
        Self { objects: 0, depth: 0, places: Vec::with_capacity(table::DEEPEST) }
    }

    pub(super) fn clear(&mut self) {
        self.objects = 0;
        self.depth = 0;
        self.places.clear();
    }

    pub(super) fn top(&self) -> Option<Bracket> {
        match (self.depth, self.objects & 1) {
            (0, _) => None,
            (_, 1) => Some(Bracket::Object),
            _ => Some(Bracket::Array),
        }
    }

    /// The place of the innermost bracket, if the table has one for it.
    pub(super) fn place(&self) -> Option<&'static Place> {
        let innermost = self.places.len() == usize::from(self.depth);
        self.places.last().copied().filter(|_| innermost)
    }

    /// A bracket opens where `place` is expected. False if that is one too many; nothing has changed then.
    pub(super) fn open(&mut self, bracket: Bracket, place: Option<&'static Place>) -> bool {
        if self.depth >= MOST {
            return false;
        }
        let place = match bracket {
            Bracket::Object => place.and_then(Place::as_object),
            Bracket::Array => place.and_then(Place::as_array),
        };
        self.places.extend(place);
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(bracket == Bracket::Object);
        true
    }

    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
        self.places.truncate(usize::from(self.depth));
    }
}
