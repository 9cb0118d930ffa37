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
        let mut state = *self;
        let mut taken = 0;
        while let Some(byte) = bytes.get(taken) {
            let next = if byte.is_ascii_digit() { state.digit(*byte) } else { state.sign(*byte) };
            let Some(next) = next else { break };
            state = next;
            taken += 1;
        }
        *self = state;
        taken
    }

    /// Whether a number may end here.
    #[inline]
    pub(super) fn complete(self) -> bool {
        matches!(self, Self::Zero | Self::Int | Self::Fraction | Self::ExponentDigits)
    }

    #[inline]
    fn digit(self, digit: u8) -> Option<Self> {
        Some(match self {
            Self::Int | Self::Fraction | Self::ExponentDigits => self,
            Self::Minus if digit == b'0' => Self::Zero,
            Self::Minus => Self::Int,
            Self::Point => Self::Fraction,
            Self::Exponent | Self::ExponentSign => Self::ExponentDigits,
            // Nothing may follow a leading zero but a point or an exponent.
            Self::Zero => return None,
        })
    }

    #[inline]
    fn sign(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Zero | Self::Int, b'.') => Some(Self::Point),
            (Self::Zero | Self::Int | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            _ => None,
        }
    }
}
