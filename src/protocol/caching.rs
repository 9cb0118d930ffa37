//! How long results may be kept and for whom ("server/utilities/caching").

/// To whom a result may be given again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everyone.
    Public,
    /// Only the same authorization; so is whatever is not said to be public.
    Private,
}

impl Scope {
    /// What a `cacheScope` says. Without the word `public` nothing is shared.
    pub fn parse(text: Option<&str>) -> Self {
        if text == Some("public") { Self::Public } else { Self::Private }
    }

    /// As the protocol writes it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
        }
    }
}
