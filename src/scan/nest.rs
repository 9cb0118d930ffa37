//! Which brackets are open: one bit each, so that memory does not depend on the body.

/// The most levels that can be counted.
pub(super) const DEEPEST: u8 = 128;

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
    max: u8,
}

impl Nest {
    pub(super) fn new(max: u8) -> Self {
        Self { objects: 0, depth: 0, max: max.min(DEEPEST) }
    }

    pub(super) fn depth(&self) -> u8 {
        self.depth
    }

    pub(super) fn max(&self) -> u8 {
        self.max
    }

    pub(super) fn top(&self) -> Option<Bracket> {
        match (self.depth, self.objects & 1) {
            (0, _) => None,
            (_, 1) => Some(Bracket::Object),
            _ => Some(Bracket::Array),
        }
    }

    /// False if that would be one level too many; nothing has changed then.
    pub(super) fn open(&mut self, bracket: Bracket) -> bool {
        if self.depth >= self.max {
            return false;
        }
        self.depth += 1;
        self.objects = self.objects << 1 | u128::from(bracket == Bracket::Object);
        true
    }

    pub(super) fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.objects >>= 1;
    }
}
