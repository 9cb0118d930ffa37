//! The inside of strings (RFC 8259 section 7), a byte at a time: what each escape stands for.

/// What a byte of a string has completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// A character of ASCII, or one byte of another that stands there unescaped.
    Byte(u8),
    /// An escaped character outside ASCII. Nothing that is looked for has any.
    Foreign,
    /// Nothing yet: an escape goes on.
    Half,
    /// The string has ended.
    End,
}

/// No escape of JSON.
#[derive(Debug)]
pub(super) struct BadEscape;

/// Where in a string the reading is; begins after the opening quote.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Inside {
    #[default]
    Plain,
    Backslash,
    Hex {
        left: u8,
        unit: u16,
    },
}

impl Inside {
    pub(super) fn step(&mut self, byte: u8) -> Result<Unit, BadEscape> {
        let (inside, unit) = match *self {
            Self::Plain => match byte {
                b'"' => (Self::Plain, Unit::End),
                b'\\' => (Self::Backslash, Unit::Half),
                _ => (Self::Plain, Unit::Byte(byte)),
            },
            Self::Backslash if byte == b'u' => (Self::Hex { left: 4, unit: 0 }, Unit::Half),
            Self::Backslash => (Self::Plain, Unit::Byte(short_escape(byte)?)),
            Self::Hex { left, unit } => {
                let unit = unit << 4 | hex_digit(byte)?;
                if left > 1 { (Self::Hex { left: left - 1, unit }, Unit::Half) } else { (Self::Plain, whole(unit)) }
            }
        };
        *self = inside;
        Ok(unit)
    }

    /// Reads on in a string whose text does not matter. How many bytes it took, and whether it has ended.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> Result<(usize, bool), BadEscape> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if *self == Self::Plain && !matches!(byte, b'"' | b'\\') {
                let rest = bytes.get(at..).unwrap_or_default();
                at += memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                continue;
            }
            at += 1;
            if self.step(byte)? == Unit::End {
                return Ok((at, true));
            }
        }
        Ok((at, false))
    }
}

fn short_escape(byte: u8) -> Result<u8, BadEscape> {
    Ok(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 0x8,
        b'f' => 0xc,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return Err(BadEscape),
    })
}

fn hex_digit(byte: u8) -> Result<u16, BadEscape> {
    let digit = char::from(byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
    digit.ok_or(BadEscape)
}

fn whole(unit: u16) -> Unit {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => Unit::Byte(byte),
        _ => Unit::Foreign,
    }
}
