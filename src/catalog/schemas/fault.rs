//! Knows how a schema's fault is put to an operator.
//!
//! Must never print more of a schema than a short sentence holds.

use jsonschema::ValidationError;

use super::words;

/// How long a fault may be in characters.
const MAX_CHARS: usize = 200;
/// How much of that a place may take.
const MAX_PLACE: usize = 80;

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaFault(String);

impl SchemaFault {
    /// `place` is a JSON pointer into the schema.
    pub(super) fn new(place: &str, what: &str) -> Self {
        let place = words::clip(&words::plain(place), MAX_PLACE);
        let place = if place.is_empty() { "/" } else { &place };
        Self(words::clip(&words::plain(&format!("{place}: {what}")), MAX_CHARS))
    }

    pub(super) fn from_error(error: &ValidationError<'_>) -> Self {
        Self::new(error.instance_path().as_str(), &words::describe(error))
    }

    pub(super) fn unusable() -> Self {
        Self::new("", "the schema cannot be compiled")
    }
}
