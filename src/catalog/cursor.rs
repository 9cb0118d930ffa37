//! Where the next page of a merged list begins, written so that any replica can go on there.
//!
//! Holds no state and no secret: a forged cursor shows nothing that the caller could not list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::kind::Kind;

/// Longer than any cursor of ours: a key may have 16 KiB.
const MAX_TEXT: usize = 32 * 1024;
const FORM: u8 = 1;

/// The last item that was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor {
    pub kind: Kind,
    pub server: String,
    /// The server's place in the configuration then: where to go on if it is gone.
    pub position: u32,
    /// The item's key, as its server calls it.
    pub after: String,
}

/// A text that is no cursor of this kind of list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no cursor of this list")]
pub struct NotOurs;

impl Cursor {
    pub fn encode(&self) -> String {
        let mut bytes = vec![FORM, self.kind as u8];
        bytes.extend_from_slice(&self.position.to_be_bytes());
        // A server's name has at most 32 characters.
        bytes.push(u8::try_from(self.server.len()).unwrap_or(u8::MAX));
        bytes.extend_from_slice(self.server.as_bytes());
        bytes.extend_from_slice(self.after.as_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    pub fn decode(kind: Kind, text: &str) -> Result<Self, NotOurs> {
        if text.len() > MAX_TEXT {
            return Err(NotOurs);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| NotOurs)?;
        let rest = bytes.strip_prefix(&[FORM, kind as u8]).ok_or(NotOurs)?;
        let (position, rest) = rest.split_first_chunk().ok_or(NotOurs)?;
        let (length, rest) = rest.split_first().ok_or(NotOurs)?;
        let (server, after) = rest.split_at_checked((*length).into()).ok_or(NotOurs)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| NotOurs);
        Ok(Self { kind, server: text(server)?, position: u32::from_be_bytes(*position), after: text(after)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_is_read_as_it_was_written_and_by_its_kind_alone(
            kind in 0..4_usize, server in "[a-z][a-z0-9-]{0,31}", position: u32, after in ".{0,60}"
        ) {
            let cursor = Cursor { kind: Kind::ALL[kind], server, position, after };
            let text = cursor.encode();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
            for other in Kind::ALL {
                let expected = if other == cursor.kind { Ok(cursor.clone()) } else { Err(NotOurs) };
                prop_assert_eq!(Cursor::decode(other, &text), expected);
            }
        }

        #[test]
        fn nothing_else_is_a_cursor_by_accident(text in ".{0,40}") {
            if let Ok(cursor) = Cursor::decode(Kind::Tools, &text) {
                prop_assert_eq!(cursor.encode(), text);
            }
        }
    }
}
