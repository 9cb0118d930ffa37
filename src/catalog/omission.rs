//! Why an item of a server's list is in no list of ours.

use crate::protocol::Unlawful;

/// How much of a name is kept for messages, in characters.
const SHOWN: usize = 128;

/// Why an item is left out. Such a tool must not be called either.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Omission {
    #[error("it has no {0} that is a string; write one")]
    NoKey(&'static str),
    #[error("its {0} is empty; write one")]
    EmptyKey(&'static str),
    #[error("another item of this list has the same {0}; they must be unique")]
    Doubled(&'static str),
    #[error("it cannot be read as one object: {0}")]
    Malformed(String),
    #[error(transparent)]
    Unlawful(#[from] Unlawful),
    #[error("its {member} is no JSON Schema: {why}")]
    Schema { member: &'static str, why: String },
    #[error("the configuration hides it")]
    Hidden,
    #[error("another item has the same name once both are shortened to max_name_length")]
    Collides,
    #[error("at the merged endpoint its {0} would lead to another server, whose prefix it begins with")]
    Claimed(&'static str),
    #[error("no pattern of `uris` matches its {0}, so no request for it would be routed to this server")]
    Unrouted(&'static str),
}

/// An item that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// As its server calls it, cut to what a message bears; empty where it has no name.
    pub name: String,
    pub omission: Omission,
}

impl Omission {
    /// The reason as a metric label, from a closed set.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NoKey(_) | Self::EmptyKey(_) => "no_name",
            Self::Doubled(_) => "doubled",
            Self::Malformed(_) => "malformed",
            Self::Unlawful(_) => "unlawful_header",
            Self::Schema { .. } => "schema",
            Self::Hidden => "hidden",
            Self::Collides => "collides",
            Self::Claimed(_) => "claimed",
            Self::Unrouted(_) => "unrouted",
        }
    }
}

impl LeftOut {
    pub fn new(name: &str, omission: Omission) -> Self {
        let end = name.char_indices().nth(SHOWN).map_or(name.len(), |(end, _)| end);
        Self { name: name.get(..end).unwrap_or_default().to_owned(), omission }
    }
}
