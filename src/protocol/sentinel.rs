//! `=?base64?…?=`: how a header carries a value that is not plain visible ASCII.
//!
//! Knows "basic/transports/streamable-http", "Value Encoding" (and SEP-2243). Must never guess: what claims to be
//! encoded and is not strict standard Base64 of UTF-8 is refused, what lacks either marker is a literal.

use std::borrow::Cow;

use base64::prelude::{BASE64_STANDARD, Engine};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// A header's value that says nothing lawful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flaw}")]
pub struct BadSentinel {
    pub flaw: Flaw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    #[error(
        "between =?base64? and ?= stands no standard Base64 with padding; encode the UTF-8 bytes by RFC 4648, section 4"
    )]
    NotBase64,
    #[error("the Base64 between =?base64? and ?= is not of UTF-8 text; encode the text's UTF-8 bytes")]
    NotUtf8,
    #[error("the value has a byte that is not visible ASCII, space or tab; send such values as =?base64?…?=")]
    NotVisibleAscii,
}

impl From<Flaw> for BadSentinel {
    fn from(flaw: Flaw) -> Self {
        Self { flaw }
    }
}

/// What a header's bytes say: visible, without the white space around them (RFC 9110, 5.5), decoded.
pub fn header_text(value: &[u8]) -> Result<Cow<'_, str>, BadSentinel> {
    decode(visible_ascii(value)?.trim_matches([' ', '\t']))
}

/// The value as text, if each byte is visible ASCII (0x21 to 0x7E), space or tab.
pub fn visible_ascii(value: &[u8]) -> Result<&str, BadSentinel> {
    let visible = value.iter().all(|byte| matches!(byte, b' '..=b'~' | b'\t'));
    let text = if visible { std::str::from_utf8(value).ok() } else { None };
    text.ok_or(Flaw::NotVisibleAscii.into())
}

/// What a value says. Both markers count exactly as written, in lower case; without either it is a literal.
pub fn decode(value: &str) -> Result<Cow<'_, str>, BadSentinel> {
    let Some(inner) = value.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX)) else {
        return Ok(Cow::Borrowed(value));
    };
    let bytes = BASE64_STANDARD.decode(inner).map_err(|_| Flaw::NotBase64)?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| Flaw::NotUtf8.into())
}

/// The value as it must stand in a header; [`decode`] gives it back.
pub fn encode(value: &str) -> Cow<'_, str> {
    let visible = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let padded = value.starts_with(' ') || value.ends_with(' ');
    // The markers may share their `?`: who tests for both ends would take `=?base64?=` for a sentinel.
    let like_a_sentinel = value.starts_with(PREFIX) && value.ends_with(SUFFIX);
    if visible && !padded && !like_a_sentinel {
        return Cow::Borrowed(value);
    }
    Cow::Owned(format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_specifications_examples() {
        let cases = [
            ("us-west1", "us-west1"),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ];
        for (value, header) in cases {
            assert_eq!(encode(value), header);
            assert_eq!(decode(header).unwrap(), value);
        }
    }

    #[test]
    fn literals_stay() {
        for value in
            ["", "a b", "=?base64?SGVsbG8=", "SGVsbG8=?=", "=?BASE64?SGVsbG8=?=", "=?Base64?aA==?=", "?=", "=?base64?="]
        {
            assert_eq!(decode(value).unwrap(), Cow::Borrowed(value));
            assert!(matches!(decode(value), Ok(Cow::Borrowed(_))), "{value}");
        }
    }

    #[test]
    fn only_what_must_be_is_encoded() {
        for plain in ["", "a", "a b", "~!", "=?base64?x", "x?=", "42", "=?BASE64?x?="] {
            assert!(matches!(encode(plain), Cow::Borrowed(_)), "{plain:?}");
        }
        for other in [" a", "a ", "\ta", "a\t", "a\tb", "\u{7f}", "é", "\0", "=?base64??=", "=?base64?=", "a\r\nb"] {
            assert!(matches!(encode(other), Cow::Owned(_)), "{other:?}");
        }
    }

    #[test]
    fn strict_where_it_claims_to_be_encoded() {
        let cases = [
            ("=?base64?SGVsbG8?=", Flaw::NotBase64),
            ("=?base64?SGVsbG8==?=", Flaw::NotBase64),
            ("=?base64?SGVs bG8=?=", Flaw::NotBase64),
            ("=?base64? SGVsbG8=?=", Flaw::NotBase64),
            ("=?base64?SGVsbG9=?=", Flaw::NotBase64),
            ("=?base64?PT9iYXNlNjQ_?=", Flaw::NotBase64),
            ("=?base64?!?=", Flaw::NotBase64),
            ("=?base64?/w==?=", Flaw::NotUtf8),
            ("=?base64?7aCA?=", Flaw::NotUtf8),
        ];
        for (value, flaw) in cases {
            assert_eq!(decode(value), Err(BadSentinel { flaw }), "{value}");
        }
        assert_eq!(decode("=?base64??=").unwrap(), "");
    }

    #[test]
    fn bytes_that_no_header_may_carry() {
        for value in [&b"caf\xc3\xa9"[..], b"a\0", b"\x7f", b"a\nb", b"\r", b"\x80", b"\x1f"] {
            assert_eq!(visible_ascii(value), Err(Flaw::NotVisibleAscii.into()), "{value:?}");
            assert_eq!(header_text(value), Err(Flaw::NotVisibleAscii.into()), "{value:?}");
        }
        assert_eq!(visible_ascii(b"\ta ~").unwrap(), "\ta ~");
    }

    #[test]
    fn white_space_around_a_value_is_no_part_of_it() {
        assert_eq!(header_text(b" \tus-west1 ").unwrap(), "us-west1");
        assert_eq!(header_text(b" =?base64?IHBhZGRlZCA=?= ").unwrap(), " padded ");
        assert_eq!(header_text(b"\t").unwrap(), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn round_trip(value in "\\PC*|[ \t=?base64\u{7f}é\n]{0,20}|=\\?base64\\?.*\\?=") {
            let header = encode(&value).into_owned();
            prop_assert_eq!(header_text(header.as_bytes()).unwrap(), value);
        }

        #[test]
        fn one_spelling_each(value in "=\\?base64\\?[A-Za-z0-9+/=]{0,12}\\?=") {
            if let Ok(text) = decode(&value) {
                let again = format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(text.as_bytes()));
                prop_assert_eq!(again, value);
            }
        }
    }
}
