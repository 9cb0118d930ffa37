//! Knows how the errors of a value are put to the model that sent it, and their places to a log.
//!
//! Must never put a value into what is logged, and never grow past its bounds.

use jsonschema::ValidationError;

use super::words;

/// How long a message may be in characters, and its places.
const MAX_CHARS: usize = 1_500;
const MAX_PLACES: usize = 300;
/// How long one line and one place may be.
const MAX_LINE: usize = 600;
const MAX_PLACE: usize = 100;

/// Why a value does not hold, in words that a model can act on.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Complaint {
    text: String,
    places: Vec<String>,
}

impl Complaint {
    /// Where the value does not hold, and nothing of what is there.
    #[must_use]
    pub fn places(&self) -> String {
        words::clip(&self.places.join(", "), MAX_PLACES)
    }

    pub(super) fn of<'a>(errors: impl Iterator<Item = ValidationError<'a>>) -> Self {
        let (mut lines, mut places): (Vec<String>, Vec<String>) = Default::default();
        for error in errors {
            let place = place(error.instance_path().as_str());
            lines.push(words::clip(&words::plain(&format!("{place}: {}", words::describe(&error))), MAX_LINE));
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if lines.is_empty() {
            return Self::untold();
        }
        Self { text: words::clip(&lines.join("\n"), MAX_CHARS), places }
    }

    /// It does not hold; to find out why would cost too much.
    pub(super) fn untold() -> Self {
        Self::at_root("the value does not match its schema, and is too large or nested too deep to say where")
    }

    /// Whether it holds would cost too much to find out.
    pub(super) fn too_much() -> Self {
        Self::at_root("the value is too large or nested too deep to be checked against its schema; send less at once")
    }

    fn at_root(what: &str) -> Self {
        Self { text: format!("/: {what}"), places: vec!["/".to_owned()] }
    }
}

fn place(pointer: &str) -> String {
    if pointer.is_empty() { "/".to_owned() } else { words::clip(&words::plain(pointer), MAX_PLACE) }
}
