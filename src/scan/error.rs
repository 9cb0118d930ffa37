//! Why a body is refused, and at which byte. Never quotes the body: what the client wrote is for the caller to show.

/// What is wrong, and where. Equal for every way of cutting the same body into chunks.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct ScanError {
    pub kind: ScanErrorKind,
    /// Absolute offset, from 0: of the byte that cannot stand there, of the first byte of a malformed character,
    /// of a key's opening quote, or (`Truncated`) the length of the body.
    pub at: u64,
}

/// The reasons. Paths are dotted from the root, as `params.name`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScanErrorKind {
    /// Not RFC 8259; says what could have stood there.
    #[error("invalid JSON, expected {0}")]
    Syntax(&'static str),
    #[error("invalid UTF-8")]
    Utf8,
    #[error("a surrogate escape without its other half, write both as \\uD83D\\uDE00")]
    LoneSurrogate,
    #[error("nested more than {limit} levels deep")]
    TooDeep { limit: u8 },
    #[error("something follows the JSON value, send exactly one")]
    TrailingData,
    #[error("more than {limit} bytes of white space after the JSON value")]
    TrailingSpace { limit: u32 },
    #[error("duplicate key {0}")]
    DuplicateKey(Box<str>),
    /// Holds the path as it must be spelled.
    #[error("a key that some parsers take for {0}, spell it so")]
    FoldedKey(Box<str>),
    #[error("the body ends before its JSON value does")]
    Truncated,
}
