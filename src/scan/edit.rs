//! Writing JSON strings over JSON strings. Knows the minimal escaping of RFC 8259 section 7; never changes a length
//! that it was not asked to change.

/// The new token does not fit over the old one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a JSON string of {needed} bytes does not fit over one of {room}")]
pub struct TooLong {
    /// Bytes of the new token, quotes included.
    pub needed: usize,
    /// Bytes of the old one.
    pub room: usize,
}

/// Writes the JSON string token for `value` over `token` and fills what is left of it with spaces, which JSON allows
/// after any value. `token` is unchanged if the value does not fit.
pub fn overwrite_string(token: &mut [u8], value: &str) -> Result<(), TooLong> {
    let (needed, room) = (token_len(value), token.len());
    if needed > room {
        return Err(TooLong { needed, room });
    }
    let mut free = token.iter_mut();
    write_string(value, |byte| {
        if let Some(place) = free.next() {
            *place = byte;
        }
    });
    for place in free {
        *place = b' ';
    }
    Ok(())
}

/// Appends the JSON string token for `value` to `out`: for where a longer value must take the old one's place.
pub fn push_string(out: &mut Vec<u8>, value: &str) {
    write_string(value, |byte| out.push(byte));
}

/// The length in bytes of the JSON string token for `value`, quotes included.
pub fn token_len(value: &str) -> usize {
    let mut len = 0;
    write_string(value, |_| len += 1);
    len
}

fn write_string(value: &str, mut put: impl FnMut(u8)) {
    put(b'"');
    for byte in value.bytes() {
        match byte {
            b'"' | b'\\' => [b'\\', byte].into_iter().for_each(&mut put),
            0x08 => b"\\b".iter().copied().for_each(&mut put),
            b'\t' => b"\\t".iter().copied().for_each(&mut put),
            b'\n' => b"\\n".iter().copied().for_each(&mut put),
            0x0c => b"\\f".iter().copied().for_each(&mut put),
            b'\r' => b"\\r".iter().copied().for_each(&mut put),
            0..0x20 => {
                b"\\u00".iter().copied().for_each(&mut put);
                put(b'0' + (byte >> 4));
                put(hex_digit(byte & 0xf));
            }
            _ => put(byte),
        }
    }
    put(b'"');
}

fn hex_digit(nibble: u8) -> u8 {
    if nibble < 10 { b'0' + nibble } else { b'a' + (nibble - 10) }
}

#[cfg(test)]
mod tests {
    use super::{TooLong, overwrite_string, push_string, token_len};

    #[test]
    fn overwrites_and_pads() {
        let cases: [(&str, &str, &str); 7] = [
            (r#""alpha__echo""#, "echo", r#""echo""#),
            (r#""abcd""#, "abcd", r#""abcd""#),
            (r#""abcd""#, "", r#""""#),
            (r#""\u0061\u0062""#, "a\"\\", r#""a\"\\""#),
            (r#""________""#, "\u{1f}\n", r#""\u001f\n""#),
            (r#""________""#, "é😀", "\"é😀\""),
            (r#""____________""#, "\u{8}\t\u{c}\r\u{7f}", "\"\\b\\t\\f\\r\u{7f}\""),
        ];
        for (old, value, new) in cases {
            let mut token = old.as_bytes().to_vec();
            assert_eq!(overwrite_string(&mut token, value), Ok(()));
            let expected = format!("{}{}", new.trim_end(), " ".repeat(old.len() - new.trim_end().len()));
            assert_eq!(String::from_utf8(token), Ok(expected));
        }
    }

    #[test]
    fn leaves_the_token_alone_where_the_value_does_not_fit() {
        let mut token = *br#""abcd""#;
        assert_eq!(overwrite_string(&mut token, "abcde"), Err(TooLong { needed: 7, room: 6 }));
        assert_eq!(overwrite_string(&mut token, "abc\n"), Err(TooLong { needed: 7, room: 6 }));
        assert_eq!(&token, br#""abcd""#);
        assert_eq!(overwrite_string(&mut [], ""), Err(TooLong { needed: 2, room: 0 }));
    }

    #[test]
    fn every_control_character_is_escaped_as_a_parser_reads_it() {
        for value in (0..=0x80_u8).map(|byte| char::from(byte).to_string()) {
            let mut out = Vec::new();
            push_string(&mut out, &value);
            assert_eq!(out.len(), token_len(&value));
            assert_eq!(serde_json::from_slice::<String>(&out).ok(), Some(value));
        }
    }
}
