//! The inside of strings (RFC 8259 section 7): escapes, surrogate pairs, no raw control characters.
//! UTF-8 has been checked before. Knows nothing of where the string stands.

/// Where the characters go.
pub(super) trait Sink {
    /// Whole characters that stand for themselves.
    fn plain(&mut self, text: &[u8]);
    fn escaped(&mut self, character: char);
}

/// For strings that nobody reads.
pub(super) struct Skip;

impl Sink for Skip {
    fn plain(&mut self, _: &[u8]) {}
    fn escaped(&mut self, _: char) {}
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    Control,
    Escape,
    Hex,
    LoneSurrogate,
}

/// Where in a string the scanner is; begins after the opening quote.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Inside {
    #[default]
    Plain,
    Backslash,
    Hex {
        left: u8,
        unit: u16,
        high: Option<u16>,
    },
    /// After a high surrogate: the backslash of the low one.
    LowBackslash {
        high: u16,
    },
    LowU {
        high: u16,
    },
}

impl Inside {
    /// Reads on. How many bytes the string took if it ends in `bytes`, closing quote included; `None` if it takes them
    /// all. A fault comes with the index of its byte.
    pub(super) fn advance(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<Option<usize>, (Fault, usize)> {
        let mut at = 0;
        loop {
            if *self == Self::Plain {
                let rest = bytes.get(at..).unwrap_or_default();
                let plain = plain_len(rest);
                sink.plain(rest.get(..plain).unwrap_or_default());
                at += plain;
                match rest.get(plain..) {
                    Some([b'"', ..]) => return Ok(Some(at + 1)),
                    // The common escapes at one go.
                    Some([b'\\', byte, ..]) if *byte != b'u' => {
                        sink.escaped(short_escape(*byte).ok_or((Fault::Escape, at + 1))?);
                        at += 2;
                        continue;
                    }
                    _ => {}
                }
            }
            let Some(&byte) = bytes.get(at) else { return Ok(None) };
            *self = self.escape(byte, sink).map_err(|fault| (fault, at))?;
            at += 1;
        }
    }

    /// One byte that does not stand for itself.
    fn escape(self, byte: u8, sink: &mut impl Sink) -> Result<Self, Fault> {
        match self {
            Self::Plain if byte == b'\\' => Ok(Self::Backslash),
            Self::Plain => Err(Fault::Control),
            Self::Backslash if byte == b'u' => Ok(Self::Hex { left: 4, unit: 0, high: None }),
            Self::Backslash => {
                sink.escaped(short_escape(byte).ok_or(Fault::Escape)?);
                Ok(Self::Plain)
            }
            Self::LowBackslash { high } if byte == b'\\' => Ok(Self::LowU { high }),
            Self::LowU { high } if byte == b'u' => Ok(Self::Hex { left: 4, unit: 0, high: Some(high) }),
            Self::LowBackslash { .. } | Self::LowU { .. } => Err(Fault::LoneSurrogate),
            Self::Hex { left, unit, high } => {
                let unit = unit << 4 | hex_value(byte).ok_or(Fault::Hex)?;
                if left > 1 { Ok(Self::Hex { left: left - 1, unit, high }) } else { end_of_hex(unit, high, sink) }
            }
        }
    }
}

fn end_of_hex(unit: u16, high: Option<u16>, sink: &mut impl Sink) -> Result<Inside, Fault> {
    if high.is_none() && (0xd800..0xdc00).contains(&unit) {
        return Ok(Inside::LowBackslash { high: unit });
    }
    let character = match high {
        None => char::from_u32(u32::from(unit)),
        Some(high) => char::decode_utf16([high, unit]).next().and_then(Result::ok),
    };
    sink.escaped(character.ok_or(Fault::LoneSurrogate)?);
    Ok(Inside::Plain)
}

fn short_escape(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}

fn hex_value(byte: u8) -> Option<u16> {
    char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok())
}

/// How many bytes at the front are neither a quote nor a backslash nor a control character.
#[inline]
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    // Short strings are searched a word at a time.
    for _ in 0..SHORT_WORDS {
        let Some((word, after)) = rest.split_first_chunk::<8>() else {
            break;
        };
        let special = special_bits(u64::from_le_bytes(*word));
        if special != 0 {
            return bytes.len() - rest.len() + first(special);
        }
        rest = after;
    }
    bytes.len() - rest.len() + long_plain_len(rest)
}

const SHORT_WORDS: usize = 4;
/// Longer strings are searched by blocks of so many bytes, in a form that compilers turn into vector instructions.
const BLOCK: usize = 64;

fn long_plain_len(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<BLOCK>();
    let clean = blocks.iter().position(|block| block.iter().fold(false, |any, byte| any | is_special(*byte)));
    let mut rest = bytes.get(clean.unwrap_or(blocks.len()) * BLOCK..).unwrap_or_default();
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let special = special_bits(u64::from_le_bytes(*word));
        if special != 0 {
            return bytes.len() - rest.len() + first(special);
        }
        rest = after;
    }
    let tail = rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len());
    bytes.len() - rest.len() + tail
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The index of the byte that the lowest bit belongs to.
fn first(bits: u64) -> usize {
    usize::try_from(bits.trailing_zeros() / 8).unwrap_or(0)
}

/// Marks special bytes of a little-endian word at their top bit. Only the lowest mark counts: a borrow may leave
/// false ones above it.
fn special_bits(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const TOPS: u64 = ONES << 7;
    let quote = word ^ (ONES * 0x22);
    let backslash = word ^ (ONES * 0x5c);
    let zeroes = (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash);
    let controls = word.wrapping_sub(ONES * 0x20) & !word;
    (zeroes | controls) & TOPS
}

#[cfg(test)]
mod tests {
    use super::plain_len;

    #[test]
    fn plain_bytes_are_counted_at_every_length_and_place() {
        for len in 0..200 {
            let plain = vec![0xf0; len];
            assert_eq!(plain_len(&plain), len);
            for at in 0..len {
                // 0x21 and 0x1f beside it: a borrow between bytes must not move the place.
                let mut bytes = vec![0x21; len];
                bytes[at] = [b'"', b'\\', 0x1f, 0][at % 4];
                assert_eq!(plain_len(&bytes), at, "{len}");
            }
        }
    }

    #[test]
    fn exactly_quotes_backslashes_and_controls_are_special() {
        for byte in 0..=u8::MAX {
            let special = byte < 0x20 || byte == b'"' || byte == b'\\';
            for len in [1, 8, 24, 120] {
                assert_eq!(plain_len(&vec![byte; len]), if special { 0 } else { len }, "{byte}");
            }
        }
    }
}
