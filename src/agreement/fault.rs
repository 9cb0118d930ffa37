//! The ways in which a body can fail its head, and what its author is told.

use std::fmt;

use crate::protocol::{header, meta, quote};
use crate::scan::{Kind, ScanError, ScanErrorKind};

/// Why a body is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Not JSON, or JSON that two parsers could read differently.
    Malformed(ScanError),
    /// JSON, but no JSON-RPC request.
    NotARequest(&'static str),
    /// A member of `params._meta` that every request must carry is missing or of the wrong kind.
    Meta(&'static str),
    /// The header and the body say different things.
    Mismatch { header: String, said: Option<String>, member: String, body: BodySays },
}

/// What the body says where a header was expected to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodySays {
    Nothing,
    /// Text, already escaped and cut.
    Value(String),
    /// A value of a kind that no header can mirror.
    A(&'static str),
    /// A value longer than any that could equal the header.
    TooLong(String),
    /// The header cannot be decoded, whatever the body says.
    Unread,
}

impl Fault {
    /// The header says one version, the body another.
    pub fn versions(said: &str, body: &str) -> Self {
        Self::Mismatch {
            header: header::VERSION.to_owned(),
            said: Some(quote(said)),
            member: format!("params._meta[{:?}]", meta::VERSION),
            body: BodySays::Value(quote(body)),
        }
    }
    /// The header says one method, the body another.
    pub fn methods(said: &str, body: &str) -> Self {
        Self::Mismatch {
            header: header::METHOD.to_owned(),
            said: Some(quote(said)),
            member: "method".to_owned(),
            body: BodySays::Value(quote(body)),
        }
    }

    /// Whether the bytes are not JSON at all, as opposed to JSON that is refused.
    pub fn is_syntax(&self) -> bool {
        matches!(
            self,
            Self::Malformed(ScanError {
                kind: ScanErrorKind::Syntax(_)
                    | ScanErrorKind::Utf8
                    | ScanErrorKind::LoneSurrogate
                    | ScanErrorKind::TrailingData
                    | ScanErrorKind::Truncated,
                ..
            })
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "the body is refused: {error}"),
            Self::NotARequest(why) => f.write_str(why),
            Self::Meta(what) => write!(f, "params._meta must hold {what}"),
            Self::Mismatch { header, said, member, body } => mismatch(f, header, said.as_deref(), member, body),
        }
    }
}

fn mismatch(
    f: &mut fmt::Formatter<'_>,
    header: &str,
    said: Option<&str>,
    member: &str,
    body: &BodySays,
) -> fmt::Result {
    match said {
        Some(said) => write!(f, "the header {header} says {said}")?,
        None => write!(f, "the header {header} is not there")?,
    }
    match body {
        BodySays::Nothing => write!(f, ", but the body has no {member}"),
        BodySays::Value(value) => write!(f, ", but {member} in the body says {value}"),
        BodySays::A(kind) => write!(f, ", but {member} in the body is {kind}"),
        BodySays::TooLong(start) => write!(f, ", but {member} in the body goes on after {start}"),
        BodySays::Unread => f.write_str(", which cannot be decoded"),
    }
}

/// A JSON kind in words.
pub(super) fn in_words(kind: Kind) -> &'static str {
    match kind {
        Kind::Object => "an object",
        Kind::Array => "an array",
        Kind::String => "a string",
        Kind::Number => "a number",
        Kind::True | Kind::False => "a boolean",
        Kind::Null => "null",
    }
}
