//! The grammar of numbers (RFC 8259 section 6), a byte at a time. Never computes a value: the spelling is the value.

/// What has been read of a number so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Number {
    Minus,
    Zero,
    Int,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Number {
    /// The state after a number's first byte, if that is one.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        match byte {
            b'-' => Some(Self::Minus),
            b'0' => Some(Self::Zero),
            b'1'..=b'9' => Some(Self::Int),
            _ => None,
        }
    }

    /// Takes what belongs to the number off the front of `bytes`; how many bytes that were.
    #[inline]
    pub(super) fn advance(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        loop {
            let rest = bytes.get(taken..).unwrap_or_default();
            if self.complete() && *self != Self::Zero {
                taken += rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            }
            let Some(next) = bytes.get(taken).and_then(|byte| self.next(*byte)) else {
                return taken;
            };
            *self = next;
            taken += 1;
        }
    }

    /// Whether a number may end here.
    #[inline]
    pub(super) fn complete(self) -> bool {
        matches!(self, Self::Zero | Self::Int | Self::Fraction | Self::ExponentDigits)
    }

    #[inline]
    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Int, b'0'..=b'9') | (Self::Minus, b'1'..=b'9') => Self::Int,
            (Self::Fraction | Self::Point, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Int, b'.') => Self::Point,
            (Self::Minus, b'0') => Self::Zero,
            (Self::Zero | Self::Int | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigits, b'0'..=b'9') => Self::ExponentDigits,
            _ => return None,
        })
    }
}
