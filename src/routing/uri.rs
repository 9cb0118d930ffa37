//! A resource's URI at the merged door: which server it belongs to, and what that server calls it.
//!
//! `prefix+scheme:rest` is the server's `scheme:rest`; `ui://prefix/x` is its `ui://x`, because hosts look for that
//! scheme. What no prefix claims belongs to the server without one.

use std::borrow::Cow;

use super::door::{Door, Table};

const UI: &str = "ui://";

impl Table {
    /// The server that a URI means, and the URI there.
    pub fn server_of_uri<'u>(&self, door: Door, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        if uri.is_empty() {
            return None;
        }
        if let Door::Server(index) = door {
            return Some((index, Cow::Borrowed(uri)));
        }
        let claimed = self.claimed_ui(uri).or_else(|| self.claimed(uri));
        claimed.or_else(|| Some((self.unprefixed()?, Cow::Borrowed(uri))))
    }

    fn claimed<'u>(&self, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        let (prefix, bare) = uri.split_once('+')?;
        let index = self.by_prefix(prefix)?;
        // Without a scheme of its own it was never a URI of that server.
        bare.contains(':').then_some((index, Cow::Borrowed(bare)))
    }

    fn claimed_ui<'u>(&self, uri: &'u str) -> Option<(usize, Cow<'u, str>)> {
        let (prefix, bare) = uri.strip_prefix(UI)?.split_once('/')?;
        let index = self.by_prefix(prefix)?;
        Some((index, Cow::Owned(format!("{UI}{bare}"))))
    }
}

/// What a server's URI is called at the merged door: the way back of [`Table::server_of_uri`].
pub fn prefixed_uri(prefix: &str, uri: &str) -> String {
    match uri.strip_prefix(UI) {
        Some(rest) => format!("{UI}{prefix}/{rest}"),
        None => format!("{prefix}+{uri}"),
    }
}
